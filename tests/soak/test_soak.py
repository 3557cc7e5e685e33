"""Twenty faults of all kinds, in ``make test``; half a minute of the soak and some kills, in ``make soak-short``. The
long runs are ``make soak`` and ``make kill-test``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.broker import FaultyBroker
from faults.plan import OF_ORIGINS, PROCESSES, Plan
from soak import churning, killing, sinking, tables
from support.machine import missing
from support.postgres import binaries

pytestmark = [pytest.mark.integration, pytest.mark.slow]

QUICK = {
    "session__timeout__ms": "6000",
    "heartbeat__interval__ms": "1500",
    "scheduled__rebalance__max__delay__ms": "1000",
}


BOUND = 900.0
"""Seconds; a machine that runs all tests may be much slower than an idle one."""


@pytest.mark.soak
def test_connectors_are_as_asked_for_though_workers_are_killed(bootstrap: str, tmp_path: Path) -> None:
    plan = Plan(seed=1, number=3, between=8.0, processes=("worker",))
    outcome = churning.run(churning.Soak(plan=plan, connectors=12, bound=BOUND), bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["faults"] == "3 kill"
    assert outcome.figures["numbers lost"] == 0


def test_numbers_arrive_once_and_in_order_whatever_is_killed_frozen_or_cut_off(tmp_path: Path) -> None:
    kinds = ("kill", "freeze", "broker-freeze", "broker-kill", "delay", "cut", "reset")
    # With this seed each kind of process is killed, and a worker is frozen for longer than its session timeout.
    plan = Plan(seed=753, number=20, kinds=kinds, between=2.5, freeze=(2.0, 12.0), broker=(1.0, 6.0))
    assert {fault.kind for fault in plan.faults()} == set(kinds)
    assert {fault.process for fault in plan.faults() if fault.kind == "kill"} == set(PROCESSES)
    with FaultyBroker(tmp_path / "broker") as broker:
        test = killing.KillTest(plan=plan, settings=QUICK, bound=BOUND)
        outcome = killing.run(test, broker.bootstrap, tmp_path, print, broker)
    assert outcome.violations == []
    assert outcome.figures["numbers lost"] == 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", sorted(OF_ORIGINS))
def test_nothing_is_lost_or_doubled_though_an_origin_or_an_offset_changes(
    bootstrap: str, tmp_path: Path, kind: str
) -> None:
    if kind == "slot" and binaries() is None:
        missing("There is no PostgreSQL on this machine: initdb is neither on the path nor in /usr/lib/postgresql")
    plan = Plan(seed=11, number=2, kinds=(kind,), between=4.0)
    soak = churning.Soak(plan=plan, connectors=6, workers=2, exactly_once=True, bound=BOUND)
    outcome = churning.run(soak, bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["faults"] == f"2 {kind}"


@pytest.mark.soak
def test_numbers_arrive_once_and_in_order_though_the_broker_is_frozen_for_40_seconds(tmp_path: Path) -> None:
    plan = Plan(seed=1, number=1, kinds=("broker-freeze",), between=2.0, broker=(40.0, 41.0))
    with FaultyBroker(tmp_path / "broker") as broker:
        test = killing.KillTest(plan=plan, settings=QUICK, bound=BOUND)
        outcome = killing.run(test, broker.bootstrap, tmp_path, print, broker)
    assert outcome.violations == []
    assert outcome.figures["numbers lost"] == 0


@pytest.mark.soak
def test_numbers_arrive_at_least_once_though_workers_sparks_and_tasks_are_killed(
    bootstrap: str, tmp_path: Path
) -> None:
    plan = Plan(seed=2463, number=3, between=4.0)  # the daemon that forks tasks, Spark's driver, then a worker
    test = killing.KillTest(plan=plan, exactly_once=False, settings=QUICK, bound=BOUND)
    outcome = killing.run(test, bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["numbers lost"] == 0


@pytest.mark.soak
def test_numbers_reach_a_file_and_a_table_though_workers_sparks_and_tasks_are_killed(
    bootstrap: str, tmp_path: Path
) -> None:
    plan = Plan(seed=975, number=3, between=4.0)  # a task, Spark's JVM, then a worker
    targets = (sinking.FILE, sinking.TABLE)
    # Time after which a sink's group removes a killed task.
    settings = {**QUICK, "consumer__session__timeout__ms": "6000"}
    test = sinking.SinkKillTest(plan=plan, records=50_000, targets=targets, workers=2, settings=settings, bound=BOUND)
    outcome = sinking.run(test, bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["missing in the rows"] == 0


@pytest.mark.soak
def test_rows_reach_tables_once_though_spark_and_the_worker_are_killed(bootstrap: str, tmp_path: Path) -> None:
    if binaries() is None:
        missing("There is no PostgreSQL on this machine: initdb is neither on the path nor in /usr/lib/postgresql")
    plan = Plan(seed=71, number=2, between=4.0)  # Spark's JVM, then the worker
    test = tables.TableKillTest(plan=plan, rows=20_000, workers=1, settings=QUICK)
    outcome = tables.run(test, bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["additional rows in inserted"] == 0

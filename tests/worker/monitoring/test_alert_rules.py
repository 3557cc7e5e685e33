"""Every alert of ``deploy/grafana/alerts.yaml`` fires and ends: Prometheus' own ``promtool`` evaluates the rules.

``scripts/promtool`` unpacks it from Debian's package ``prometheus``.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.machine import missing

ROOT = Path(__file__).parents[3]
RULES = ROOT / "deploy" / "grafana" / "alerts.yaml"
UNPACKED = ROOT / "build" / "promtool" / "usr" / "bin" / "promtool"
STATUS = "kafka_connect_connector_penstock_overall_status"


@dataclass(frozen=True)
class Case:
    """Series of a metric, one value each minute, and the minutes at which the alert fires and does not.

    Promtool's notation: ``0x30 1x20`` is 31 times 0, then 21 times 1; ``0+5x20`` grows by 5; ``_x4`` is no value for
    four minutes. A series that a scrape has no more is ``stale``.
    """

    alert: str
    series: dict[str, str]
    fires: tuple[int, ...]
    silent: tuple[int, ...]
    labels: dict[str, str]
    summary: str


def status(state: str, values: str) -> dict[str, str]:
    return {f'{STATUS}{{connector="orders",penstock_overall_status="{state}"}}': values}


FAILED = "The connector orders, or a task of it, is failed. See /ui, or `penstock status orders`."
UNKNOWN = FAILED.replace("is failed", "is unknown")
WAITS = "The connector orders, or a task of it, has not started for 15 minutes."
TASK = "kafka_connect_connector_task_penstock"
ERRORS = "kafka_connect_task_error"
CONNECTOR = {"connector": "orders"}
CRITICAL, WARNING = {"severity": "critical"}, {"severity": "warning"}
CASES = [
    Case(
        "ConnectorFailed",
        {**status("running", "1x9 stale _x19 1x30"), **status("failed", "_x10 1x19 stale _x30")},
        (15, 28),
        (5, 11, 32),
        {**CONNECTOR, "penstock_overall_status": "failed", **CRITICAL},
        FAILED,
    ),
    Case(
        "ConnectorFailed",
        {**status("unknown", "1x20 stale _x20")},
        (5, 20),
        (1, 22),
        {**CONNECTOR, "penstock_overall_status": "unknown", **CRITICAL},
        UNKNOWN,
    ),
    Case(
        "ConnectorWaits",
        {**status("unassigned", "1x30 stale _x20"), **status("running", "_x31 1x20")},
        (16, 30),
        (14, 32),
        {**CONNECTOR, **WARNING},
        WAITS,
    ),
    Case(
        "ConnectorFlaps",
        {'kafka_connect_connector_penstock_failures_last_hour{connector="orders"}': "0 1 2 3x20 2x20"},
        (3, 20),
        (2, 25),
        {**CONNECTOR, **WARNING},
        "The connector orders or a task of it has failed or was lost 3 times within an hour. "
        "See `penstock history orders --events`.",
    ),
    Case(
        "TaskStalled",
        {f'{TASK}_stalled{{connector="orders",task="0"}}': "0x5 1x5 0x5"},
        (6, 11),
        (5, 12),
        {**CONNECTOR, "task": "0", **WARNING},
        "Task 0 of orders is in one call of its connector for too long; its status says which.",
    ),
    Case(
        "TaskRetrying",
        {f'{TASK}_retrying{{connector="orders",task="0"}}': "0x5 1x30 0x5"},
        (22, 36),
        (5, 19, 38),
        {**CONNECTOR, "task": "0", **WARNING},
        "Task 0 of orders has put the same records again and again for 15 minutes.",
    ),
    Case(
        "FallingBehind",
        {
            f'{TASK}_seconds_behind{{connector="orders",task="0"}}': "400x60 0x20",
            f'{TASK}_records_behind{{connector="orders",task="0"}}': "0+100x60 0x20",
        },
        (40, 60),
        (10, 62),
        {**CONNECTOR, **WARNING},
        "orders is 400 s behind, and falls further behind.",
    ),
    Case(
        "DeadLetters",
        {f'{ERRORS}_deadletterqueue_produce_requests{{connector="orders",task="0"}}': "0x5 1x40"},
        (7, 15),
        (5, 40),
        {**CONNECTOR, **WARNING},
        "orders has put records into its dead letter queue. See /ui, or `penstock dlq list orders`.",
    ),
    Case(
        "RecordsLostToTolerance",
        {
            f'{ERRORS}_total_records_skipped{{connector="orders",task="0"}}': "0x5 1x40",
            f'{ERRORS}_deadletterqueue_produce_requests{{connector="orders",task="0"}}': "0x45",
        },
        (7, 15),
        (5, 40),
        {**CONNECTOR, **WARNING},
        "orders skips records without keeping them in a dead letter queue.",
    ),
    Case(
        "CommitsFail",
        {f'{TASK[:-9]}_offset_commit_failure_percentage{{connector="orders",task="0"}}': "1x30 0x5"},
        (16, 30),
        (14, 32),
        {**CONNECTOR, **WARNING},
        "Most commits of offsets of orders fail.",
    ),
    Case(
        "SparkDown",
        {'kafka_connect_spark_penstock_running{instance="one",application="queries"}': "1x5 0x10 1x5"},
        (11, 16),
        (5, 9, 18),
        {"instance": "one", "application": "queries", **CRITICAL},
        "The Spark application queries of one does not run.",
    ),
    Case(
        "RebalancingForLong",
        {"kafka_connect_worker_rebalance_rebalancing": "1x20 0x5"},
        (11, 20),
        (9, 22),
        WARNING,
        "The workers have been rebalancing for 10 minutes.",
    ),
    Case(
        "NoWorker",
        {"kafka_connect_worker_task_count": "1x5 stale _x20 1x5"},
        (15, 20),
        (5, 28),
        CRITICAL,
        "No worker is scraped.",
    ),
]
QUIET = {
    "a restart of what has failed": status("failed", "1 stale _x30"),
    "a worker that is away for five minutes": {
        **status("unassigned", "1x5 stale _x20"),
        **status("running", "_x6 1x20"),
    },
    "a pause": status("paused", "1x60"),
    "a stop": status("stopped", "1x60"),
    "a short rebalance": {"kafka_connect_worker_rebalance_rebalancing": "0 1x3 0x20"},
}
"""Series for which nothing fires."""


def names() -> list[str]:
    return [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def test_there_is_a_case_for_every_alert() -> None:
    assert {case.alert for case in CASES} == set(names())


def inputs(series: dict[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": values} for name, values in series.items()]


def problems(tmp_path: Path, tests: list[dict[str, Any]]) -> str:
    """Return what promtool reports of the tests that fail; empty if none does."""
    promtool = shutil.which("promtool") or shutil.which(UNPACKED)
    if promtool is None:
        missing("there is no promtool on this machine: `make promtool` unpacks it from Debian's package")
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", str(file)], capture_output=True, text=True, timeout=900)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_an_alert_fires_and_ends(case: Case, tmp_path: Path) -> None:
    fired = [{"exp_labels": case.labels, "exp_annotations": {"summary": case.summary}}]
    at = [(minute, fired) for minute in case.fires] + [(minute, []) for minute in case.silent]
    expected = [{"eval_time": f"{minute}m", "alertname": case.alert, "exp_alerts": alerts} for minute, alerts in at]
    tests = [{"interval": "1m", "input_series": inputs(case.series), "alert_rule_test": expected}]
    assert problems(tmp_path, tests) == ""


@pytest.mark.parametrize("what", QUIET)
def test_alerts_stay_silent(what: str, tmp_path: Path) -> None:
    alive = {"kafka_connect_worker_task_count": "1x60"}
    minutes = range(0, 60, 2)
    expected = [
        {"eval_time": f"{minute}m", "alertname": name, "exp_alerts": []} for name in names() for minute in minutes
    ]
    tests = [{"interval": "1m", "input_series": inputs({**alive, **QUIET[what]}), "alert_rule_test": expected}]
    assert problems(tmp_path, tests) == ""

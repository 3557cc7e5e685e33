"""``python -m soak churn``, ``queries``, ``kills``, ``sinks``, ``changes``, ``tables``, ``databases`` and ``values``:
the long runs of ``make soak``, ``soak-queries``, ``kill-test``, ``kill-test-sinks``, ``kill-test-changes``,
``kill-test-tables``, ``kill-test-databases`` and ``soak-values``.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from faults.broker import FaultyBroker
from faults.plan import KINDS, OF_ORIGINS, OF_THE_BROKER, WITH_JARS, Plan
from penstock.embedded import Broker
from soak import churning, killing, querying, sinking, streaming
from soak import databases as of_databases
from soak import tables as of_tables
from soak import values as of_values
from soak.kept import count, judged, read
from soak.report import Clock, Outcome, show
from soak.resources import MOST
from support.postgres import binaries

SOAKED = ",".join(("kill", *sorted(OF_ORIGINS - (set() if binaries() else {"slot"}))))
"""Kinds of faults of ``make soak``; those of PostgreSQL only if it is installed."""

app = typer.Typer(
    add_completion=False,
    help="Kill and freeze workers, Spark, tasks and the broker, and check that no guarantee is violated.",
)


@app.callback()
def _begin() -> None:
    """Exit on SIGTERM, so that a run stops the processes that it has started."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


Bootstrap = Annotated[str, typer.Option(help="Address of a running broker; by default one is started.")]
Logs = Annotated[Path | None, typer.Option(help="Folder for the workers' logs, which is kept.")]
Once = Annotated[bool, typer.Option(help="Run workers with exactly-once support for sources.")]


Number = Annotated[int, typer.Option("--number", help="Number of faults.")]
Seed = Annotated[int, typer.Option(help="Seed of the order of faults; 0 chooses a random one and prints it.")]
Kinds = Annotated[
    str, typer.Option(help=f"Comma-separated list of {', '.join(KINDS)}; broker faults exclude --bootstrap.")
]
Between = Annotated[float, typer.Option(help="Mean time in seconds between two faults.")]
Freeze = Annotated[float, typer.Option(help="Maximum time in seconds for which a worker's process is frozen.")]
Alone = Annotated[bool, typer.Option(help="Restart nothing by REST; with --no-alone, restarts are one more fault.")]
Session = Annotated[int, typer.Option(help="session.timeout.ms of the workers.")]
Heartbeat = Annotated[int, typer.Option(help="heartbeat.interval.ms of the workers.")]
Bound = Annotated[float, typer.Option(help="Maximum time in seconds for which a sender may be silent after a fault.")]
Delay = Annotated[int, typer.Option(help="scheduled.rebalance.max.delay.ms of the workers.")]


@app.command()
def churn(
    number: Annotated[int, typer.Option("--number", help="Number of faults in all runs.")] = 300,
    minutes: Annotated[float, typer.Option(help="Maximum duration of this run in minutes.")] = 15.0,
    kept: Annotated[Path, typer.Option(help="File of results, which this run continues.")] = Path("build/soak.jsonl"),
    pace: Annotated[float, typer.Option(help="Seconds between two requests of each of three operators.")] = 2.0,
    seed: Seed = 0,
    kinds: Kinds = SOAKED,
    between: Between = 6.0,
    freeze: Freeze = 40.0,
    connectors: Annotated[
        int, typer.Option(help="Number of connectors that operators create, change and delete.")
    ] = 30,
    workers: Annotated[int, typer.Option(help="How many workers.")] = 3,
    growth: Annotated[
        float,
        typer.Option(
            help="Maximum factor by which a process's memory, file descriptors or threads may grow from the second to "
            "the last third of its life."
        ),
    ] = MOST,
    exactly_once: Once = True,
    bound: Bound = 60.0,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Create, change and delete 30 connectors while faults hit workers, Sparks, tasks and the broker.

    At the end everything must be in its requested state, and no process of a worker may have used more and more memory
    or file descriptors. Two more connectors send numbers, as in ``kills``; others have recreated origins, altered
    offsets, pauses, plugins that print without end, and a connector of the same name in another cluster.
    """
    if (left := number - count(read(kept))) > 0:
        plan = _plan(seed, min(left, max(1, round(minutes * 60 / between))), kinds, between, freeze, True)
        wanted = churning.Soak(
            plan=plan,
            kept=kept,
            pace=pace,
            connectors=connectors,
            workers=workers,
            exactly_once=exactly_once,
            bound=bound,
            most=growth,
        )
        with _faulty_broker(bootstrap, plan) as (running, faulty), _folder(logs) as folder:
            show("Soak", churning.run(wanted, running, folder, Clock().say, faulty))
    _end(f"All runs in {kept}", judged(read(kept), number))


@app.command()
def queries(
    number: Annotated[int, typer.Option("--number", help="Number of queries.")] = 20,
    minutes: float = 30.0,
    pace: Annotated[float, typer.Option(help="Mean time in seconds between two requests of the operator.")] = 10.0,
    rate: Annotated[int, typer.Option(help="Numbers per second for the sinks.")] = 200,
    kept: Annotated[Path, typer.Option(help="File of results, which are summed.")] = Path("build/soak-queries.jsonl"),
    seed: Annotated[int, typer.Option(help="Seed of the requests; 0 chooses a random one and prints it.")] = 0,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Run many SparkSinks and SparkSources on one worker while an operator restarts and pauses them."""
    test = querying.QuerySoak(
        seed=seed or random.randrange(1, 2**31), queries=number, minutes=minutes, pace=pace, rate=rate, kept=kept
    )
    print(f"--seed {test.seed} --number {number} --minutes {minutes:g} --pace {pace:g} --rate {rate} --kept {kept}")
    with _broker(bootstrap) as running, _folder(logs) as folder:
        show("Soak of queries", querying.run(test, running, folder, Clock().say))
    _end(f"All runs in {kept}; faults are requests of the operator", judged(read(kept), 0))


@app.command()
def kills(
    number: Number = 100,
    seed: Seed = 0,
    kinds: Kinds = "kill",
    between: Between = 8.0,
    freeze: Freeze = 40.0,
    alone: Alone = True,
    exactly_once: Once = True,
    bound: Bound = 60.0,
    session_timeout: Session = 6_000,
    heartbeat_interval: Heartbeat = 1_500,
    rebalance_delay: Delay = 1_000,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Send numbers to Kafka while workers, their Sparks, their tasks and the broker are killed and frozen."""
    plan = _plan(seed, number, kinds, between, freeze, alone)
    settings = _settings(session_timeout, heartbeat_interval, rebalance_delay)
    test = killing.KillTest(plan=plan, exactly_once=exactly_once, bound=bound, settings=settings)
    with _faulty_broker(bootstrap, plan) as (running, faulty), _folder(logs) as folder:
        _end("Kill test", killing.run(test, running, folder, Clock().say, faulty))


@app.command()
def sinks(
    number: Number = 100,
    records: Annotated[int, typer.Option(help="Number of records, sent evenly during the faults.")] = 5_000_000,
    seed: Seed = 0,
    kinds: Kinds = "kill",
    between: Between = 8.0,
    freeze: Freeze = 40.0,
    alone: Alone = True,
    bound: Annotated[float, typer.Option(help="Maximum time in seconds for which a sink may stand still.")] = 60.0,
    session_timeout: Session = 6_000,
    heartbeat_interval: Heartbeat = 1_500,
    rebalance_delay: Delay = 1_000,
    consumer_session_timeout: Annotated[
        int, typer.Option(help="session.timeout.ms of the sinks' consumers: time until a group removes a killed one.")
    ] = 45_000,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Write numbers to a file, a Parquet and a Delta table while faults hit workers, Sparks, tasks and the broker."""
    plan = _plan(seed, number, kinds, between, freeze, alone)
    settings = _settings(session_timeout, heartbeat_interval, rebalance_delay)
    settings["consumer__session__timeout__ms"] = str(consumer_session_timeout)
    test = sinking.SinkKillTest(plan=plan, records=records, bound=bound, settings=settings)
    with _faulty_broker(bootstrap, plan) as (running, faulty), _folder(logs) as folder:
        _end("Kill test of sinks", sinking.run(test, running, folder, Clock().say, faulty))


@app.command()
def changes(
    number: Number = 100,
    changes: Annotated[int, typer.Option(help="Number of changes, made evenly during the faults.")] = 100_000,
    workers: Annotated[int, typer.Option(help="How many workers.")] = 3,
    seed: Seed = 0,
    kinds: Kinds = "kill,freeze",
    between: Between = 4.0,
    freeze: Freeze = 20.0,
    session_timeout: Session = 6_000,
    heartbeat_interval: Heartbeat = 1_500,
    rebalance_delay: Delay = 1_000,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Stream changes of a PostgreSQL by Debezium while faults hit workers, Sparks, tasks, JVMs and the broker."""
    plan = replace(_plan(seed, number, kinds, between, freeze, True), processes=WITH_JARS)
    settings = _settings(session_timeout, heartbeat_interval, rebalance_delay)
    test = streaming.ChangeKillTest(plan=plan, changes=changes, workers=workers, settings=settings)
    with _faulty_broker(bootstrap, plan) as (running, faulty), _folder(logs) as folder:
        _end("Kill test of changes", streaming.run(test, running, folder, Clock().say, faulty))


@app.command()
def tables(
    number: Number = 100,
    rows: Annotated[int, typer.Option(help="Number of rows; half are added evenly during the faults.")] = 1_000_000,
    workers: Annotated[int, typer.Option(help="How many workers.")] = 3,
    seed: Seed = 0,
    kinds: Kinds = "kill",
    between: Between = 5.0,
    freeze: Freeze = 20.0,
    session_timeout: Session = 6_000,
    heartbeat_interval: Heartbeat = 1_500,
    rebalance_delay: Delay = 1_000,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Copy a table of PostgreSQL to a topic and two tables while faults hit workers, Sparks, tasks and the broker."""
    plan = _plan(seed, number, kinds, between, freeze, True)
    settings = _settings(session_timeout, heartbeat_interval, rebalance_delay)
    test = of_tables.TableKillTest(plan=plan, rows=rows, workers=workers, settings=settings)
    with _faulty_broker(bootstrap, plan) as (running, faulty), _folder(logs) as folder:
        _end("Kill test of tables", of_tables.run(test, running, folder, Clock().say, faulty))


@app.command()
def values(
    number: Annotated[
        int, typer.Option("--number", help="Number of values of each type and path, in all runs.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the values; 0 chooses a random one and prints it.")] = 0,
    minutes: Annotated[float, typer.Option(help="Maximum duration of this run in minutes.")] = 60.0,
    kept: Annotated[Path, typer.Option(help="File of counts, which this run continues.")] = Path(
        "build/soak-values.jsonl"
    ),
    only: Annotated[str, typer.Option(help="Expression for pytest's -k, such as mariadb.")] = "",
) -> None:
    """Pass values of each type of databases, formats of files and the registry's formats through connectors and
    converters, and check them.
    """
    seed = seed or random.randrange(1, 2**31)
    print(f"--seed {seed} --number {number} --minutes {minutes:g} --kept {kept}")
    _end("Soak of values", of_values.run(number, seed, minutes, kept, only))


@app.command()
def databases(
    number: Annotated[int, typer.Option("--number", help="Number of kills of each connector, in all runs.")] = 100,
    minutes: Annotated[
        float, typer.Option(help="Maximum duration in minutes; a kill in progress is completed.")
    ] = 60.0,
    seed: Seed = 0,
    kept: Annotated[Path, typer.Option(help="File of results, which this run continues.")] = Path(
        "build/kill-test-databases.jsonl"
    ),
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Kill the Spark of exactly-once JdbcSinks that write to tables without keys in three databases."""
    seed = seed or random.randrange(1, 2**31)
    print(f"--seed {seed} --number {number} --minutes {minutes:g} --kept {kept}")
    test = of_databases.DatabaseKillTest(seed=seed, kept=kept, number=number, minutes=minutes)
    with _broker(bootstrap) as running, _folder(logs) as folder:
        _end("Kill test of databases", of_databases.run(test, running, folder, Clock().say))


def _plan(seed: int, number: int, kinds: str, between: float, freeze: float, alone: bool) -> Plan:
    seed = seed or random.randrange(1, 2**31)
    wanted = [*kinds.split(","), *([] if alone else ["restart"])]
    if unknown := [kind for kind in wanted if kind not in KINDS]:
        raise typer.BadParameter(f"--kinds has {unknown[0]!r}; valid kinds: {', '.join(KINDS)}")
    if alone and "restart" in wanted:
        raise typer.BadParameter("--kinds has restart, which --alone excludes: add --no-alone")
    if freeze < 2:
        raise typer.BadParameter(f"--freeze is {freeze:g}, and must be at least 2 seconds")
    plan = Plan(seed=seed, number=number, kinds=tuple(wanted), between=between, freeze=(2.0, freeze))
    print(f"--seed {seed} --number {number} --kinds {','.join(wanted)} --between {between:g} --freeze {freeze:g}")
    return plan


def _settings(session_timeout: int, heartbeat_interval: int, rebalance_delay: int) -> dict[str, str]:
    return {
        "session__timeout__ms": str(session_timeout),
        "heartbeat__interval__ms": str(heartbeat_interval),
        "scheduled__rebalance__max__delay__ms": str(rebalance_delay),
    }


@contextmanager
def _faulty_broker(bootstrap: str, plan: Plan) -> Iterator[tuple[str, FaultyBroker | None]]:
    """Start a broker, with a proxy for faults if the plan needs one."""
    if not OF_THE_BROKER & set(plan.kinds):
        with _broker(bootstrap) as running:
            yield running, None
    elif bootstrap:
        raise typer.BadParameter("Broker faults need a broker of this run: leave out --bootstrap")
    else:
        with tempfile.TemporaryDirectory(prefix="penstock-broker-") as data, FaultyBroker(Path(data)) as faulty:
            yield faulty.bootstrap, faulty


def _end(title: str, outcome: Outcome) -> None:
    show(title, outcome)
    if outcome.violations:
        raise typer.Exit(1)


@contextmanager
def _broker(bootstrap: str) -> Iterator[str]:
    if bootstrap:
        yield bootstrap
    else:
        with Broker(lasting=True) as broker:
            yield broker.bootstrap


@contextmanager
def _folder(logs: Path | None) -> Iterator[Path]:
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
        yield logs
    else:
        with tempfile.TemporaryDirectory(prefix="penstock-soak-") as scratch:
            yield Path(scratch)


if __name__ == "__main__":
    app()

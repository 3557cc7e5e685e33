"""The kill test of tables: the JDBC connectors copy a table of PostgreSQL to a topic and from there to two tables,
while faults hit workers, their Sparks, their tasks and the broker.

The source and one sink write exactly once: the topic must have every row once, and a table without a key too. The other
sink upserts, at least once. At the end all three tables must be equal. Workers restart lost tasks: nothing is
restarted by REST, and no task may fail.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faults.broker import FaultyBroker
from faults.inflict import Faults
from faults.plan import Plan
from penstock.spark.query.jdbc.drivers import install
from soak.cluster import TO_SETTLE, Cluster, states, status
from soak.failures import FailureWatch
from soak.report import Clock, Outcome
from support.kafka.client import Kafka
from support.postgres import Postgres
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import SPARKS_JAVA

CHUNK = 5000
TOPIC_PARTITIONS = 4
ORIGIN, UPSERTED, INSERTED = "origin", "upserted", "inserted"
COPIES = (UPSERTED, INSERTED)
_COLUMNS = """id BIGINT NOT NULL, name TEXT, amount NUMERIC(12, 2), share DOUBLE PRECISION, quantity INT,
small SMALLINT, flag BOOLEAN, day DATE, at TIMESTAMP(3), note TEXT"""
_ROWS = """SELECT i, 'name ' || i % 50000, (i % 1000000) / 100.0, i / 7.0, i % 1000, i % 100, i % 3 = 0,
DATE '2000-01-01' + i % 9000, TIMESTAMP '2026-01-01' + i * INTERVAL '1 ms',
CASE WHEN i % 5 > 0 THEN repeat('ü', i % 20) END"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKillTest:
    """Options of a kill test. Half of the rows exist at the start, the others are added evenly while faults come.
    ``settings``: those of workers.
    """

    plan: Plan
    rows: int = 1_000_000
    workers: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)


class Writer:
    """Adds rows, a transaction for each CHUNK; after ``abandon`` it stops."""

    def __init__(self, postgres: Postgres, first: int, last: int, seconds: float) -> None:
        self.failure: BaseException | None = None
        self._postgres, self._first, self._last, self._seconds = postgres, first, last, seconds
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._work, name="writer")

    def start(self) -> None:
        self._thread.start()

    def abandon(self) -> None:
        self._abandoned.set()
        self._thread.join()

    def join(self) -> None:
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        begun, count = time.monotonic(), self._last - self._first + 1
        try:
            for first in range(self._first, self._last + 1, CHUNK):
                due = begun + self._seconds * (first - self._first) / count
                if self._abandoned.wait(max(0.0, due - time.monotonic())):
                    return
                self._postgres.execute(added(first, min(first + CHUNK - 1, self._last)))
        except BaseException as error:
            self.failure = error


def added(first: int, last: int) -> str:
    return f"INSERT INTO {ORIGIN} {_ROWS} FROM generate_series({first}, {last}) i;"


def run(
    test: TableKillTest, bootstrap: str, folder: Path, say: Callable[[str], None], broker: FaultyBroker | None = None
) -> Outcome:
    """Run a kill test. ``broker`` is needed for faults of the broker; ``bootstrap`` bypasses its proxy."""
    clock, kafka = Clock(), Kafka(bootstrap)
    install("jdbc-postgresql")
    postgres = Postgres.make()
    run_id = uuid.uuid4().hex[:8]
    topic = kafka.create_topic(f"{run_id}-{ORIGIN}", partitions=TOPIC_PARTITIONS)
    settings = {SPARKS_JAVA: "", "exactly__once__source__support": "enabled", **test.settings}
    half = test.rows // 2
    try:
        postgres.start()
        postgres.execute(f"CREATE TABLE {ORIGIN} ({_COLUMNS}, PRIMARY KEY (id)); {added(1, half)}")
        postgres.execute(
            f"CREATE TABLE {UPSERTED} ({_COLUMNS}, PRIMARY KEY (id)); CREATE TABLE {INSERTED} ({_COLUMNS})"
        )
        reached = bootstrap if broker is None else broker.proxied
        with Cluster(reached, folder, test.workers, **settings) as cluster:
            configs = connectors(postgres.url, run_id, topic)
            for name, config in configs.items():
                cluster.request("PUT", f"/connectors/{name}/config", config)
            for name in configs:
                until(lambda: states(cluster, name) == ["RUNNING"] * 2, f"{name} running", TO_SETTLE)  # noqa: B023
            say(f"{len(cluster.workers)} workers and {len(configs)} connectors run")
            faults = Faults(cluster, broker, list(configs))
            writer = Writer(postgres, half + 1, test.rows, test.plan.number * test.plan.between)
            watch = FailureWatch(cluster)
            watch.start()
            writer.start()
            try:
                counted = faults.inflict_all(test.plan, say)
                writer.join()
                settle = Clock()
                violations = _settled(cluster, postgres, list(configs), test.rows)
            finally:
                writer.abandon()
                failures = watch.stop()
            violations += [*failures, *cluster.mishaps()]
            figures = cluster.figures()
            say("stopping")
        times = Counter(json.loads(record.value or b"")["payload"]["id"] for record in kafka.read_all(topic))
        differing = {copy: differences(postgres, copy) for copy in COPIES}
    finally:
        postgres.remove()
    lost, repeated = test.rows - len(times), sum(count > 1 for count in times.values())
    if lost or repeated:
        violations.append(f"the topic: {lost} rows are missing, {repeated} have come more than once")
    violations += [
        f"table {copy}: {missing} rows are missing or differ, {more} are additional"
        for copy, (missing, more) in differing.items()
        if missing or more
    ]
    figures |= {
        "seed": str(test.plan.seed),
        "duration": f"{clock.seconds:.0f} s",
        "faults": counted,
        "all rows arrived after the last fault": f"{settle.seconds:.0f} s",
        "rows": test.rows,
        "rows missing in the topic": lost,
        "duplicate rows in the topic": repeated,
    }
    for copy, (missing, more) in differing.items():
        figures |= {f"rows missing or differing in {copy}": missing, f"additional rows in {copy}": more}
    return Outcome(figures, [*violations, *cluster.survivors])


def connectors(url: str, run_id: str, topic: str) -> dict[str, dict[str, str]]:
    common = {
        "connection.url": url,
        "connection.attempts": "1",
        "key.converter": JSON,
        "value.converter": JSON,
        "tasks.max": "1",
    }
    read = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "topic.prefix": f"{run_id}-",
        "table.whitelist": ORIGIN,
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "numeric.mapping": "none",
        "poll.interval.ms": "500",
        "penstock.read.partitions": "2",
        "penstock.read.rows": "50000",
    }
    write = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "topics": topic,
        "penstock.batch.max.records": "50000",
        "max.retries": "1000",
        "retry.backoff.ms": "500",
        "consumer.override.auto.offset.reset": "earliest",
        "consumer.override.isolation.level": "read_committed",
    }
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", "table.name.format": UPSERTED}
    insert = {"penstock.delivery": "exactly-once", "table.name.format": INSERTED}
    own = {f"read-{run_id}": read, f"upsert-{run_id}": write | upsert, f"insert-{run_id}": write | insert}
    return {name: common | config for name, config in own.items()}


def differences(postgres: Postgres, copy: str) -> tuple[int, int]:
    """Return the number of the origin's rows that this table lacks, and of additional rows."""
    ((missing, more),) = postgres.rows(
        f"SELECT (SELECT count(*) FROM (TABLE {ORIGIN} EXCEPT ALL TABLE {copy}) a), "
        f"(SELECT count(*) FROM (TABLE {copy} EXCEPT ALL TABLE {ORIGIN}) b)"
    )
    return int(missing), int(more)


def _settled(cluster: Cluster, postgres: Postgres, names: list[str], rows: int) -> list[str]:
    """Describe tables that do not grow to this many rows."""

    def count(copy: str) -> int:
        return int(postgres.rows(f"SELECT count(*) FROM {copy}")[0][0])

    try:
        for copy in COPIES:
            while (found := count(copy)) < rows:
                until(lambda: count(copy) > found, f"more than {found} rows in {copy}", TO_SETTLE)  # noqa: B023
    except AssertionError as error:
        return [str(error), *(f"{name}: {status(cluster, name)}" for name in names)]
    return []

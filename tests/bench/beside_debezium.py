"""Tables of PostgreSQL with 5 and with 60 columns: JdbcSink beside Debezium's JDBC sink in Java Connect, and JdbcSource
beside Debezium's snapshot there. Maven Central has no free JDBC source of Connect.

Both sides have the same converter, topic, server, and rows in a statement. ``rows/CPU s`` counts the processor time of
the worker and all processes below it, from when the first rows are there to the last one. A transaction of Debezium's
sink has the rows of a statement; JdbcSink writes the topic in ten batches, a transaction for each of its partitions.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import psutil

from bench.connect import JSON, OURS, CaseError, Connect
from bench.jars import drop_slot
from bench.processors import DATABASE, Meter, seconds
from bench.setting import Setting
from bench.watch import Watch
from penstock.spark.query.jdbc.drivers import install
from support.postgres import LOOPBACK, USER, Postgres, binaries
from support.process_tree import descendants

WORKER = "worker"
_BATCH = "3000"
_PARTITIONS = 2
_LOGICAL = "org.apache.kafka.connect.data.Timestamp"

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Column:
    """``sql``: its value in row ``i``; ``type``: Connect's, with a logical type's name or none."""

    name: str
    declared: str
    sql: str
    type: str
    logical: str = ""


def _columns(number: int) -> list[Column]:
    """``id`` and four columns of other types, again and again."""
    found = [Column("id", "BIGINT", "i", "int64")]
    for n in range(1, number):
        match n % 4:
            case 1:
                found.append(Column(f"name{n}", "TEXT", f"'user' || (i + {n}) % 50000", "string"))
            case 2:
                found.append(Column(f"amount{n}", "DOUBLE PRECISION", f"(i + {n}) % 100000 / 100.0", "double"))
            case 3:
                found.append(Column(f"quantity{n}", "INT", f"(i + {n}) % 1000", "int32"))
            case _:
                moment = f"timestamp '2026-01-01' + (i + {n}) * interval '1 second'"
                found.append(Column(f"at{n}", "TIMESTAMP(3)", moment, "int64", _LOGICAL))
    return found


@dataclass(frozen=True)
class Shape:
    """A table, its rows in a topic, and Connect's schema of them."""

    name: str
    columns: list[Column]

    @property
    def declared(self) -> str:
        key = {"id": " PRIMARY KEY"}
        return ", ".join(f"{c.name} {c.declared}{key.get(c.name, '')}" for c in self.columns)

    def filled(self, records: int) -> str:
        values = ", ".join(f"{c.sql} AS {c.name}" for c in self.columns)
        rows = f"SELECT {values} FROM generate_series(1, {records}) i"
        return f"CREATE TABLE {self.name} ({self.declared}); INSERT INTO {self.name} {rows}; ANALYZE {self.name};"

    @property
    def as_json(self) -> str:
        """A query for the rows as JsonConverter writes them."""
        values = ", ".join(
            f"(extract(epoch FROM {c.name}) * 1000)::bigint AS {c.name}" if c.logical else c.name for c in self.columns
        )
        return f"SELECT to_json(r) FROM (SELECT {values} FROM {self.name} ORDER BY id) r"

    @property
    def schema(self) -> str:
        fields = [
            {"field": c.name, "type": c.type, "optional": c.name != "id"}
            | ({"name": c.logical, "version": 1} if c.logical else {})
            for c in self.columns
        ]
        return json.dumps({"type": "struct", "fields": fields})


SHAPES = [Shape("narrow", _columns(5)), Shape("wide", _columns(60))]


def sink(shape: Shape, cluster: Connect, setting: Setting) -> Figures:
    database = _filled(setting, shape)
    topic = setting.input(shape.name, lambda: _in_topic(setting, database, shape))
    table = setting.name("copy").replace("-", "_")
    database.execute(f"CREATE TABLE {table} ({shape.declared})")
    name = setting.name("sink")
    common = {
        "topics": topic,
        "insert.mode": "insert",
        "batch.size": _BATCH,
        "value.converter": JSON,
        "value.converter.schemas.enable": "true",
        "value.converter.schema.content": shape.schema,
        "consumer.override.auto.offset.reset": "earliest",
    }
    ours = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connection.url": database.url,
        "table.name.format": table,
        "penstock.batch.max.records": str(max(setting.records // 10, 1)),
    }
    debeziums = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "tasks.max": str(_PARTITIONS),
        # The driver makes one statement of many rows, as who wants speed sets it.
        "connection.url": f"{database.url}&reWriteBatchedInserts=true",
        "connection.username": USER,
        "connection.password": "any",
        "collection.name.format": table,
        "primary.key.mode": "none",
        "schema.evolution": "none",
        "consumer.override.max.poll.records": _BATCH,
    }
    with _running(cluster, setting, database, name, common | (ours if cluster.name == OURS else debeziums)) as run:
        arrived = 0
        while not run.watch.sees(arrived):
            time.sleep(0.1)
            arrived = _arrived(database, table, setting.records, arrived)
        figures = run.figures()
    rows = (row[0].encode() for row in database.rows(f"SELECT t::text FROM {table} t"))
    setting.same(f"jdbc-sink-{shape.name}", cluster.name, rows)
    database.execute(f"DROP TABLE {table}")
    return figures


def source(shape: Shape, cluster: Connect, setting: Setting) -> Figures:
    database = _filled(setting, shape)
    name = setting.name("source").replace("-", "_")
    ours, mine = cluster.name == OURS, f"{name}.public.{shape.name}"
    topic = setting.create_topic(f"{name}.{shape.name}" if ours else mine)
    common = {
        "topic.prefix": f"{name}." if ours else name,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    jdbc = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": database.url,
        "table.whitelist": shape.name,
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "batch.max.rows": _BATCH,
    }
    debeziums = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": LOOPBACK,
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": "any",
        "database.dbname": "postgres",
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "slot.drop.on.stop": "true",
        "table.include.list": f"public.{shape.name}",
        "time.precision.mode": "connect",
        "max.batch.size": _BATCH,
        "max.queue.size": str(4 * int(_BATCH)),
        "snapshot.fetch.size": _BATCH,
        "key.converter": JSON,
        "key.converter.schemas.enable": "false",
        "transforms": "row",
        "transforms.row.type": "io.debezium.transforms.ExtractNewRecordState",
    }
    consumers = [setting.consumer(level) for level in ("read_uncommitted", "read_committed")]
    try:
        with _running(cluster, setting, database, name, common | (jdbc if ours else debeziums)) as run:
            for consumer in consumers:
                while not run.watch.sees(min(setting.end(consumer, topic), setting.records - 1)):
                    if setting.end(consumer, topic) >= setting.records:
                        break
                    time.sleep(0.05)
            # Ends of transactions have offsets as well, so the last few records may not be there yet.
            while sum(1 for _ in setting.values(topic)) < setting.records:
                run.watch.check()
            run.watch.sees(setting.records)
            figures = run.figures()
    finally:
        for consumer in consumers:
            consumer.close()
    rows = (json.dumps(json.loads(value), sort_keys=True).encode() for value in setting.values(topic))
    setting.same(f"jdbc-source-{shape.name}", cluster.name, rows)
    setting.delete_topics(topic)
    if not ours:
        drop_slot(database, name)
    return figures


CASES: dict[str, Callable[[Connect, Setting], Figures]] = {
    **{f"jdbc-sink-{shape.name}": partial(sink, shape) for shape in SHAPES},
    **{f"jdbc-source-{shape.name}": partial(source, shape) for shape in SHAPES},
}


class _Run:
    """A connector that runs, and the processor time of its worker and of the database while rows come."""

    def __init__(self, cluster: Connect, setting: Setting, database: Postgres, name: str) -> None:
        if cluster.pid is None:
            raise CaseError(f"jdbc: the process of the worker at {cluster.url} can't be seen from here")
        self._pids = {WORKER: cluster.pid, DATABASE: database.pid}
        self._meter = Meter(self._look)
        self.watch = Watch(setting.records, lambda: cluster.check(name), self._meter)

    def figures(self) -> Figures:
        worker, database = self._meter.spent[WORKER], self._meter.spent[DATABASE]
        return {
            "rows/s": self.watch.rate,
            "rows/CPU s": self.watch.seen / worker,
            "rows/CPU s with the database": self.watch.seen / (worker + database),
        }

    def _look(self) -> Counter[str]:
        return Counter(
            {part: sum(map(seconds, [psutil.Process(p), *descendants(p)])) for part, p in self._pids.items()}
        )


def _arrived(database: Postgres, table: str, records: int, before: int) -> int:
    """Return how many rows there are: exactly at first and in the end, and by the greatest key in between, since
    counting takes the database's time.
    """
    if not before:
        return int(database.rows(f"SELECT count(*) FROM {table}")[0][0])
    last, greatest = database.rows(
        f"SELECT (SELECT count(*) FROM {table} WHERE id > {records - _PARTITIONS}), (SELECT max(id) FROM {table})"
    )[0]
    if int(last) == min(_PARTITIONS, records):
        return max(before, int(database.rows(f"SELECT count(*) FROM {table}")[0][0]))
    return max(before, min(int(greatest), records - 1))


@contextmanager
def _running(
    cluster: Connect, setting: Setting, database: Postgres, name: str, config: dict[str, str]
) -> Iterator[_Run]:
    run = _Run(cluster, setting, database, name)
    cluster.put(name, config)
    try:
        yield run
    finally:
        cluster.delete(name)


def _in_topic(setting: Setting, database: Postgres, shape: Shape) -> str:
    topic = setting.create_topic(setting.name(shape.name), _PARTITIONS)
    setting.produce(topic, (row[0].encode() for row in database.rows(shape.as_json)), _PARTITIONS)
    return topic


def _filled(setting: Setting, shape: Shape) -> Postgres:
    database: Postgres = setting.resource("durable", lambda: _server(setting))
    setting.resource(shape.name, lambda: database.execute(shape.filled(setting.records)))
    return database


def _server(setting: Setting) -> Postgres:
    """A server that writes each commit to the disk, whoever commits."""
    if binaries() is None:
        raise CaseError("jdbc: there is no PostgreSQL on this machine")
    install("jdbc-postgresql")
    database = Postgres.make(wal_level="logical", fsync="on", synchronous_commit="on", max_wal_size="8GB")
    setting.at_end(database.remove)
    database.start()
    return database

"""Copies of a PostgreSQL table with ten columns to a topic, and of a topic to such a table: by the JDBC connectors, and
by plain Spark jobs that do the same.

``jdbc-source`` reads with four connections, ``jdbc-source-one`` with one. Both writers use ten batches. The processor
time of each kind of process is measured too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from bench.connect import JSON, CaseError, Connect
from bench.processes import listening
from bench.processors import Meter, looking
from bench.setting import Setting
from bench.watch import Watch
from penstock.spark.query.jdbc.drivers import install
from support.postgres import Postgres, binaries

_COLUMNS = """id BIGINT PRIMARY KEY, name TEXT NOT NULL, amount DOUBLE PRECISION, quantity INT, at TIMESTAMP,
note TEXT, small SMALLINT, flag BOOLEAN, day DATE, code VARCHAR(10)"""
_ROWS = """SELECT i AS id, 'user' || i % 50000 AS name, i % 100000 / 100.0 AS amount, i % 1000 AS quantity,
timestamp '2026-01-01' + i * interval '1 second' AS at, repeat('abcdefghij', 2) AS note, i % 100 AS small,
i % 2 = 0 AS flag, date '2026-01-01' + i % 1000 AS day, 'c' || i % 1000 AS code FROM generate_series(1, {records}) i"""
_TABLE = f"CREATE TABLE ten ({_COLUMNS}); INSERT INTO ten {_ROWS}; ANALYZE ten;"
_RECORDS = """SELECT to_json(r) FROM (SELECT id, name, amount, quantity, (extract(epoch FROM at) * 1000)::bigint AS at,
note, small, flag, day - DATE '1970-01-01' AS day, code FROM ten ORDER BY id) r"""
"""Query for the rows as JsonConverter writes them."""
_SPARKS = """id BIGINT, name STRING, amount DOUBLE, quantity INT, at BIGINT, note STRING, small SMALLINT, flag BOOLEAN,
day INT, code STRING"""
_PARTITIONS = 2
SINK = "jdbc-sink"


def _field(name: str, type: str, logical: str | None = None) -> dict[str, object]:
    named = {} if logical is None else {"name": f"org.apache.kafka.connect.data.{logical}", "version": 1}
    return {"field": name, "type": type, "optional": name not in ("id", "name"), **named}


_SCHEMA = {
    "type": "struct",
    "fields": [
        _field("id", "int64"),
        _field("name", "string"),
        _field("amount", "double"),
        _field("quantity", "int32"),
        _field("at", "int64", "Timestamp"),
        _field("note", "string"),
        _field("small", "int16"),
        _field("flag", "boolean"),
        _field("day", "int32", "Date"),
        _field("code", "string"),
    ],
}

Figures = dict[str, float]


def source(case: str, partitions: int, cluster: Connect, setting: Setting) -> Figures:
    database = setting.resource("ten", lambda: _filled(setting))
    meter = _meter(setting, database, _is_ours)
    name = setting.name("jdbc")
    topic = setting.create_topic(f"{name}-ten")
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": database.url,
        "table.whitelist": "ten",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "topic.prefix": f"{name}-",
        "penstock.read.partitions": str(partitions),
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    watch = Watch(setting.records, lambda: cluster.check(name), meter)
    cluster.put(name, config)
    try:
        _wait(setting, topic, watch)
    finally:
        cluster.delete(name)
    setting.uses[case, "JdbcSource"] = meter.use(case, "JdbcSource", watch.seen)
    return _checked(setting, "JdbcSource", topic, watch)


def source_program(case: str, setting: Setting) -> Figures:
    database = setting.resource("ten", lambda: _filled(setting))
    meter = _meter(setting, database, _is_plain)
    topic = setting.create_topic(setting.name("plain"))
    with _program(setting, "source", topic, database, str(setting.records)) as check:
        watch = Watch(setting.records, check, meter)
        _wait(setting, topic, watch)
    setting.uses[case, "the plain job"] = meter.use(case, "the plain job", watch.seen)
    return _checked(setting, "the plain job", topic, watch)


def sink(cluster: Connect, setting: Setting) -> Figures:
    database = setting.resource("ten", lambda: _filled(setting))
    topic, table = _input(setting, database), _empty(setting, database)
    name = setting.name("jdbc")
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connection.url": database.url,
        "topics": topic,
        "table.name.format": table,
        "penstock.batch.max.records": _batch(setting),
        "value.converter": JSON,
        "value.converter.schemas.enable": "true",
        "value.converter.schema.content": json.dumps(_SCHEMA),
        "consumer.override.auto.offset.reset": "earliest",
    }
    meter = _meter(setting, database, _is_ours)
    watch = Watch(setting.records, lambda: cluster.check(name), meter)
    cluster.put(name, config)
    try:
        _wait_for_rows(database, table, watch)
    finally:
        cluster.delete(name)
    setting.uses[SINK, "JdbcSink"] = meter.use(SINK, "JdbcSink", watch.seen)
    return _same_rows(setting, "JdbcSink", database, table, watch)


def sink_program(setting: Setting) -> Figures:
    database = setting.resource("ten", lambda: _filled(setting))
    topic, table = _input(setting, database), _empty(setting, database)
    more = (table, _SPARKS, str(setting.folder / table), _batch(setting))
    with _program(setting, "sink", topic, database, *more) as check:
        meter = _meter(setting, database, _is_plain)
        watch = Watch(setting.records, check, meter)
        _wait_for_rows(database, table, watch)
    setting.uses[SINK, "the plain job"] = meter.use(SINK, "the plain job", watch.seen)
    return _same_rows(setting, "the plain job", database, table, watch)


SOURCES: dict[str, Callable[[Connect, Setting], Figures]] = {
    name: partial(source, name, partitions) for name, partitions in (("jdbc-source", 4), ("jdbc-source-one", 1))
}
CASES = {**SOURCES, SINK: sink}
PROGRAMS = {**{name: partial(source_program, name) for name in SOURCES}, SINK: sink_program}


def _meter(setting: Setting, database: Postgres, is_driver: Callable[[str], bool]) -> Meter:
    broker = listening(int(setting.bootstrap.rpartition(":")[2]))
    if broker is None:
        raise CaseError(f"jdbc: the process of the broker at {setting.bootstrap} can't be seen from here")
    return Meter(looking(is_driver, database.pid, broker))


def _is_ours(command: str) -> bool:
    return "penstock.spark.driver" in command and command.endswith("queries")


def _is_plain(command: str) -> bool:
    return "bench.plain_jdbc" in command


@contextmanager
def _program(setting: Setting, what: str, topic: str, database: Postgres, *more: str) -> Iterator[Callable[[], None]]:
    """Run a plain job meanwhile; yield a function that raises if the job has ended."""
    log = setting.folder / f"{setting.name(what)}.log"
    settings = [what, setting.bootstrap, topic, database.url, str(install("jdbc-postgresql")[0]), *more]
    with (
        log.open("wb") as out,
        subprocess.Popen([sys.executable, "-m", "bench.plain_jdbc", *settings], stdout=out, stderr=out) as job,
    ):

        def check() -> None:
            if job.poll():
                raise CaseError(f"jdbc-{what}: the plain job has ended:\n{log.read_text()[-2000:]}")

        try:
            yield check
        finally:
            job.terminate()


def _wait(setting: Setting, topic: str, watch: Watch) -> None:
    consumer = setting.consumer("read_uncommitted")
    try:
        while not watch.sees(setting.end(consumer, topic)):
            time.sleep(0.01)
    finally:
        consumer.close()


def _checked(setting: Setting, who: str, topic: str, watch: Watch) -> Figures:
    """Compare the rows, whose JSON may be formatted differently, and return the figures."""
    rows = (f"{row['id']} {row['name']} {row['quantity']}".encode() for row in map(json.loads, setting.values(topic)))
    setting.same("jdbc-source", who, rows)
    setting.delete_topics(topic)
    return {"records/s": watch.rate, "seconds": watch.seconds}


def _wait_for_rows(database: Postgres, table: str, watch: Watch) -> None:
    while not watch.sees(int(database.rows(f"SELECT count(*) FROM {table}")[0][0])):
        time.sleep(0.2)


def _same_rows(setting: Setting, who: str, database: Postgres, table: str, watch: Watch) -> Figures:
    rows = database.rows(f"SELECT t::text FROM {table} t")
    setting.same("jdbc-sink", who, (row[0].encode() for row in rows))
    database.execute(f"DROP TABLE {table}")
    return {"records/s": watch.rate, "seconds": watch.seconds}


def _input(setting: Setting, database: Postgres) -> str:
    """Make a topic with the rows of the table."""

    def make() -> str:
        topic = setting.create_topic(setting.name("ten"), _PARTITIONS)
        setting.produce(topic, (row[0].encode() for row in database.rows(_RECORDS)), _PARTITIONS)
        return topic

    return setting.input("ten", make)


def _empty(setting: Setting, database: Postgres) -> str:
    table = setting.name("copy").replace("-", "_")
    database.execute(f"CREATE TABLE {table} ({_COLUMNS})")
    return table


def _batch(setting: Setting) -> str:
    return str(max(setting.records // 10, 1))


def _filled(setting: Setting) -> Postgres:
    if binaries() is None:
        raise CaseError("jdbc-source: there is no PostgreSQL on this machine")
    install("jdbc-postgresql")
    database = Postgres.make()
    setting.at_end(database.remove)
    database.start()
    database.execute(_TABLE.format(records=setting.records))
    return database

"""A table of PostgreSQL with ten columns to a topic: by the JDBC source, and by a plain Spark job that does the same.

``jdbc-source`` reads by four connections, ``jdbc-source-one`` by one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from bench.connect import JSON, CaseError, Connect
from bench.setting import Setting
from bench.watch import Watch
from penstock.jdbc.drivers import install
from support.postgres import Postgres, binaries

_TABLE = """
CREATE TABLE ten (id BIGINT PRIMARY KEY, name TEXT NOT NULL, amount DOUBLE PRECISION, quantity INT, at TIMESTAMP,
note TEXT, small SMALLINT, flag BOOLEAN, day DATE, code VARCHAR(10));
INSERT INTO ten SELECT i, 'user' || i % 50000, i % 100000 / 100.0, i % 1000, timestamp '2026-01-01' + i * interval
'1 second', repeat('abcdefghij', 2), i % 100, i % 2 = 0, date '2026-01-01' + i % 1000, 'c' || i % 1000
FROM generate_series(1, {records}) i;
ANALYZE ten;
"""

Figures = dict[str, float]


def source(partitions: int, cluster: Connect, setting: Setting) -> Figures:
    database = setting.resource("ten", lambda: _filled(setting))
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
    watch = Watch(setting.records, lambda: cluster.check(name))
    cluster.put(name, config)
    try:
        _wait(setting, topic, watch)
    finally:
        cluster.delete(name)
    return _checked(setting, "JdbcSource", topic, watch)


def program(setting: Setting) -> Figures:
    database = setting.resource("ten", lambda: _filled(setting))
    topic = setting.create_topic(setting.name("plain"))
    log = setting.folder / f"{topic}.log"
    settings = [setting.bootstrap, topic, database.url, str(install("jdbc-postgresql")[0]), str(setting.records)]
    with (
        log.open("wb") as out,
        subprocess.Popen([sys.executable, "-m", "bench.plain_jdbc", *settings], stdout=out, stderr=out) as job,
    ):

        def check() -> None:
            if job.poll():
                raise CaseError(f"jdbc-source: the plain job has ended:\n{log.read_text()[-2000:]}")

        watch = Watch(setting.records, check)
        try:
            _wait(setting, topic, watch)
        finally:
            job.terminate()
    return _checked(setting, "the plain job", topic, watch)


SOURCES: dict[str, Callable[[Connect, Setting], Figures]] = {
    "jdbc-source": partial(source, 4),
    "jdbc-source-one": partial(source, 1),
}


def _wait(setting: Setting, topic: str, watch: Watch) -> None:
    consumer = setting.consumer("read_uncommitted")
    try:
        while not watch.sees(setting.end(consumer, topic)):
            time.sleep(0.01)
    finally:
        consumer.close()


def _checked(setting: Setting, who: str, topic: str, watch: Watch) -> Figures:
    """What JSON looks like differs, not which rows there are."""
    rows = (f"{row['id']} {row['name']} {row['quantity']}".encode() for row in map(json.loads, setting.values(topic)))
    setting.same("jdbc-source", who, rows)
    setting.delete_topics(topic)
    return {"records/s": watch.rate, "seconds": watch.seconds}


def _filled(setting: Setting) -> Postgres:
    if binaries() is None:
        raise CaseError("jdbc-source: there is no PostgreSQL on this machine")
    install("jdbc-postgresql")
    database = Postgres.make()
    setting.at_end(database.remove)
    database.start()
    database.execute(_TABLE.format(records=setting.records))
    return database

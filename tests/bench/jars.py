"""Connectors from jars: the same jars in a worker of Penstock and one of Java Connect, both started by the benchmark
(see ``workers``).

Kafka's connectors for files, and Debezium's snapshot of a PostgreSQL table, which needs PostgreSQL on this machine.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial

from bench.connect import JSON, CaseError, Connect
from bench.copying import Copy, sink, source
from bench.processes import Peak, megabytes
from bench.setting import Setting
from bench.watch import Watch
from support.postgres import LOOPBACK, USER, Postgres, binaries

_FILE = "org.apache.kafka.connect.file.FileStream"
_SOURCE, _SINK = f"{_FILE}SourceConnector", f"{_FILE}SinkConnector"
_START_SECONDS = 300.0
_SETTLED_SECONDS = 10
_TASKS = 10

Figures = dict[str, float]


# -- files


def _copied(run: Callable[[Copy, Connect, Setting], Watch], copy: Copy, cluster: Connect, setting: Setting) -> Figures:
    return {"records/s": run(copy, cluster, setting).rate}


source_string = partial(_copied, source, Copy("jar-source", connector=_SOURCE))
sink_string = partial(_copied, sink, Copy("jar-sink", connector=_SINK))


# -- a snapshot

_TABLE = """
CREATE TABLE rows (id bigint PRIMARY KEY, name text, amount numeric(10, 2), quantity int, at timestamp, note text);
INSERT INTO rows SELECT i, 'user' || i % 50000, i % 100000 / 100.0, i % 1000, timestamp '2026-01-01' + i * interval
'1 second', repeat('abcdefghij', 2) FROM generate_series(1, {records}) i;
"""


def snapshot(cluster: Connect, setting: Setting) -> Figures:
    """Measure Debezium's snapshot of one table; ``peak MB`` is that of the worker and its descendants."""
    database = setting.resource("postgres", lambda: _filled(setting))
    name = setting.name("snapshot").replace("-", "_")
    topic = setting.create_topic(f"{name}.public.rows")
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": LOOPBACK,
        "database.port": str(database.port),
        "database.user": USER,
        "database.password": "",
        "database.dbname": "postgres",
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "slot.drop.on.stop": "true",
        "table.include.list": "public.rows",
        "topic.prefix": name,
        "decimal.handling.mode": "string",
        "key.converter": JSON,
        "key.converter.schemas.enable": "false",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    early, late = setting.consumer("read_uncommitted"), setting.consumer("read_committed")
    watch = Watch(setting.records, lambda: cluster.check(name))
    assert cluster.pid is not None
    with Peak(cluster.pid) as peak:
        cluster.put(name, config)
        try:
            for consumer in (early, late):
                while not watch.sees(setting.end(consumer, topic)):
                    time.sleep(0.01)
            # Markers of transactions have offsets too, so the last few records may not have arrived yet.
            while sum(1 for _ in setting.values(topic)) < setting.records:
                watch.check()
        finally:
            early.close()
            late.close()
            cluster.delete(name)
    setting.same("snapshot", cluster.name, map(_row, setting.values(topic)))
    setting.delete_topics(topic)
    drop_slot(database, name)
    return {"records/s": watch.rate, "peak MB": peak.megabytes}


def _filled(setting: Setting) -> Postgres:
    if binaries() is None:
        raise CaseError("jar-snapshot: there is no PostgreSQL on this machine")
    database = Postgres.make(wal_level="logical")
    setting.at_end(database.remove)
    database.start()
    try:
        database.rows(_TABLE.format(records=setting.records))
    except subprocess.CalledProcessError as error:
        raise CaseError(f"jar-snapshot: {error.stderr}") from error
    return database


def _row(value: bytes) -> bytes:
    """Return the row of an event; the other fields depend on the time and place of the snapshot."""
    return json.dumps(json.loads(value)["after"], sort_keys=True).encode()


def drop_slot(database: Postgres, name: str) -> None:
    """Drop the slot, which is free a moment after the connector has been deleted."""
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        try:
            database.rows(
                f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{name}'"
            )
            return
        except subprocess.CalledProcessError:
            time.sleep(0.5)
    raise CaseError(f"jar-snapshot: slot {name} is still used")


# -- memory


def memory(cluster: Connect, setting: Setting) -> Figures:
    """Measure ten connectors with a task each, which read a line and wait, and one connector with ten tasks."""
    if cluster.pid is None:
        raise CaseError(f"jar-memory: the process of the worker at {cluster.url} can't be seen from here")
    idle = megabytes(cluster.pid)
    one, more = _sources(cluster, setting, 1), []
    first = _settled(cluster.pid)
    more = _sources(cluster, setting, _TASKS - 1)
    all_of_them = _settled(cluster.pid)
    _removed(cluster, setting, [*one, *more])
    wide_one = _wide(cluster, setting, 1)
    before = _settled(cluster.pid)
    wide_all = _wide(cluster, setting, _TASKS, wide_one)
    after = _settled(cluster.pid)
    _removed(cluster, setting, [wide_all])
    return {
        "idle MB": idle,
        "with one task MB": first,
        "MB a connector": (all_of_them - first) / (_TASKS - 1),
        "MB a task of one connector": (after - before) / (_TASKS - 1),
    }


def _settled(pid: int) -> float:
    time.sleep(_SETTLED_SECONDS)
    return megabytes(pid)


def _sources(cluster: Connect, setting: Setting, count: int) -> list[str]:
    names = [setting.create_topic(setting.name("jar-memory")) for _ in range(count)]
    for name in names:
        file = setting.folder / f"{name}.txt"
        file.write_text("one\n")
        cluster.put(name, {"connector.class": _SOURCE, "tasks.max": "1", "topic": name, "file": str(file)})
    for name in names:
        cluster.running(name, time.perf_counter())
    return names


def _wide(cluster: Connect, setting: Setting, tasks: int, name: str | None = None) -> str:
    """Create a sink with this number of tasks."""
    name = name or setting.create_topic(setting.name("jar-memory-wide"), _TASKS)
    out = setting.folder / f"{name}.out"
    cluster.put(name, {"connector.class": _SINK, "tasks.max": str(tasks), "topics": name, "file": str(out)})
    cluster.running(name, time.perf_counter(), tasks)
    return name


def _removed(cluster: Connect, setting: Setting, names: list[str]) -> None:
    for name in names:
        cluster.delete(name)
    setting.delete_topics(*names)


CASES = {
    "jar-source": source_string,
    "jar-sink": sink_string,
    "jar-snapshot": snapshot,
    "jar-memory": memory,
    "jar-memory-shared": memory,
}
"""Cases by name; ``-shared``: one JVM for all of Penstock's connectors."""

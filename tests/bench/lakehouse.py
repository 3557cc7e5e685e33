"""A topic to a table of a lakehouse: SparkSink to Iceberg and to Delta, each beside Iceberg's own sink in Java Connect,
and SparkSink that changes the rows of a Delta table by their keys, beside a plain job of Spark with Delta's MERGE.

The records are JSON of about 1.2 KB, and both sides get the schema from the converter, so that the tables have the same
columns. Iceberg's sink has two tasks and commits every five seconds; SparkSink writes the topic in ten batches. Figures
of ``rows/CPU s`` count the processor time of the worker and all processes below it, from when the first rows can be
read to when the last ones can.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

import orjson
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, TopicPartition

from bench.connect import JSON, OURS, CaseError, Connect
from bench.processes import Peak
from bench.processors import Meter, seconds
from bench.setting import Setting
from bench.watch import Watch
from hosts import iceberg_table
from support.process_tree import descendants
from support.spark import delta

PARTITIONS = 2
COMMIT_MS = "5000"
ICEBERG, DELTA, UPSERT = "sink-iceberg", "sink-delta", "sink-upsert"
WORKER = "worker"

_TABLE = "shop.orders"
_NOTES = [f"note{n}" for n in range(10)]
_TYPES = {"id": "int64", "user": "string", "amount": "double", "ts": "int64", **dict.fromkeys(_NOTES, "string")}
_SCHEMA = {
    "type": "struct",
    "fields": [{"field": name, "type": type, "optional": True} for name, type in _TYPES.items()],
}
_TEXT = ("abcdefghij" * 10)[:95]

Figures = dict[str, float]


class Table(Protocol):
    """A table that a sink writes."""

    def files(self) -> dict[str, int]:
        """Return the data files of the current snapshot that readers see, and the number of their rows."""


class IcebergInFolder:
    """A table of Iceberg's Hadoop catalog."""

    def __init__(self, warehouse: Path) -> None:
        self._folder = warehouse.joinpath(*_TABLE.split("."))

    def files(self) -> dict[str, int]:
        return {str(file): rows for file, rows in iceberg_table.files(self._folder).items()}


class IcebergInCatalog:
    """A table of a catalog in a file of SQLite."""

    def __init__(self, warehouse: Path) -> None:
        from pyiceberg.catalog.sql import SqlCatalog

        self._catalog = SqlCatalog("iceberg", uri=catalog(warehouse), warehouse=warehouse.as_uri())

    def files(self) -> dict[str, int]:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            found = self._catalog.load_table(_TABLE).scan().plan_files()
        except NoSuchTableError:
            return {}
        return {each.file.file_path.removeprefix("file://"): each.file.record_count for each in found}


class DeltaInFolder:
    """A Delta table to which rows are only added: its log, read without Delta."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, int] = {}
        self._read: set[str] = set()

    def files(self) -> dict[str, int]:
        for entry in sorted(self._folder.glob("_delta_log/*.json")):
            if entry.name in self._read:
                continue
            for line in entry.read_text().splitlines():
                if (added := json.loads(line).get("add")) is not None:
                    self._known[str(self._folder / added["path"])] = json.loads(added["stats"])["numRecords"]
            self._read.add(entry.name)
        return self._known


def sink(case: str, cluster: Connect, setting: Setting) -> Figures:
    if (pid := cluster.pid) is None:
        raise CaseError(f"{case}: the process of the worker at {cluster.url} can't be seen from here")
    topic = setting.input("lakehouse", lambda: _filled(setting))
    name = setting.name(case)
    folder = setting.folder / name
    folder.mkdir()
    common = {
        "topics": topic,
        "value.converter": JSON,
        "value.converter.schemas.enable": "true",
        "value.converter.schema.content": json.dumps(_SCHEMA),
        "consumer.override.auto.offset.reset": "earliest",
    }
    table: Table
    if cluster.name != OURS:
        table, own = IcebergInFolder(folder), _icebergs(setting, name, folder)
    elif case == ICEBERG:
        table, own = IcebergInCatalog(folder), _ours(setting) | _in_catalog(folder)
    else:
        table, own = DeltaInFolder(folder), _ours(setting) | {"format": "delta", "path": str(folder)}
    meter = Meter(lambda: _spent(pid))
    watch = Watch(setting.records, lambda: cluster.check(name), meter)
    with Peak(pid) as peak:
        cluster.put(name, common | own)
        try:
            while not watch.sees(sum(table.files().values())):
                time.sleep(0.2)
        finally:
            cluster.delete(name)
    files = table.files()
    setting.same("lakehouse", f"{case} of {cluster.name}", _rows(files))
    return {
        "rows/s": watch.rate,
        "rows/CPU s": watch.seen / meter.spent[WORKER],
        "peak MB": peak.megabytes,
        "files": len(files),
    }


def _ours(setting: Setting) -> dict[str, str]:
    return {
        "connector.class": "penstock.connectors.SparkSink",
        "batch.max.records": _batch(setting),
    }


def _batch(setting: Setting) -> str:
    return str(max(setting.records // 10, 1))


def _in_catalog(warehouse: Path) -> dict[str, str]:
    return {
        "format": "iceberg",
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": catalog(warehouse),
        "iceberg.catalog.warehouse": warehouse.as_uri(),
        "iceberg.tables": _TABLE,
        "iceberg.tables.auto-create-enabled": "true",
    }


def catalog(warehouse: Path) -> str:
    return f"sqlite:///{warehouse}/catalog.db"


def _icebergs(setting: Setting, name: str, warehouse: Path) -> dict[str, str]:
    """Return the configuration of Iceberg's own sink."""
    control = setting.create_topic(f"{name}-control")
    setting.at_end(lambda: setting.delete_topics(control))
    # Its coordinator would begin at the end of this topic, perhaps after what tasks have told it.
    with_offset = Consumer({"bootstrap.servers": setting.bootstrap, "group.id": f"connect-{name}-coord"})
    with_offset.commit(offsets=[TopicPartition(control, 0, 0)], asynchronous=False)
    with_offset.close()
    return {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": str(PARTITIONS),
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": warehouse.as_uri(),
        "iceberg.tables": _TABLE,
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": COMMIT_MS,
    }


def _spent(pid: int) -> Counter[str]:
    return Counter({WORKER: sum(map(seconds, [psutil.Process(pid), *descendants(pid)]))})


def _filled(setting: Setting) -> str:
    topic = setting.create_topic(setting.name("lakehouse"), PARTITIONS)
    setting.produce(topic, map(_record, range(setting.records)), PARTITIONS)
    return topic


def _record(i: int) -> bytes:
    notes = {name: f"{i * 7919 + n:08d} {_TEXT}" for n, name in enumerate(_NOTES)}
    return orjson.dumps({"id": i, "user": f"user{i % 50_000}", "amount": i % 100_000 / 100, "ts": i, **notes})


def _rows(files: Iterable[str]) -> Iterator[bytes]:
    """Yield each row, as a text of its values."""
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(10_000, columns=list(_TYPES)):
            yield from _texts(batch)


def _texts(rows: pa.RecordBatch | pa.Table) -> Iterator[bytes]:
    for row in rows.to_pylist():
        yield orjson.dumps(row, option=orjson.OPT_SORT_KEYS)


# -- changes of rows

_CHANGES = 5
"""The number of records of each key."""
_CHANGED = "user STRING, amount DOUBLE, ts BIGINT, note STRING"


def upsert(cluster: Connect, setting: Setting) -> Figures:
    if (pid := cluster.pid) is None:
        raise CaseError(f"{UPSERT}: the process of the worker at {cluster.url} can't be seen from here")
    topic, name = _changes(setting), setting.name(UPSERT)
    folder = setting.folder / name
    cluster.put(
        name,
        {
            **_ours(setting),
            "topics": topic,
            "format": "delta",
            "path": str(folder),
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "pk.fields": "id",
            "schema": f"id STRING, {_CHANGED}",
            "consumer.override.auto.offset.reset": "earliest",
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
        },
    )
    try:
        return _merged(setting, OURS, folder, pid, lambda: cluster.check(name))
    finally:
        cluster.delete(name)


def upsert_by_program(setting: Setting) -> Figures:
    topic, folder = _changes(setting), setting.folder / setting.name("merge")
    log = folder.with_suffix(".log")
    more = [setting.bootstrap, topic, str(folder), _CHANGED, _batch(setting)]
    with (
        log.open("wb") as out,
        subprocess.Popen([sys.executable, "-m", "bench.plain_merge", *more], stdout=out, stderr=out) as job,
    ):

        def check() -> None:
            if job.poll() is not None:
                raise CaseError(f"{UPSERT}: the plain job has ended:\n{log.read_text()[-2000:]}")

        try:
            return _merged(setting, "the plain job", folder, job.pid, check)
        finally:
            job.terminate()


def _merged(setting: Setting, who: str, folder: Path, pid: int, check: Callable[[], None]) -> Figures:
    """Wait until the table has all batches; a batch is one version of it that changes rows."""
    meter = Meter(lambda: _spent(pid))
    watch = Watch(setting.records, check, meter)
    with Peak(pid) as peak:
        while not watch.sees(_batches(folder) * int(_batch(setting))):
            time.sleep(0.2)
    rows = sorted(_texts(pq.ParquetDataset(delta.files(folder)).read()))
    digest = hashlib.sha256(b"\n".join(rows)).hexdigest()
    first = setting.resource("merged", lambda: (who, digest))
    if first[1] != digest:
        raise CaseError(f"{UPSERT}: {who} has made another table than {first[0]}")
    return {
        "rows/s": watch.rate,
        "rows/CPU s": watch.seen / meter.spent[WORKER],
        "peak MB": peak.megabytes,
        "files": len(delta.files(folder)),
    }


def _batches(folder: Path) -> int:
    """Return the number of entries in the table's log but for the one that creates it without rows."""
    return sum('"operation":"CREATE TABLE"' not in entry.read_text() for entry in folder.glob("_delta_log/*.json"))


def _changes(setting: Setting) -> str:
    """Return a topic in which each key has several records."""

    def make() -> str:
        topic = setting.create_topic(setting.name("changes"), PARTITIONS)
        # Records of one key are in one partition.
        keys = max(setting.records // _CHANGES // PARTITIONS, 1) * PARTITIONS
        values = map(_change, range(setting.records))
        setting.produce(topic, values, PARTITIONS, keys=(str(i % keys).encode() for i in range(setting.records)))
        return topic

    return setting.input("changes", make)


def _change(i: int) -> bytes:
    return orjson.dumps({"user": f"user{i % 50_000}", "amount": i % 100_000 / 100, "ts": i, "note": _TEXT})


CASES: dict[str, Callable[[Connect, Setting], Figures]] = {
    ICEBERG: partial(sink, ICEBERG),
    DELTA: partial(sink, DELTA),
    UPSERT: upsert,
}

"""A catalog and tables of Iceberg without Spark: runs of a connector commit rows to them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyspark.sql import types as t

from penstock.api.drift import SchemaDrift
from penstock.api.query import BatchVersion
from penstock.connectors.spark.iceberg_settings import IcebergSettings
from penstock.connectors.spark.sink_settings import SINK_CONFIG
from penstock.spark.query.iceberg.catalog import IcebergTable
from penstock.spark.query.iceberg.commits import Commits
from penstock.spark.query.iceberg.files import FileWriter, WrittenTable
from penstock.spark.query.iceberg.marks import Generation, KnownBatch, Mark, known_in

NAME = "shop.flights"
COLUMNS = t.StructType([t.StructField("id", t.LongType()), t.StructField("name", t.StringType())])
SINK = "flights-to-lake-0123456789ab"
EPOCH = "aaaaaaaa.bbbbbbbb"


def fields(**kinds: t.DataType) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in kinds.items()])


def config(place: Path, **more: str) -> dict[str, str]:
    """Return the configuration of a sink whose catalog and tables are in this folder."""
    return {
        "name": "flights-to-lake",
        "format": "iceberg",
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{place}/catalog.db",
        "iceberg.catalog.warehouse": (place / "warehouse").as_uri(),
        "iceberg.tables": NAME,
        "iceberg.tables.auto-create-enabled": "true",
        **more,
    }


def settings(place: Path, **more: str) -> IcebergSettings:
    return settings_of(config(place, **more))


def settings_of(given: dict[str, str]) -> IcebergSettings:
    found = IcebergSettings.of(given, SINK_CONFIG.parse(given))
    assert found is not None
    return found


def catalog(place: Path) -> Any:
    """Return the catalog as a foreign reader and writer finds it."""
    return load_catalog(
        "iceberg", type="sql", uri=f"sqlite:///{place}/catalog.db", warehouse=(place / "warehouse").as_uri()
    )


def rows(place: Path, **scan: Any) -> list[dict[str, Any]]:
    """Return the rows that pyiceberg's own scan finds."""
    found: list[dict[str, Any]] = catalog(place).load_table(NAME).scan(**scan).to_arrow().to_pylist()
    return found


def ids(place: Path, **scan: Any) -> list[int]:
    return sorted(row["id"] for row in rows(place, **scan))


def files(table: Any, values: Sequence[Mapping[str, Any]] | pa.Array, prefix: str = "") -> list[Any]:
    """Write rows to files that no snapshot has yet."""
    description = WrittenTable.of(table, {}, ignores_case=False, prefix=prefix or uuid.uuid4().hex)
    writer = FileWriter(WrittenTable.decoded(description.encoded()))
    made = values if isinstance(values, pa.Array) else pa.array(values)
    writer.write(pa.RecordBatch.from_struct_array(writer.shape.rows(made)))
    return writer.close()


class Run:
    """One run of a connector, whose transactional id no other run has claimed as far as it knows."""

    def __init__(self, place: Path, *, branch: str = "main", sink: str = SINK, **more: str) -> None:
        self.place, self.branch, self.sink = place, branch, sink
        self.table = IcebergTable(settings(place, **more), SchemaDrift.EVOLVE)
        mark = Mark(sink=sink, generation=Generation(0, ""), version=BatchVersion("", 0))
        self.commits = Commits(self.table.load, NAME, branch, mark)

    def claim(self, number: int = 0, epoch: str = EPOCH) -> Run:
        self.commits.claim(BatchVersion(epoch, number))
        return self

    def write(self, number: int, *numbers: int, epoch: str = EPOCH, before: Callable[[], object] | None = None) -> bool:
        """Write a batch of rows with these numbers, as a task does; return whether the table did not have it.

        ``before`` is called when the files are written, before the commit.
        """
        version = BatchVersion(epoch, number)
        if self.commits.has(version):
            return False
        made = files(self.table.load(), [{"id": each, "name": f"n{each}"} for each in numbers])
        if before is not None:
            before()
        ends = {("flights", 0): max(numbers) + 1}
        self.commits.commit(made, version, ends, {"flights": "topic-id"}, lambda: None)
        return True

    def known(self) -> KnownBatch:
        return known_in(self.table.load(), self.branch, self.sink)


def made(place: Path, **more: str) -> Run:
    """Create the table, and return a run that has claimed it."""
    run = Run(place, **more)
    run.table.prepared(COLUMNS)
    return run.claim()


def foreign(place: Path, *numbers: int, branch: str = "main") -> None:
    """Add rows by pyiceberg's own API, as another writer."""
    table = catalog(place).load_table(NAME)
    table.append(pa.table({"id": pa.array(numbers, pa.int64()), "name": ["foreign"] * len(numbers)}), branch=branch)


def expire(place: Path, *, keep: int) -> None:
    """Expire all snapshots but the last ones."""
    table = catalog(place).load_table(NAME)
    old = sorted(table.snapshots(), key=lambda each: each.sequence_number)[:-keep]
    table.maintenance.expire_snapshots().by_ids([each.snapshot_id for each in old]).commit()


def roll_back(place: Path, snapshots: int) -> None:
    table = catalog(place).load_table(NAME)
    wanted = table.metadata.snapshot_by_id(table.metadata.refs["main"].snapshot_id)
    for _ in range(snapshots):
        wanted = table.metadata.snapshot_by_id(wanted.parent_snapshot_id)
    table.manage_snapshots().set_current_snapshot(snapshot_id=wanted.snapshot_id).commit()

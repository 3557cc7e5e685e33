"""Data files of a batch: partitions, sizes, memory, statistics and types, read by pyiceberg's own scan."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import uuid
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import types as i
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform, VoidTransform
from pyspark.sql import types as t

from penstock.api.drift import SchemaDrift
from penstock.api.errors import DataError
from penstock.spark.query.iceberg import files as data_files
from penstock.spark.query.iceberg.catalog import IcebergTable
from penstock.spark.query.iceberg.files import FileWriter, WrittenTable
from penstock.spark.query.iceberg.partitions import Partitioner
from spark.query.iceberg import lake

START = dt.datetime(1969, 12, 31, 20, tzinfo=dt.UTC)
COLUMNS = t.StructType(
    [
        t.StructField("id", t.LongType(), nullable=False),
        t.StructField("name", t.StringType()),
        t.StructField("at", t.TimestampType()),
        t.StructField("day", t.DateType()),
        t.StructField("price", t.DecimalType(12, 2)),
        t.StructField("inner", t.StructType([t.StructField("kind", t.StringType())])),
    ]
)


def table(place: Path, columns: t.StructType = COLUMNS, **more: str) -> Any:
    return IcebergTable(lake.settings(place, **more), SchemaDrift.EVOLVE).prepared(columns)


def values(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "name": None if number % 5 == 0 else f"name{number}",
            "at": START + dt.timedelta(hours=number),
            "day": dt.date(1969, 12, 30) + dt.timedelta(days=number % 3),
            "price": Decimal(number).scaleb(-2),
            "inner": None if number % 7 == 0 else {"kind": "ab"[number % 2]},
        }
        for number in range(count)
    ]


def add(place: Path, made: Sequence[Any]) -> None:
    table = lake.catalog(place).load_table(lake.NAME)
    transaction = table.transaction()
    with transaction._append_snapshot_producer({}) as append:
        for each in made:
            append.append_data_file(each)
    transaction.commit_transaction()


PARTITIONS = [
    "",
    "id",
    "day",
    "name",
    "price",
    "year(at)",
    "month(at)",
    "day(at)",
    "hour(at)",
    "day(day)",
    "bucket(id, 4)",
    "bucket(name, 3)",
    "bucket(price, 3)",
    "bucket(at, 3)",
    "bucket(day, 3)",
    "truncate(name, 5)",
    "truncate(id, 10)",
    "truncate(price, 50)",
    "inner.kind",
    "day(at), bucket(id, 2), name",
]


@pytest.mark.parametrize("by", PARTITIONS)
def test_rows_are_found_by_the_partitions_of_their_files(tmp_path: Path, by: str) -> None:
    """A reader leaves out files by the values of their partitions: rows that it finds are in the right ones."""
    made = lake.files(table(tmp_path, **{"iceberg.tables.default-partition-by": by}), values(40))
    add(tmp_path, made)
    assert lake.ids(tmp_path) == list(range(40))
    found = lake.catalog(tmp_path).load_table(lake.NAME)
    for row in values(40):
        name = f"name = '{row['name']}'" if row["name"] else "name is null"
        times = f"at = '{row['at'].isoformat()}' and day = '{row['day']}' and price = {row['price']}"
        kind = f" and inner.kind = '{row['inner']['kind']}'" if row["inner"] else ""
        scan = found.scan(f"id = {row['id']} and {name} and {times}{kind}")
        assert [each["id"] for each in scan.to_arrow().to_pylist()] == [row["id"]]
        if by and by != "inner.kind":  # by which pyiceberg leaves out no files
            assert len(list(scan.plan_files())) == 1
    if by == "bucket(id, 4)":
        assert len(made) == 4


def test_thousands_of_partitions_are_written_with_few_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of partitions that have few at a time wait on the disk, so that each partition gets one file."""
    monkeypatch.setattr(data_files, "MAX_OPEN", 8)
    monkeypatch.setattr(data_files, "MAX_WAITING", 2000)
    opened: set[str] = set()
    most = [0]
    real = data_files._File

    class Counted:
        def __init__(self, *given: Any) -> None:
            self._file, self.path = real(*given), given[1]
            opened.add(self.path)
            most[0] = max(most[0], len(opened))

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def close(self) -> Any:
            opened.discard(self.path)
            return self._file.close()

    monkeypatch.setattr(data_files, "_File", Counted)
    own = table(tmp_path, **{"iceberg.tables.default-partition-by": "id"})
    writer = written(own)
    for start in range(0, 600, 50):
        rows = [{**row, "id": row["id"] % 300} for row in values(start + 50)[start:]]
        writer.write(batch(writer, rows))
    made = writer.close()
    add(tmp_path, made)
    assert sorted(lake.ids(tmp_path)) == sorted([*range(300)] * 2)
    assert most[0] <= 8
    assert len(made) == 300


def test_rows_of_large_and_small_partitions_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most rows are of two partitions, which have files open while those of the others wait on the disk."""
    monkeypatch.setattr(data_files, "MAX_WAITING", 20_000)
    monkeypatch.setattr(data_files, "SMALLEST_GROUP", 4000)
    writer = written(table(tmp_path, **{"iceberg.tables.default-partition-by": "name"}))
    for start in range(0, 3000, 100):
        rows = [{"id": n, "name": f"n{n}" if n % 10 == 0 else f"large{n % 2}"} for n in range(start, start + 100)]
        writer.write(batch(writer, rows))
    made = writer.close()
    add(tmp_path, made)
    assert lake.ids(tmp_path) == list(range(3000))
    assert len(made) == 302


def test_rows_wait_in_a_file_without_a_name_in_the_local_folder_of_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed leaves none. UUIDs are of a type of Arrow's own."""
    monkeypatch.setattr(data_files, "MAX_WAITING", 1000)
    local = tmp_path / "local"
    local.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/missing,{local},{tmp_path}")
    catalog = lake.catalog(tmp_path)
    catalog.create_namespace("shop")
    schema = Schema(i.NestedField(1, "id", i.LongType()), i.NestedField(2, "key", i.UUIDType()))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
    writer = written(catalog.create_table(lake.NAME, schema, partition_spec=spec))
    keys = [str(uuid.uuid4()) for _ in range(20)]
    for number, key in enumerate(keys):
        writer.write(batch(writer, [{"id": number % 4, "key": key}, {"id": number % 4, "key": None}]))
    open_files = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert [each for each in open_files if each.startswith(f"{local}/") and each.endswith("(deleted)")]
    assert not list(local.iterdir())
    made = writer.close()
    add(tmp_path, made)
    assert len(made) == 4
    assert sorted(str(row["key"]) for row in lake.rows(tmp_path) if row["key"]) == sorted(keys)


def test_numbers_that_are_none_are_one_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "MAX_WAITING", 1)
    columns = t.StructType([t.StructField("x", t.DoubleType())])
    writer = written(table(tmp_path, columns, **{"iceberg.tables.default-partition-by": "x"}))
    for _ in range(5):
        writer.write(batch(writer, [{"x": float("nan")}, {"x": 1.0}]))
    made = writer.close()
    add(tmp_path, made)
    assert len(made) == 2
    assert len(lake.rows(tmp_path, row_filter="x is nan")) == 5


def test_rows_are_added_to_a_table_one_of_whose_partition_columns_was_dropped(tmp_path: Path) -> None:
    by = {"iceberg.tables.default-partition-by": "day, id"}
    table(tmp_path, **by)
    changed = lake.catalog(tmp_path).load_table(lake.NAME)
    changed.update_spec().remove_field("day").commit()
    spec = changed.spec()
    # As other writers leave the spec of a table of format version 1.
    void = PartitionField(changed.schema().find_field("day").field_id, 1000, VoidTransform(), "day")
    with changed.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("day")
    partitioner = Partitioner(changed.schema(), PartitionSpec(void, *spec.fields))
    rows = pa.record_batch({"id": [1, 2, 1]})
    found = {key: part.num_rows for key, part in partitioner.parts(rows)}
    assert found == {(None, 1): 2, (None, 2): 1}


def written(own: Any, **properties: str) -> FileWriter:
    return FileWriter(WrittenTable.of(own, properties, ignores_case=False, prefix="test"))


def batch(writer: FileWriter, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(writer.shape.rows(pa.array(rows)))


def test_files_end_at_their_target_size(tmp_path: Path) -> None:
    own = table(tmp_path)
    sizes = {"write.target-file-size-bytes": "20000", "write.parquet.row-group-size-bytes": "10000"}
    writer = written(own, **sizes)
    numbers = itertools.count()
    for _ in range(20):
        writer.write(batch(writer, [{"id": next(numbers), "name": lake.uuid.uuid4().hex} for _ in range(500)]))
    made = writer.close()
    assert len(made) > 3
    assert all(20_000 <= each.file_size_in_bytes < 60_000 for each in made[:-1])
    assert sum(each.record_count for each in made) == 10_000
    add(tmp_path, made)
    assert lake.ids(tmp_path) == list(range(10_000))


def test_properties_of_the_connector_take_precedence_over_those_of_the_table(tmp_path: Path) -> None:
    create = {"iceberg.tables.auto-create-props.write.parquet.compression-codec": "gzip"}
    own = table(tmp_path, **create)
    for properties, codec in (({}, "GZIP"), ({"write.parquet.compression-codec": "zstd"}, "ZSTD")):
        writer = written(own, **properties)
        writer.write(batch(writer, values(3)))
        (made,) = writer.close()
        assert (
            pq.ParquetFile(made.file_path.removeprefix("file://")).metadata.row_group(0).column(0).compression == codec
        )


def test_files_have_field_ids_and_bounds(tmp_path: Path) -> None:
    own = table(tmp_path)
    (made,) = lake.files(own, values(10))
    schema = pq.read_schema(made.file_path.removeprefix("file://"))
    assert [each.metadata[b"PARQUET:field_id"] for each in schema] == [
        str(own.schema().find_field(name).field_id).encode() for name in COLUMNS.names
    ]
    id = own.schema().find_field("id").field_id
    assert made.lower_bounds[id] == (0).to_bytes(8, "little")
    assert made.upper_bounds[id] == (9).to_bytes(8, "little")
    assert made.null_value_counts[own.schema().find_field("name").field_id] == 2


def test_files_of_a_writer_that_fails_are_deleted(tmp_path: Path) -> None:
    own = table(tmp_path)
    writer = written(own, **{"write.parquet.row-group-size-bytes": "10"})
    writer.write(batch(writer, values(10)))
    assert list(tmp_path.rglob("*.parquet"))
    writer.abandon()
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": None}, "Column id of the table is required"),
        ({"name": "no id"}, "Column id of the table is required"),
    ],
)
def test_a_required_column_takes_no_null(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    writer = written(table(tmp_path))
    kind = pa.struct([("id", pa.int64()), ("name", pa.string())])
    with pytest.raises(DataError, match=said):
        writer.shape.rows(pa.array([{"id": 1, "name": "a"}, row], kind))


def test_lists_and_maps_of_structs_get_the_columns_of_the_table(tmp_path: Path) -> None:
    inner = t.StructType([t.StructField("a", t.LongType()), t.StructField("b", t.StringType())])
    columns = t.StructType(
        [
            t.StructField("id", t.LongType()),
            t.StructField("list", t.ArrayType(inner)),
            t.StructField("map", t.MapType(t.StringType(), inner)),
            t.StructField("deep", t.ArrayType(t.ArrayType(t.IntegerType()))),
        ]
    )
    small = pa.struct([("b", pa.string())])
    kind = pa.struct(
        [
            ("map", pa.map_(pa.string(), small)),
            ("list", pa.list_(small)),
            ("deep", pa.list_(pa.list_(pa.int16()))),
            ("id", pa.int8()),
        ]
    )
    rows = [
        {"id": 1, "list": [{"b": "x"}, None], "map": [("k", {"b": "y"})], "deep": [[1], None, []]},
        {"id": 2, "list": None, "map": None, "deep": None},
        {"id": 3, "list": [], "map": [], "deep": [[]]},
    ]
    writer = written(table(tmp_path, columns))
    writer.write(pa.RecordBatch.from_struct_array(writer.shape.rows(pa.array(rows, kind))))
    (made,) = writer.close()
    # Not by pyiceberg's scan: 0.12 reads a list of structs that is null as an empty one.
    found = pq.read_table(made.file_path.removeprefix("file://")).to_pylist()
    assert found[0]["list"] == [{"a": None, "b": "x"}, None]
    assert found[0]["map"] == [("k", {"a": None, "b": "y"})]
    assert found[0]["deep"] == [[1], None, []]
    assert [found[1][name] for name in ("list", "map", "deep")] == [None, None, None]
    assert [found[2][name] for name in ("list", "map", "deep")] == [[], [], [[]]]


def test_nested_fields_whose_names_parquet_has_not_keep_their_values(tmp_path: Path) -> None:
    one = t.StructType([t.StructField("user-agent", t.StringType()), t.StructField("ok", t.StringType())])
    columns = t.StructType(
        [
            t.StructField("top-level", t.LongType()),
            t.StructField("struct", one),
            t.StructField("list", t.ArrayType(one)),
            t.StructField("map", t.MapType(t.StringType(), one)),
        ]
    )
    inner = {"user-agent": "curl", "ok": "y"}
    row = {"top-level": 1, "struct": inner, "list": [inner, None], "map": [("k", inner)]}
    kind = pa.struct([("user-agent", pa.string()), ("ok", pa.string())])
    given = pa.struct(
        [("top-level", pa.int64()), ("struct", kind), ("list", pa.list_(kind)), ("map", pa.map_(pa.string(), kind))]
    )
    add(tmp_path, lake.files(table(tmp_path, columns), pa.array([row], given)))
    assert lake.rows(tmp_path) == [row]


@pytest.mark.parametrize("value", [86_400_000, -1])
def test_a_time_that_no_day_has_is_refused(tmp_path: Path, value: int) -> None:
    writer = times(tmp_path)
    kind = pa.struct([("at", pa.int32())])
    with pytest.raises(DataError, match=f"Column at of the table takes times of a day.*: {value}"):
        writer.shape.rows(pa.array([{"at": 0}, {"at": value}], kind))
    writer.write(
        pa.RecordBatch.from_struct_array(writer.shape.rows(pa.array([{"at": 86_399_999}, {"at": None}], kind)))
    )
    add(tmp_path, writer.close())
    assert [row["at"] for row in lake.rows(tmp_path)] == [dt.time(23, 59, 59, 999_000), None]


def times(place: Path) -> FileWriter:
    catalog = lake.catalog(place)
    catalog.create_namespace("shop")
    return written(catalog.create_table(lake.NAME, Schema(i.NestedField(1, "at", i.TimeType()))))


def test_parts_of_lists_and_maps_with_nulls_are_made_to_fit(tmp_path: Path) -> None:
    columns = lake.fields(id=t.LongType(), list=t.ArrayType(t.LongType()), map=t.MapType(t.StringType(), t.LongType()))
    kind = pa.struct([("id", pa.int64()), ("list", pa.list_(pa.int64())), ("map", pa.map_(pa.string(), pa.int64()))])
    rows = [
        {"id": 1, "list": [1], "map": [("a", 1)]},
        {"id": 2, "list": None, "map": None},
        {"id": 3, "list": [3, None], "map": [("c", None)]},
    ]
    assert written(table(tmp_path, columns)).shape.rows(pa.array(rows, kind).slice(1)).to_pylist() == rows[1:]


def test_moments_are_times_without_a_zone_in_a_column_of_such(tmp_path: Path) -> None:
    table(tmp_path, lake.fields(at=t.TimestampNTZType()))
    writer = written(table(tmp_path, lake.fields(at=t.TimestampType())))
    noon = dt.datetime(2026, 11, 30, 12, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    given = pa.array([{"at": noon}], pa.struct([("at", pa.timestamp("us", "America/New_York"))]))
    writer.write(pa.RecordBatch.from_struct_array(writer.shape.rows(given)))
    add(tmp_path, writer.close())
    assert lake.rows(tmp_path) == [{"at": dt.datetime(2026, 11, 30, 11)}]  # noqa: DTZ001 - a time without a zone

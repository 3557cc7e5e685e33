"""Offsets and values of the rows of a JDBC source."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock.api import schema as s
from penstock.api.errors import DataError
from penstock.connectors.jdbc.source.offsets import TablePosition
from penstock.connectors.jdbc.source.types import SourceField
from penstock.spark.query.jdbc.source.records import BatchOffsets, ReadShape, RowPositions, offsets_of

ID = (SourceField("id", 1, "INT64", s.INT64),)


def times(*moments: int) -> RowPositions:
    return RowPositions([None] * len(moments), moments)


def offsets(*moments: int | None) -> list[dict[str, int]]:
    return [TablePosition(time=moment).offset() for moment in moments]


START = TablePosition(time=1)


@pytest.mark.parametrize(
    ("positions", "group", "expected"),
    [
        (times(), None, BatchOffsets([], START, 0, None)),
        (times(2), None, BatchOffsets(offsets(1), START, 0, TablePosition(time=2))),
        (times(2, 2, 3, 3), None, BatchOffsets(offsets(1, 2, 2, 2), TablePosition(time=2), 2, TablePosition(time=3))),
        (times(2, 2), TablePosition(time=2), BatchOffsets(offsets(1, 1), START, 0, TablePosition(time=2))),
        (
            times(5, 5),
            TablePosition(time=2),
            BatchOffsets(offsets(2, 2), TablePosition(time=2), 0, TablePosition(time=5)),
        ),
        (
            times(2, 3, 4),
            TablePosition(time=2),
            BatchOffsets(offsets(2, 3, 3), TablePosition(time=3), 2, TablePosition(time=4)),
        ),
    ],
)
def test_a_time_is_behind_only_with_the_last_row_of_it(
    positions: RowPositions, group: TablePosition | None, expected: BatchOffsets
) -> None:
    assert offsets_of(positions, ReadShape.of(ID, "t", False, True), START, group) == expected


def test_numbers_are_offsets_of_their_own() -> None:
    positions = [TablePosition(1, 7), TablePosition(2, 7)]
    found = offsets_of(RowPositions([1, 2], [7, 7]), ReadShape.of(ID, "t", True, True), TablePosition(), None)
    assert list(found.rows) == [each.offset() for each in positions]
    assert (found.behind, found.complete, found.group) == (TablePosition(2, 7), 2, None)


def test_a_whole_table_has_none() -> None:
    found = offsets_of(RowPositions([None] * 2, [None] * 2), ReadShape.of(ID, "t", False, False), TablePosition(), None)
    assert found == BatchOffsets([None, None], TablePosition(), 2, None)


def test_values_and_places_of_rows() -> None:
    fields = [
        SourceField("price", 1, "DECIMAL", s.decimal(2, optional=True)),
        SourceField("day", 2, "DATE", s.DATE.with_(optional=True)),
        SourceField("clock", 3, "TIME", s.TIME.with_(optional=True)),
        SourceField("at", 4, "MICROS", s.TIMESTAMP.with_(optional=True)),
        SourceField("micros", 5, "MICROS", s.INT64),
    ]
    shape = ReadShape.of(fields, "t", True, True)
    columns = {
        "c0": pa.array(["1.50", None]),
        "c1": pa.array([20_000, None], pa.int32()),
        "c2": pa.array([1, None], pa.int32()),
        "c3": pa.array([1_500_001, None], pa.int64()),
        "c4": pa.array([5, 6], pa.int64()),
        "number": pa.array([7, 8], pa.int64()),
        "seconds": pa.array([-1, 2], pa.int64()),
        "nanos": pa.array([999_999_999, 3], pa.int32()),
    }
    rows = pa.record_batch(columns)
    first, second = shape.values(rows).rows()
    assert first == {
        "price": Decimal("1.50"),
        "day": dt.date(2024, 10, 4),
        "clock": dt.time(0, 0, 0, 1000),
        "at": dt.datetime(1970, 1, 1, 0, 0, 1, 500_001, dt.UTC),
        "micros": 5,
    }
    assert second == {**dict.fromkeys(first), "micros": 6}
    assert list(shape.positions(rows)) == [TablePosition(7, -1), TablePosition(8, 2_000_000_003)]


@pytest.mark.parametrize(
    ("schema", "value"), [(s.DATE, 4_000_000), (s.TIMESTAMP, 300_000_000_000_000_000)], ids=["date", "timestamp"]
)
def test_dates_beyond_pythons_range_are_refused_with_the_column_name(schema: s.Schema, value: int) -> None:
    shape = ReadShape.of([SourceField("until", 1, "any", schema)], "t", False, False)
    with pytest.raises(DataError, match="Column until has a value beyond the years 1 to 9999"):
        shape.values(pa.record_batch({"c0": pa.array([value], pa.int64())}))

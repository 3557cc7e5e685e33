"""Columns of dlt as Connect's schemas."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest

from penstock.api import schema as s
from penstock.api.errors import DataError
from penstock.connectors.dlt.columns import column_of, stream_of


@pytest.mark.parametrize(
    ("column", "written", "schema", "value"),
    [
        ({"data_type": "text"}, "é", s.OPTIONAL_STRING, "é"),
        ({"data_type": "bigint", "nullable": False}, 7, s.INT64, 7),
        ({"data_type": "double"}, 7, s.OPTIONAL_FLOAT64, 7.0),
        ({"data_type": "bool"}, True, s.OPTIONAL_BOOLEAN, True),
        ({"data_type": "json"}, {"a": [1]}, s.OPTIONAL_STRING, '{"a":[1]}'),
        ({"data_type": "binary", "nullable": False}, "AP8=", s.BYTES, b"\x00\xff"),
        ({"data_type": "decimal", "scale": 2, "nullable": False}, "1.5", s.decimal(2), Decimal("1.50")),
        ({"data_type": "decimal", "nullable": False}, "-12345678901234567890.5", s.decimal(9), None),
        ({"data_type": "wei", "nullable": False}, str(1 << 200), s.decimal(0), Decimal(1 << 200)),
        ({"data_type": "date", "nullable": False}, "2026-01-02", s.DATE, dt.date(2026, 1, 2)),
        *(
            ({"data_type": "date", "nullable": False}, day, s.DATE, dt.date.fromisoformat(day))
            for day in ("0001-01-01", "1582-10-04", "1582-10-10", "1582-10-15", "9999-12-31")
        ),
        *(
            ({"data_type": "timestamp", "nullable": False}, at, s.TIMESTAMP, dt.datetime.fromisoformat(at))
            for at in ("0001-01-01T00:00:00Z", "1582-10-10T00:00:00Z", "9999-12-31T23:59:59.999Z")
        ),
        ({"data_type": "time", "nullable": False}, "01:02:03.004000", s.TIME, dt.time(1, 2, 3, 4000)),
        ({"data_type": "time", "nullable": False}, "01:02:03.123456000", s.TIME, dt.time(1, 2, 3, 123456)),
        ({"data_type": "double"}, 2**60, s.OPTIONAL_FLOAT64, 2.0**60),
        (
            {"data_type": "timestamp", "nullable": False},
            "2026-01-02T03:04:05+01:00",
            s.TIMESTAMP,
            dt.datetime(2026, 1, 2, 2, 4, 5, tzinfo=dt.UTC),
        ),
        (
            {"data_type": "timestamp", "nullable": False},
            "2026-01-02T03:04:05",
            s.TIMESTAMP,
            dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        ),
    ],
)
def test_dlt_types_have_schemas(column: dict[str, Any], written: Any, schema: s.Schema, value: Any) -> None:
    found = column_of("c", column)
    assert found.schema == schema
    assert found.convert(written) == (Decimal(written) if value is None else value)


def test_floats_that_json_does_not_have_are_read_from_texts() -> None:
    convert = column_of("c", {"data_type": "double"}).convert
    assert [convert(text) for text in ("inf", "-inf")] == [float("inf"), float("-inf")]
    assert math.isnan(convert("nan"))


@pytest.mark.parametrize(
    ("column", "written", "sentence"),
    [
        ({"data_type": "double"}, "1.5", "a value of type str is no number"),
        ({"data_type": "bigint"}, 1 << 63, "no integer of 64 bits"),
        ({"data_type": "date"}, "soon", "a value of type str is no date"),
        ({"data_type": "timestamp"}, "0001-01-01T00:00:00+01:00", "is no timestamp"),
        ({"data_type": "time"}, "01:02:03+02:00", "is no time without a zone"),
        ({"data_type": "timestamp"}, "2026-01-02T03:04:05.1234567Z", "is no timestamp, to the microsecond"),
        ({"data_type": "time"}, "01:02:03.000000001", "is no time without a zone, to the microsecond"),
        ({"data_type": "double"}, 2**53 + 1, "a value of type int has more digits than a 64-bit float"),
        ({"data_type": "binary"}, "é", "is no Base64"),
        ({"data_type": "decimal", "scale": 2}, "0.125", "more than 2 digits after the point: give the column another"),
        ({"data_type": "decimal", "scale": 2}, "NaN", "no finite number"),
        ({"data_type": "decimal"}, "x", "a value of type str is no decimal"),
    ],
)
def test_values_of_other_types_are_refused(column: dict[str, Any], written: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        column_of("c", column).convert(written)


def test_a_table_with_a_key() -> None:
    columns = {"id": {"data_type": "bigint", "nullable": False}, "note": {"data_type": "text"}}
    found = stream_of({"stream": "orders", "columns": columns, "key_properties": ["id"]})
    assert found.value.schema == s.struct(("id", s.INT64), ("note", s.OPTIONAL_STRING), name="orders")
    assert found.key is not None
    assert found.key.schema == s.struct(("id", s.INT64), name="orders.key")
    assert found.value.convert({"id": 1, "more": 2}) == {"id": 1, "note": None}
    with pytest.raises(DataError, match="id is null"):
        found.value.convert({"note": "a"})
    with pytest.raises(DataError, match="Column id has the type cube"):
        stream_of({"stream": "orders", "columns": {"id": {"data_type": "cube"}}, "key_properties": []})

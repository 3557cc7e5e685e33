"""Rows of Spark as Connect's records, without a Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.api import schema as s
from penstock.api.errors import ConfigError, DataError
from penstock.pipeline.converters import JsonConverter
from penstock.spark.query.source.schemas import Records

COLUMNS = (
    t.StructType()
    .add("id", t.LongType(), nullable=False)
    .add("name", t.StringType())
    .add("price", t.DecimalType(10, 2))
    .add("day", t.DateType())
    .add("at", t.TimestampType())
    .add("local", t.TimestampNTZType())
    .add("tags", t.MapType(t.StringType(), t.IntegerType()))
    .add("inner", t.StructType().add("list", t.ArrayType(t.BinaryType())))
)
NOON = dt.datetime(2026, 5, 1, 12, 0, 0, 1500, tzinfo=dt.UTC)
ROW = {
    "id": 1,
    "name": "a",
    "price": Decimal("1.50"),
    "day": dt.date(2026, 5, 1),
    "at": NOON,
    "local": NOON.replace(tzinfo=None),
    "tags": {"x": 1},
    "inner": {"list": [b"y", None]},
}


def batch() -> pa.RecordBatch:
    rows = [{**ROW, "tags": list(ROW["tags"].items())}, {"id": 2}]  # type: ignore[attr-defined]
    return pa.RecordBatch.from_pylist(rows, to_arrow_schema(COLUMNS, timezone="UTC"))


def test_rows_are_structs_that_converters_understand() -> None:
    records = Records(COLUMNS, ())
    keys, values = records.of(batch())
    assert keys == [None, None]
    assert values == [ROW, {**dict.fromkeys(ROW), "id": 2}]
    schema = records.value_schema
    assert [(field.name, field.schema.type, field.schema.optional) for field in schema][:2] == [
        ("id", s.Type.INT64, False),
        ("name", s.Type.STRING, True),
    ]
    assert schema.field("at").schema == s.TIMESTAMP.with_(optional=True)  # type: ignore[union-attr]
    json = JsonConverter()
    json.configure({"schemas.enable": "false"}, is_key=False)
    assert b'"at":1777636800001,"local":1777636800001,"tags":{"x":1}' in (
        json.from_connect("t", (), schema, values[0]) or b""
    )


def test_keys_are_a_value_or_a_struct() -> None:
    one = Records(COLUMNS, ("name",))
    assert (one.of(batch())[0], one.key_schema) == (["a", None], s.OPTIONAL_STRING)
    two = Records(COLUMNS, ("name", "id"))
    assert two.of(batch())[0] == [{"name": "a", "id": 1}, {"name": None, "id": 2}]
    assert two.key_schema == s.struct(("name", s.OPTIONAL_STRING), ("id", s.INT64))


def test_columns_that_can_not_be_sent_are_named() -> None:
    with pytest.raises(DataError, match=r"nothing like interval day to second, the type of value\.x\.y: CAST it"):
        Records(t.StructType().add("x", t.StructType().add("y", t.DayTimeIntervalType())), ())
    with pytest.raises(DataError, match="several columns of one name: x, x"):
        Records(t.StructType().add("x", t.LongType()).add("x", t.LongType()), ())
    with pytest.raises(ConfigError, match="there is no column z, but x"):
        Records(t.StructType().add("x", t.LongType()), ("z",))

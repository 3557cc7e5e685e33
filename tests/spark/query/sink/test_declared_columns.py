"""Types of the columns that the setting ``schema`` declares."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from penstock.api.errors import ConfigError
from penstock.spark.query.sink.rows.columns import check_declared, fitting

POSSIBLE = (
    "TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ, "
    "and STRUCT, ARRAY and MAP of them"
)


def column(kind: t.DataType) -> t.StructType:
    return t.StructType([t.StructField("id", t.LongType()), t.StructField("x", kind)])


@pytest.mark.parametrize(
    "kind",
    [
        *(t.ByteType(), t.ShortType(), t.IntegerType(), t.LongType(), t.FloatType(), t.DoubleType()),
        *(t.DecimalType(38, 2), t.BooleanType(), t.StringType(), t.BinaryType()),
        *(t.DateType(), t.TimestampType(), t.TimestampNTZType()),
        t.MapType(t.StringType(), t.ArrayType(t.StructType([t.StructField("y", t.DateType())]))),
    ],
    ids=str,
)
def test_columns_of_types_that_values_fit_are_accepted(kind: t.DataType) -> None:
    check_declared(column(kind), "…")
    assert fitting(column(kind))({}) == {"id": None, "x": None}


@pytest.mark.parametrize(
    ("kind", "place", "name"),
    [
        (t.DayTimeIntervalType(), "x", "interval day to second"),
        (t.YearMonthIntervalType(), "x", "interval year to month"),
        (t.NullType(), "x", "void"),
        (t.ArrayType(t.NullType()), "x[]", "void"),
        (t.MapType(t.StringType(), t.DayTimeIntervalType()), "x{}", "interval day to second"),
        (t.MapType(t.DayTimeIntervalType(), t.StringType()), "x (key)", "interval day to second"),
        (t.StructType([t.StructField("y", t.ArrayType(t.NullType()))]), "x.y[]", "void"),
    ],
    ids=str,
)
def test_columns_of_types_that_no_value_fits_are_refused(kind: t.DataType, place: str, name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_declared(column(kind), "id BIGINT, x …")
    assert "schema" in str(refused.value)
    assert f"column {place} has the type {name}, which records have no values for: declare" in str(refused.value)
    assert POSSIBLE in str(refused.value)


@pytest.mark.parametrize("kind", [t.CharType(3), t.VarcharType(3)], ids=str)
def test_texts_with_a_length_are_refused(kind: t.DataType) -> None:
    with pytest.raises(
        ConfigError, match=r"column x has the type (var)?char\(3\).*which only tables have: declare STRING"
    ):
        check_declared(column(kind), "id BIGINT, x …")

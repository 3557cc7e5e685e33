"""Columns of databases as fields of Connect."""

from __future__ import annotations

import pytest

from penstock.api import schema as s
from penstock.api.errors import DataError
from penstock.connectors.jdbc.dialects import MySql, Oracle, PostgreSql, Sqlite, SqlServer
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.source.settings import JdbcSourceSettings
from penstock.connectors.jdbc.source.types import SourceColumn, fields_of, left_out


def found(type: int, mapping: str = "none", granularity: str = "connect_logical", **more: object) -> tuple[str, str]:
    """Return the way in which the column is read, and the type of its field."""
    column = SourceColumn("c", type, **more)  # type: ignore[arg-type]
    dialect = PostgreSql() if more.get("type_name") else MySql()
    (field,) = fields_of([column], dialect, mapping, granularity)
    assert field.schema.optional
    return field.reading, (field.schema.name or field.schema.type.name).rpartition(".")[2]


@pytest.mark.parametrize(
    ("type", "signed", "unsigned"), [(-6, "INT8", "INT16"), (5, "INT16", "INT32"), (4, "INT32", "INT64")]
)
def test_numbers_without_a_sign_have_the_next_type(type: int, signed: str, unsigned: str) -> None:
    assert found(type)[1] == signed
    assert found(type, signed=False)[1] == unsigned
    assert found(-5, signed=False)[1] == "INT64"


def test_times_of_sql_server_with_a_zone() -> None:
    column = SourceColumn("at", -155, "datetimeoffset")
    (field,) = fields_of([column], SqlServer(), "none", "connect_logical")
    assert field.schema == s.TIMESTAMP.with_(optional=True)
    assert left_out([column], fields_of([column, SourceColumn("i", 4)], MySql(), "none", "connect_logical")) != []


def test_numbers_of_sqlite_have_64_bits() -> None:
    fields = fields_of([SourceColumn("i", 4), SourceColumn("r", 7)], Sqlite(), "none", "connect_logical")
    assert [field.schema.type.name for field in fields] == ["INT64", "FLOAT64"]


@pytest.mark.parametrize(
    ("precision", "scale", "precision_only", "best_fit", "eager"),
    [
        (2, 0, "INT8", "INT8", "INT8"),
        (4, 0, "INT16", "INT16", "INT16"),
        (9, 0, "INT32", "INT32", "INT32"),
        (18, 0, "INT64", "INT64", "INT64"),
        (19, 0, "Decimal", "Decimal", "Decimal"),
        (5, 2, "Decimal", "FLOAT64", "FLOAT64"),
        (30, 10, "Decimal", "Decimal", "FLOAT64"),
        (5, -2, "Decimal", "INT32", "INT32"),
        (4, -2, "Decimal", "INT32", "INT32"),
        (8, -2, "Decimal", "INT64", "INT64"),
        (17, -2, "Decimal", "Decimal", "Decimal"),
        (0, 0, "Decimal", "Decimal", "Decimal"),
        (0, -127, "Decimal", "Decimal", "Decimal"),
    ],
)
def test_numeric_mapping_chooses_the_schema_of_numbers(
    precision: int, scale: int, precision_only: str, best_fit: str, eager: str
) -> None:
    def mapped(mapping: str, type: int = 2) -> str:
        return found(type, mapping, precision=precision, scale=scale)[1]

    assert mapped("none") == "Decimal"
    assert mapped("precision_only") == precision_only
    assert mapped("best_fit") == best_fit
    assert mapped("best_fit_eager_double") == eager
    assert mapped("best_fit", 3) == "Decimal"


@pytest.mark.parametrize(
    ("config", "type"),
    [
        ({}, "Decimal"),
        ({"numeric.precision.mapping": "false"}, "Decimal"),
        ({"numeric.precision.mapping": "true"}, "INT32"),
        ({"numeric.precision.mapping": "true", "numeric.mapping": "none"}, "Decimal"),
        ({"numeric.precision.mapping": "false", "numeric.mapping": "best_fit"}, "INT32"),
    ],
)
def test_the_older_setting_counts_if_numeric_mapping_is_not_given(config: dict[str, str], type: str) -> None:
    given = {"connection.url": "jdbc:postgresql://db/app", "mode": "bulk", "topic.prefix": "p-", **config}
    mapping = JdbcSourceSettings.of(given).numbers
    assert found(2, mapping, precision=9)[1] == type


@pytest.mark.parametrize(("kind", "scale"), [(PostgreSql, 127), (Sqlite, 0), (MySql, 0), (Oracle, 0)])
def test_a_type_that_says_nothing_of_digits_has_the_scale_of_its_dialect(kind: type[Dialect], scale: int) -> None:
    columns = [SourceColumn("n", 2, "numeric"), SourceColumn("m", 3, "decimal"), SourceColumn("o", 2, "numeric", 5)]
    fields = fields_of(columns, kind(), "best_fit_eager_double" if scale else "none", "connect_logical")
    assert [field.scale for field in fields] == [scale, scale, 0]
    (unlimited,) = fields_of([SourceColumn("n", 2, "NUMBER", 0, -127)], kind(), "none", "connect_logical")
    assert unlimited.scale == 127


@pytest.mark.parametrize(
    ("granularity", "reading", "type"),
    [
        ("connect_logical", "MICROS", "Timestamp"),
        ("micros_long", "MICROS", "INT64"),
        ("micros_string", "MICROS_TEXT", "STRING"),
        ("micros_iso_datetime_string", "MICROS_ISO", "STRING"),
        ("nanos_long", "NANOS", "INT64"),
        ("nanos_string", "NANOS_TEXT", "STRING"),
        ("nanos_iso_datetime_string", "NANOS_ISO", "STRING"),
    ],
)
def test_timestamp_granularity_chooses_the_schema_of_times(granularity: str, reading: str, type: str) -> None:
    assert found(93, granularity=granularity) == (reading, type)


def test_postgresql_types_have_schemas() -> None:
    assert found(1111, type_name="jsonb") == found(1111, type_name="uuid") == ("STRING", "STRING")
    assert found(-7, type_name="bool", precision=1) == ("BOOLEAN", "BOOLEAN")
    assert found(-7, type_name="bit", precision=8) == ("BITS", "INT8")
    assert found(-7, type_name="bit", precision=9) == ("BYTES", "BYTES")
    assert found(-7) == ("INT8", "INT8")


def test_long_bits_of_mysql_are_read_with_a_check_of_their_range() -> None:
    assert found(-7, precision=7) == ("INT8", "INT8")
    assert found(-7, precision=8) == found(-7, precision=64) == ("BITS", "INT8")


def test_arrays_of_postgresql_if_they_are_asked_for() -> None:
    columns = [SourceColumn("tags", 2003, "_uuid"), SourceColumn("n", 2003, "_int2"), SourceColumn("p", 2003, "_point")]
    first, second = fields_of(columns, PostgreSql(), "none", "connect_logical", arrays=True)
    assert (first.reading, second.reading) == ("STRINGS", "INT16S")
    assert first.schema == s.array(s.OPTIONAL_STRING, optional=True)
    with pytest.raises(DataError, match="nothing for any of the columns"):
        fields_of(columns, MySql(), "none", "connect_logical", arrays=True)


def test_columns_that_connect_has_nothing_for_are_left_out() -> None:
    columns = [SourceColumn("tags", 2003, "_text"), SourceColumn("id", 4, "int4", nullable=False)]
    fields = fields_of(columns, PostgreSql(), "none", "connect_logical")
    assert [(field.name, field.column, field.schema) for field in fields] == [("id", 2, s.INT32)]
    assert left_out(columns, fields) == ["tags (_text)"]
    with pytest.raises(DataError, match=r"nothing for any of the columns tags \(_text\)"):
        fields_of(columns[:1], PostgreSql(), "none", "connect_logical")
    with pytest.raises(DataError, match="Several columns are named id: give them other names by AS"):
        fields_of([columns[1]] * 2, PostgreSql(), "none", "connect_logical")


def test_column_descriptions_of_the_driver_are_parsed() -> None:
    said = ["id", "4", "serial", "10", "0", "", "", "auto", "n", "2", "numeric", "5", "2", "nullable", "unsigned", ""]
    assert SourceColumn.several(said) == [
        SourceColumn("id", 4, "serial", 10, 0, False, True, True),
        SourceColumn("n", 2, "numeric", 5, 2, True, False, False),
    ]

"""The types of Spark's tables and files, of Singer, of dlt, and of JSON, made from the tables that the code uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.api import schema as s
from penstock.connectors.dlt import columns as dlt
from penstock.connectors.singer import json_schemas, schemas
from penstock.spark.query.sink.rows import columns
from penstock.spark.query.source import schemas as source


def sections() -> list[str]:
    return [*_spark(), *_singer(), *_dlt(), *_json()]


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    named = list(headings)
    lines = [named, ["---"] * len(named), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _short(schema: s.Schema) -> str:
    return f"`{(schema.name or schema.type.name).rpartition('.')[2]}`"


def _spark() -> list[str]:
    written = [
        *((f"`{kind.name}`", f"`{type.simpleString()}`", "all") for kind, type in columns.PRIMITIVES.items()),
        *(
            (f"`{name.rpartition('.')[2]}`", f"`{type.simpleString()}`", "all")
            for name, type in columns.LOGICAL.items()
        ),
        ("`Decimal`", "`decimal(38,scale)`", "38 digits, of which at most 38 after the point; others are refused"),
        ("`STRUCT`, `ARRAY`, `MAP`", "`struct`, `array`, `map`", "a schema that contains itself is refused"),
    ]
    declared = [
        ("TINYINT, SMALLINT, INT, BIGINT", "whole numbers; a time is its milliseconds since midnight"),
        (
            "DOUBLE",
            "numbers; an integer that a 64-bit float does not have exactly is refused, and a decimal with other digits "
            "than its nearest 64-bit float is printed with: 0.1 is accepted, 0.100000000000000001 is not",
        ),
        (
            "FLOAT",
            "numbers as for DOUBLE, then rounded to the nearest 32-bit float; an integer that this is not exactly is "
            "refused, and a number that it makes 0 or infinity",
        ),
        ("DECIMAL", "numbers, and texts of numbers"),
        ("BOOLEAN", "booleans"),
        (
            "STRING",
            "texts, bytes in UTF-8; decimals, dates and times as texts; other values as JSON, which has no infinity "
            "and no NaN: these are refused",
        ),
        ("BINARY", "bytes, and texts in Base64"),
        ("DATE", "dates; numbers of days since 1970; timestamps at midnight in UTC"),
        (
            "TIMESTAMP",
            "timestamps, to the microsecond; without a zone they are in UTC; numbers of milliseconds since 1970",
        ),
        ("TIMESTAMP_NTZ", "those of TIMESTAMP, as the time that it is in UTC; the zone is left out"),
        ("STRUCT, ARRAY, MAP", "maps and structs, lists, maps; fields that a STRUCT does not have are left out"),
    ]
    bare = [(f"`{kind.__name__}`", f"`{type.simpleString()}`") for kind, type in columns.SCHEMALESS.items()]
    read = [
        *((f"`{kind.typeName()}`", _short(schema), _lost(schema)) for kind, schema in source.PRIMITIVES.items()),
        ("`decimal`", "`Decimal`", ""),
        ("`struct`, `array`, `map`", "`STRUCT`, `ARRAY`, `MAP`", ""),
        ("all others, such as intervals", "refused, with the name of the column", ""),
    ]
    return [
        "## Tables and files of Spark",
        "Columns of SparkSink and SparkSource, for Parquet, ORC, Delta, CSV, JSON and Spark's other formats. See "
        "[query tasks](../query-tasks.md).",
        "### SparkSink",
        _table(("field", "column", "values"), written),
        "The columns `_key` and `_headers` are texts, in which bytes that are no UTF-8 are replaced. A value without a "
        "schema that is a map or a list is JSON text in the column `value`; infinity and NaN in it are refused. Others "
        "are:",
        _table(("value in Python", "column"), bare),
        "With the setting `schema`, columns have the types that it names. A value is made to fit where that leaves it "
        "the same: text in ISO 8601 for dates and times, Base64 for bytes, whole numbers for numbers. One that would "
        "lose digits, bytes or its time of day, or is beyond the range, is refused with the name of its column. A type "
        "that is not in the next table, such as an interval, VOID, CHAR and VARCHAR, is refused when the task starts.",
        _table(("column", "values"), declared),
        _table(
            ("format", "what it lacks"),
            [
                ("parquet, delta", "nothing"),
                (
                    "orc",
                    "days before 15 October 1582, instants before the 16th and those of the last second before 1970: "
                    "they are refused",
                ),
                ("json", "bytes, which are Base64 in it; infinity and NaN are texts"),
                (
                    "csv",
                    "bytes and nested types, which Spark refuses; an empty text and null differ by quotes; a quote "
                    'in a text is written with a backslash, but with `option.escape="` as RFC 4180 has it',
                ),
            ],
        ),
        "### SparkSource",
        _table(("column", "field", "left out"), read),
    ]


def _lost(schema: s.Schema) -> str:
    return "digits after the millisecond, where the converter writes it" if schema.name == s.TIMESTAMP_NAME else ""


def _singer() -> list[str]:
    read = [(f"`{name}`", _short(each.schema)) for name, each in schemas.PRIMITIVES.items()]
    read += [
        ("`object` with properties", "`STRUCT`"),
        ("`array` with items", "`ARRAY`"),
        ("all others", "`STRING`: their JSON text"),
    ]
    written = [(f"`{kind.name}`", _properties(found)) for kind, found in json_schemas.PRIMITIVES.items()]
    written += [(f"`{name.rpartition('.')[2]}`", _properties(found)) for name, found in json_schemas.LOGICAL.items()]
    written += [("`STRUCT`, `MAP`", "`type: object`"), ("`ARRAY`", "`type: array`")]
    return [
        "## Singer",
        "Integers are those of 64 bits; others are refused. A `number` is read as the nearest 64-bit float if that has "
        "all its digits: 0.1 and 0.10000000000000001 are accepted, 0.100000000000000001 and 9007199254740993 are "
        "refused. JSON text keeps all digits. See [Singer](../how-to/singer.md).",
        "### Taps",
        _table(("JSON Schema", "field"), read),
        "### Targets",
        _table(("field", "JSON Schema"), written),
        "NaN and infinity, which JSON does not have, are errors of their record.",
    ]


def _properties(found: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}: {value}`" for name, value in found.items())


def _dlt() -> list[str]:
    rows = [(f"`{name}`", _short(each.schema)) for name, each in dlt.TYPES.items()]
    return [
        "## dlt",
        "More digits after the point than the column's `scale`, integers beyond 64 bits, integers that a column of "
        "`double` does not have exactly, and times with digits after the microsecond are refused. Where a value is of "
        "another type than its column, dlt converts it first, by its own rules. See [dlt](../how-to/dlt.md).",
        _table(("column", "field"), [*rows, ("`decimal`", f"`Decimal`, of {dlt.SCALE} digits if it says nothing")]),
    ]


def _json() -> list[str]:
    kinds = [kind.name for kind in s.Type if kind.name not in ("STRUCT", "ARRAY", "MAP")]
    return [
        "## JSON",
        "`JsonConverter` has Java's forms: with `schemas.enable=true` each type of Connect ("
        f"{', '.join(f'`{kind}`' for kind in kinds)}, and `Decimal`, `Date`, `Time`, `Timestamp`) by its name in the "
        "schema, bytes and decimals in Base64 (`decimal.format=NUMERIC`: numbers), dates and times as numbers of days "
        "and milliseconds, without digits after the millisecond. A "
        "number beyond the range of its type is an error of its record, and with `penstock.coercion=java` is changed "
        "as Java changes it. Without a schema whole numbers are `INT64`, others `FLOAT64`.",
        "A number for a `FLOAT64` or `FLOAT32`, or one with a fraction without a schema, is the nearest that its type "
        "has, as in Java: of 0.12345678901234567890 a `FLOAT64` keeps 0.12345678901234568, 9007199254740993 becomes "
        "9007199254740992, and 1e-400 becomes 0. A `Decimal` keeps all digits, with `decimal.format=NUMERIC` too, and "
        "an integer type takes 9007199254740993.0 exactly and refuses 1.5.",
    ]

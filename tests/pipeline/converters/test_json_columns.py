"""JSON that is written column by column is the same as JSON that is written record by record."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)
from pipeline.converters.json_values import converter

MOMENTS = struct(
    ("day", DATE.with_(optional=True)),
    ("at", TIMESTAMP.with_(default=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))),
    ("clock", TIME.with_(optional=True)),
)


@given(
    st.lists(
        st.tuples(
            st.none() | st.dates(),
            st.none() | st.datetimes(timezones=st.just(dt.UTC)) | st.datetimes(),
            st.none() | st.times(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_columns_of_dates_and_times_are_written_as_records_are(rows):
    table = Table(("day", "at", "clock"), list(zip(*rows, strict=True)))
    written, alone = both_ways(MOMENTS, table, schemas_enable="false")
    assert written == alone


def test_a_date_that_is_none_fails_as_it_does_in_a_record():
    with pytest.raises(DataError, match="expected Date but was class"):
        converter(schemas_enable="false").from_connect_batch(
            ["t"], [()], [struct(("day", DATE))], Table(("day",), (["2026"],))
        )


@pytest.mark.parametrize("column", [[{"day": "x"}], Table(["day"], [["x"]])])
def test_a_struct_named_like_a_date_is_refused_in_columns_too(column):
    schema = struct(("day", STRING), name=DATE.name)
    with pytest.raises(DataError, match=r"but was class org\.apache\.kafka\.connect\.data\.Struct"):
        converter().from_connect_batch(["t"], [()], [schema], column)


TEXTS = st.text(max_size=3) | st.lists(st.sampled_from(['"', ",", "\\", "\n", "\r", " ", "\x1f", "😀", "a"])).map(
    "".join
)
TEXTS_AND_NUMBERS = struct(("text", STRING), ("maybe", STRING.with_(optional=True)), ("number", INT32))


@given(st.lists(st.tuples(TEXTS, st.none() | TEXTS, st.integers(0, 9)), min_size=1, max_size=4))
def test_columns_of_texts_are_written_as_records_are(rows):
    table = Table(("text", "maybe", "number"), list(zip(*rows, strict=True)))
    written, alone = both_ways(TEXTS_AND_NUMBERS, table)
    assert written == alone


POINT = struct(("x", FLOAT64), ("text", STRING.with_(optional=True)))
ANY_COLUMNS: dict[str, tuple[Schema, st.SearchStrategy[Any]]] = {
    "double": (FLOAT64, st.floats() | st.integers(0, 3).map(float)),
    "float": (FLOAT32.with_(optional=True), st.none() | st.floats(width=32)),
    "flag": (BOOLEAN, st.booleans()),
    "long": (INT64, st.integers(-(2**63), 2**63 - 1)),
    "decimal": (decimal(2), st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-2))),
    "bytes": (BYTES.with_(optional=True), st.none() | st.binary(max_size=3)),
    "text": (STRING.with_(default="\x1f"), st.none() | TEXTS),
    "day": (DATE.with_(optional=True, default=dt.date(2026, 1, 1)), st.none() | st.dates()),
    "list": (array(STRING), st.lists(TEXTS, max_size=3)),
    "map": (map_of(STRING, FLOAT64), st.dictionaries(TEXTS, st.floats(), max_size=2)),
    "pairs": (map_of(INT32, STRING), st.dictionaries(st.integers(0, 9), TEXTS, max_size=2)),
    "point": (
        POINT.with_(optional=True),
        st.none() | st.fixed_dictionaries({"x": st.floats(), "text": st.none() | TEXTS}),
    ),
}
FREE = (
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | TEXTS | st.binary(max_size=2),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS | st.integers(0, 3), inner, max_size=2),
        max_leaves=4,
    )
    | st.integers(0, 1)
    | st.booleans()
    | st.sampled_from([0.0, -0.0, 1.0])
)


def both_ways(schema: Schema | None, column: list[dict[Any, Any]] | Table, **settings: str) -> tuple[Any, Any]:
    """(as a batch, record by record)."""
    subject, count = converter(**settings), len(column)
    written = subject.from_connect_batch(["t"] * count, [()] * count, [schema] * count, column)
    return written, [subject.from_connect("t", (), schema, row) for row in column]


def table_of(rows: list[dict[Any, Any]]) -> Table:
    names = tuple(rows[0])
    return Table(names, [[row[name] for row in rows] for name in names])


@given(st.data(), st.sampled_from(["true", "false"]), st.sampled_from(["base64", "numeric"]))
def test_structs_of_any_fields_are_written_as_each_alone(data, enable, decimals):
    names = data.draw(st.lists(st.sampled_from(list(ANY_COLUMNS)), min_size=1, max_size=4, unique=True))
    fields = {name: ANY_COLUMNS[name] for name in names}
    rows = data.draw(
        st.lists(st.fixed_dictionaries({name: values for name, (_, values) in fields.items()}), min_size=1, max_size=4)
    )
    schema = struct(*((name, inner) for name, (inner, _) in fields.items()))
    for column in (rows, table_of(rows)):
        batch, alone = both_ways(schema, column, schemas_enable=enable, decimal_format=decimals)
        assert batch == alone


@given(st.data(), st.sampled_from(["true", "false"]))
def test_maps_without_a_schema_are_written_as_each_alone(data, enable):
    names = data.draw(st.lists(TEXTS | st.integers(0, 3), min_size=1, max_size=3, unique=True))
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(names, FREE)), min_size=1, max_size=4))
    for column in (rows, table_of(rows)):
        batch, alone = both_ways(None, column, schemas_enable=enable)
        assert batch == alone


@pytest.mark.parametrize("rows", [[{"a": 1}, {"b": 1}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [{"a": 1}, {}, {"a": 1}]])
def test_maps_of_different_shapes_are_written_as_each_alone(rows):
    subject = converter(schemas_enable="false")
    written = subject.from_connect_batch(["t"] * len(rows), [()] * len(rows), [None] * len(rows), rows)
    assert written == [orjson.dumps(row) for row in rows]


def test_one_value_that_does_not_fit_fails_as_it_does_alone():
    schema, rows = struct(("a", array(INT32)), ("b", BYTES)), [{"a": [1], "b": b"x"}, {"a": ["x"], "b": b"x"}]
    with pytest.raises(DataError, match=r"^Invalid type for INT32: class java\.lang\.String$"):
        converter().from_connect_batch(["t"] * 2, [()] * 2, [schema] * 2, rows)

"""The order and the text of Connect's values, as Java's classes have them."""

from __future__ import annotations

import datetime as dt
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.columns import Table
from penstock.api.schema import (
    BYTES,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    OPTIONAL_INT8,
    STRING,
    TIMESTAMP,
    SchemaType,
    array,
    map_of,
    struct,
)
from penstock.values.column_printing import to_strings
from penstock.values.hash_map import hash_map
from penstock.values.lines import to_lines
from penstock.values.printing import to_string
from pipeline.converters.registry.connect_data import schemas_with_values


def test_columns_print_as_single_values_do():
    row = struct(("a", INT32), ("b", FLOAT32.with_(optional=True)))
    nested = map_of(STRING, array(row))
    schemas = [row, nested, None, STRING, BYTES, TIMESTAMP]
    values = [
        {"b": 0.1, "a": 1},
        {"k": [{"a": 2}, {"a": 3, "b": 1e10}]},
        None,
        "x",
        b"abc",
        dt.datetime(2024, 2, 29, tzinfo=dt.UTC),
    ]
    shown = to_strings(schemas, values)
    assert shown == list(map(to_string, schemas, values))
    assert shown[:4] == ["Struct{a=1,b=0.1}", "{k=[Struct{a=2}, Struct{a=3,b=1.0E10}]}", "null", "x"]
    assert re.fullmatch(r"\[B@[0-9a-f]+", shown[4])
    assert shown[5] == "Thu Feb 29 00:00:00 UTC 2024"


@given(schemas_with_values())
def test_columns_of_any_struct_print_as_its_values_do(case):
    schema, values = case
    shown = [to_string(schema, value) for value in values]
    assert to_strings([schema] * len(values), values) == shown
    names = [field.name for field in schema.fields]
    table = Table(names, [[value[name] for value in values] for name in names])
    assert to_strings([schema] * len(values), table) == shown


@given(st.lists(st.tuples(*[st.none() | st.integers(0, 1)] * 3), min_size=1))
def test_null_fields_are_left_out_with_their_commas(rows):
    schema = struct(*((name, OPTIONAL_INT8) for name in "abc"))
    values = [dict(zip("abc", row, strict=True)) for row in rows]
    shown = [",".join([f"{name}={value}" for name, value in row.items() if value is not None]) for row in values]
    assert to_strings([schema] * len(values), values) == [f"Struct{{{fields}}}" for fields in shown]
    without_b = [{"a": row["a"], "c": row["c"]} for row in values]
    assert to_strings([schema] * len(values), without_b) == [to_string(schema, row) for row in without_b]


@given(st.lists(st.tuples(*[st.sampled_from(["x", "", None, "é"])] * 4), min_size=1, max_size=3))
def test_texts_that_repeat_print_as_others_do(rows):
    schema = struct(*((name, STRING.with_(optional=True)) for name in "abcd"))
    table = Table("abcd", list(map(list, zip(*rows, strict=True))))
    assert to_strings([schema] * len(rows), table) == [to_string(schema, row) for row in table.rows()]
    assert to_strings([None] * len(rows), table) == [to_string(None, row) for row in table.rows()]


@given(st.data())
def test_maps_of_few_shapes_print_as_each_does(data):
    shapes = data.draw(
        st.lists(st.lists(st.sampled_from(["a", "b", "%s", 1, True, 1.0, None]), max_size=3), max_size=3)
    )
    scalars = st.none() | st.booleans() | st.integers(0, 9) | st.floats() | st.text(max_size=2)
    items = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.sampled_from(["x", "y"]), scalars)
    maps = [data.draw(st.fixed_dictionaries(dict.fromkeys(shape, items))) for shape in shapes for _ in range(5)]
    maps = data.draw(st.permutations(maps))
    for column in (maps, [*maps, None], [maps, [], maps]):
        assert to_strings([None] * len(column), column) == [to_string(None, value) for value in column]


@pytest.mark.parametrize(
    ("schema", "column"),
    [
        (FLOAT64, [1.0, math.nan]),
        (FLOAT64, [0.0, -0.0, 5e-3, 9999999.999999998]),
        (FLOAT64, [1.0, 1e7, 1e-4, -math.inf]),
        (FLOAT64, [None, 1.5]),
        (FLOAT32, [0.1, 16777217.0]),
        (INT64, [2**63 - 1, -(2**63)]),
        (None, [2**64, 2**63]),
        (None, [True, False]),
        (None, [True, 1, 1.0, "1", None]),
        (OPTIONAL_INT8, [None, None]),
        (struct(), [{}, {}]),
    ],
)
def test_numbers_print_in_columns_as_alone(schema, column):
    assert to_strings([schema] * len(column), column) == [to_string(schema, value) for value in column]
    table = Table(["n"], [column])
    row = None if schema is None else struct(("n", schema.with_(optional=True)))
    assert to_strings([row] * len(column), table) == [to_string(row, {"n": value}) for value in column]


def test_values_that_do_not_fit_the_schema_of_a_text():
    row = struct(("s", STRING))
    schemas, values = [STRING, STRING, STRING, row], [1, {"a": True}, "x", {"s": 1.0}]
    printed = ["1", "{a=true}", "x", "Struct{s=1.0}"]
    assert to_strings(schemas, values) == printed
    assert to_strings(schemas[:3], values[:3]) == printed[:3]
    assert to_strings([row], Table(["s"], [[1.0]])) == printed[3:]
    assert to_lines(schemas, values) == b"1\n{a=true}\nx\nStruct{s=1.0}\n"


def test_a_struct_named_like_a_timestamp_is_a_struct():
    row = struct(("s", STRING), ("n", OPTIONAL_INT8), name=TIMESTAMP.name)
    assert to_string(row, {"s": "x", "n": None}) == "Struct{s=x}"
    assert to_strings([row], Table(["s", "n"], [["x"], [None]])) == ["Struct{s=x}"]


def test_the_order_of_hash_maps():
    assert list(hash_map(dict.fromkeys(["b", "zeile", "a"]))) == ["zeile", "a", "b"]
    assert list(hash_map({-5: 1, 1: 2, 17: 3}, key_type=SchemaType.INT32)) == [1, 17, -5]
    assert list(hash_map({True: 1, False: 0}, key_type=SchemaType.BOOLEAN)) == [False, True]

"""Nulls and missing properties, as the JSON Schema converter writes and reads them."""

from __future__ import annotations

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import BYTES, INT32, INT64, OPTIONAL_STRING, STRING, array, map_of, struct
from penstock.pipeline.converters.registry.json_schema.options import JsonSchemaOptions
from penstock.pipeline.converters.registry.json_schema.reader import ValueReader
from penstock.pipeline.converters.registry.json_schema.writer import ValueWriter

OPTIONS = JsonSchemaOptions()


def test_nulls():
    schema = struct(("a", STRING), ("b", OPTIONAL_STRING), ("c", INT32.with_(optional=True, default=7)))
    write = ValueWriter(OPTIONS, 10).writer(schema)
    assert write({"a": None, "b": None, "c": None}) == {"b": None, "c": 7}
    ignoring = ValueWriter(JsonSchemaOptions(ignore_default_for_nullables=True), 10).writer(schema)
    assert ignoring({"a": "x", "b": None, "c": None}) == {"a": "x", "b": None, "c": None}
    read = ValueReader(10).reader(schema)
    assert read({"a": "x"}) == {"a": "x", "b": None, "c": 7}
    assert read({"b": "x"}) == {"a": None, "b": "x", "c": 7}
    with pytest.raises(DataError, match=r"^Invalid null value for required STRING field$"):
        read({"a": None, "b": "x"})


@pytest.mark.parametrize(
    ("schema", "value", "node"),
    [
        (array(STRING), ["a", None], ["a", None]),
        (array(INT32.with_(default=7)), [1, None], [1, 7]),
        (array(array(INT32)), [[1, None], None], [[1, None], None]),
        (map_of(STRING, STRING), {"k": None, "l": "x"}, {"k": None, "l": "x"}),
        (map_of(INT32, STRING), {1: None}, [{"key": 1, "value": None}]),
    ],
)
def test_nulls_among_items_are_written(schema, value, node):
    assert ValueWriter(OPTIONS, 10).writer(schema)(value) == node
    with pytest.raises(DataError, match="Invalid type for "):
        ValueWriter(OPTIONS, 10).writer(schema)(5)


LACKING = {
    "a property that is missing": (struct(("a", STRING), ("b", INT64)), {"a": "x"}, {"a": "x", "b": None}),
    "its default": (struct(("a", STRING), ("b", INT64.with_(default=3))), {"a": "x"}, {"a": "x", "b": 3}),
    "a number for a text": (struct(("a", STRING), ("b", INT64)), {"a": 5, "b": 1}, {"a": None, "b": 1}),
    "in an array": (array(struct(("a", STRING), ("b", INT64))), [{"a": "x"}], [{"a": "x", "b": None}]),
    "in a map": (map_of(STRING, struct(("a", STRING))), {"k": {}}, {"k": {"a": None}}),
}


@pytest.mark.parametrize("case", LACKING)
def test_properties_that_are_not_there_are_null_even_if_they_are_required(case):
    schema, node, value = LACKING[case]
    assert ValueReader(10, java=True).reader(schema)(node) == value


INNER = struct(("b", STRING), ("c", INT64))
REFUSED_INSIDE = {
    "missing": (INNER, {"b": "x"}, 'Invalid value: null used for required field: "c", schema type: INT64'),
    "null": (INNER, {"c": None}, "Invalid null value for required INT64 field"),
    "a number for a text": (
        INNER, {"b": 5, "c": 1}, 'Invalid value: null used for required field: "b", schema type: STRING'
    ),
    "in an array": (
        array(INNER), [{"b": "x"}], 'Invalid value: null used for required field: "c", schema type: INT64'
    ),
    "an item": (
        array(STRING), ["x", 5],
        'Invalid value: null used for required element of array field: "a", schema type: STRING',
    ),
    "an item of an item": (
        map_of(STRING, array(STRING)), {"k": ["x", 5]},
        'Invalid value: null used for required element of array value of map field: "a", schema type: STRING',
    ),
    "a number for bytes": (
        BYTES.with_(optional=True), 5,
        'Invalid Java object for schema with type BYTES: class java.math.BigDecimal for field: "a"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_INSIDE)
def test_nested_structs_need_their_required_properties(case):
    inner, node, message = REFUSED_INSIDE[case]
    with pytest.raises(DataError) as error:
        ValueReader(10, java=True).reader(struct(("a", inner)))({"a": node})
    assert str(error.value) == message

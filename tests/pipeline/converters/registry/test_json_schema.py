"""The mapping between Connect's schemas and JSON Schema, as data from Confluent's documentation and tests."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import (
    BYTES,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIMESTAMP,
    Schema,
    SchemaType,
    array,
    decimal,
    map_of,
    struct,
)
from penstock.pipeline.converters.registry.json_schema.compatibility import conflicts
from penstock.pipeline.converters.registry.json_schema.documents import Documents
from penstock.pipeline.converters.registry.json_schema.options import ENUM, ID, ONE_OF, JsonSchemaOptions
from penstock.pipeline.converters.registry.json_schema.reader import ValueReader
from penstock.pipeline.converters.registry.json_schema.to_connect import to_connect
from penstock.pipeline.converters.registry.json_schema.to_json_schema import to_json_schema
from penstock.pipeline.converters.scalar_nodes import InexactError

OPTIONS = JsonSchemaOptions()

BOTH_WAYS: dict[str, tuple[Schema, dict[str, Any]]] = {
    "int8": (INT8, {"type": "integer", "connect.type": "int8"}),
    "int64": (INT64, {"type": "integer", "connect.type": "int64"}),
    "float64": (FLOAT64, {"type": "number", "connect.type": "float64"}),
    "string": (STRING, {"type": "string"}),
    "bytes": (BYTES, {"type": "string", "connect.type": "bytes"}),
    "optional": (OPTIONAL_STRING, {"oneOf": [{"type": "null"}, {"type": "string"}]}),
    "array": (array(INT32), {"type": "array", "items": {"type": "integer", "connect.type": "int32"}}),
    "map": (
        map_of(STRING, STRING),
        {"type": "object", "additionalProperties": {"type": "string"}, "connect.type": "map"},
    ),
    "map with other keys": (
        map_of(INT32, STRING),
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "key": {"type": "integer", "connect.type": "int32", "connect.index": 0},
                    "value": {"type": "string", "connect.index": 1},
                },
            },
            "connect.type": "map",
        },
    ),
    "decimal": (
        decimal(2),
        {
            "title": "org.apache.kafka.connect.data.Decimal", "type": "string", "connect.type": "bytes",
            "connect.version": 1, "connect.parameters": {"scale": "2"},
        },
    ),
    "timestamp": (
        TIMESTAMP,
        {
            "title": "org.apache.kafka.connect.data.Timestamp", "type": "integer", "connect.type": "int64",
            "connect.version": 1,
        },
    ),
    "struct": (
        struct(("b", INT32.with_(default=5)), ("a", STRING.with_(doc="a text")), name="S", version=3, doc="a struct"),
        {
            "title": "S", "description": "a struct", "type": "object", "connect.version": 3,
            "properties": {
                "b": {"type": "integer", "default": 5, "connect.type": "int32", "connect.index": 0},
                "a": {"type": "string", "description": "a text", "connect.index": 1},
            },
        },
    ),
    "enum": (
        STRING.with_(parameters={ENUM: "", f"{ENUM}.one": "one", f"{ENUM}.two": "two"}),
        {"enum": ["one", "two"]},
    ),
    "union": (
        struct((f"{ONE_OF}.field.0", INT32.with_(optional=True)), (f"{ONE_OF}.field.1", OPTIONAL_STRING), name=ONE_OF),
        {
            "oneOf": [
                {"type": "integer", "connect.type": "int32", "connect.index": 0},
                {"type": "string", "connect.index": 1},
            ]
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BOTH_WAYS)
def test_both_ways(case):
    schema, node = BOTH_WAYS[case]
    assert to_json_schema(schema, OPTIONS) == node
    assert to_connect(Documents(json.dumps(node), {}), OPTIONS) == schema


def connect(node: Any, options: JsonSchemaOptions = OPTIONS) -> Schema:
    return to_connect(Documents(json.dumps(node), {}), options)


READ: dict[str, tuple[dict[str, Any], Schema]] = {
    "integers without a type of Connect": ({"type": "integer"}, INT64),
    "numbers without a type of Connect": ({"type": "number"}, FLOAT64),
    "a list of types": ({"type": ["null", "string"]}, OPTIONAL_STRING),
    "anyOf": ({"anyOf": [{"type": "string"}, {"type": "null"}]}, OPTIONAL_STRING),
    "one schema": ({"oneOf": [{"type": "string"}]}, STRING),
    "a constant": ({"const": "x"}, STRING.with_(parameters={ENUM: "", f"{ENUM}.x": "x"})),
    "fields by name": (
        {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}},
        struct(("a", STRING), ("b", STRING)),
    ),
    "allOf with properties": (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}},
                {"properties": {"b": {"type": "integer"}}},
            ]
        },
        struct(("a", STRING), ("b", INT64)),
    ),
    "properties beside allOf": (
        {
            "title": "T", "description": "lost", "type": "object", "properties": {"name": {"type": "string"}},
            "allOf": [{"$ref": "#/definitions/Base"}],
            "definitions": {"Base": {"type": "object", "properties": {"id": {"type": "integer"}}}},
        },
        struct(("id", INT64), ("name", STRING)),
    ),
    "properties beside anyOf": (
        {
            "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        struct(("a", STRING), ("b", STRING)),
    ),
    "properties beside oneOf with more of them": (
        {
            "properties": {"a": {"type": "string"}},
            "oneOf": [{"properties": {"b": {"type": "string"}}}, {"required": []}],
        },
        struct(("a", STRING)),
    ),
    "properties beside a condition": (
        {
            "type": "object", "properties": {"a": {"type": "string"}},
            "allOf": [{"if": {"properties": {"a": {"const": "x"}}}, "then": {"required": ["a"]}}],
        },
        struct(("a", STRING)),
    ),
    "properties beside not": (
        {"title": "T", "type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["b"]}},
        struct(("a", STRING)),
    ),
    "a type beside anyOf": (
        {"type": "string", "anyOf": [{"type": "string"}, {"type": "integer"}]},
        struct((f"{ONE_OF}.field.0", OPTIONAL_STRING), (f"{ONE_OF}.field.1", INT64.with_(optional=True)), name=ONE_OF),
    ),
    "a text of an enum": (
        {"type": "string", "enum": ["A", "B"], "default": "A", "description": "d", "title": "T"},
        STRING.with_(parameters={ENUM: "", f"{ENUM}.A": "A", f"{ENUM}.B": "B"}),
    ),
    "an integer of an enum": ({"type": "integer", "enum": [1, 2], "connect.type": "int32", "title": "T"}, INT64),
    "an enum": (
        {"enum": ["A"], "default": "A", "description": "d", "title": "T"},
        Schema(SchemaType.STRING, name="T", doc="d", default="A", parameters={ENUM: "", f"{ENUM}.A": "A"}),
    ),
    "a constant of a type": ({"type": "string", "const": "x", "default": "x"}, STRING),
    "an attribute beside a list of types": (
        {"type": ["string", "null"], "default": "x", "title": "T", "minLength": 1}, OPTIONAL_STRING
    ),
    "a type of Connect beside a list of types": (
        {"type": ["integer", "null"], "connect.type": "int32"}, INT64.with_(optional=True)
    ),
    "an attribute of a union of types": (
        {"type": ["integer", "string"], "title": "T", "description": "d"},
        struct(
            (f"{ONE_OF}.field.0", INT64.with_(optional=True)), (f"{ONE_OF}.field.1", OPTIONAL_STRING),
            name=ONE_OF, doc="d",
        ),
    ),
    "a format of a number": ({"type": "integer", "format": "int32", "description": "d", "default": 1}, INT64),
    "a format of a number since 2019": (
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "integer", "format": "int32", "description": "d", "default": 1,
        },
        INT64.with_(doc="d", default=1),
    ),
    "a format of a text": ({"type": "string", "format": "date", "description": "d"}, STRING.with_(doc="d")),
    "properties beside a reference since 2019": (
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": "#/$defs/Base", "properties": {"name": {"type": "string"}},
            "$defs": {"Base": {"properties": {"id": {"type": "integer"}}}},
        },
        struct(("id", INT64), ("name", STRING)),
    ),
    "a null as the default of what may be null": (
        {"oneOf": [{"type": "null"}, {"type": "string"}], "default": None}, OPTIONAL_STRING
    ),
    "a null as the default since 2019": (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "string", "default": None}, STRING
    ),
    "a limit without a type": ({"minimum": 1}, FLOAT64),
    "definitions": (
        {"type": "object", "properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "string"}}},
        struct(("a", STRING)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_read(case):
    node, schema = READ[case]
    assert connect(node) == schema


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"type": "string", "default": None}, "Invalid null value for required STRING field"),
        ({"type": "null"}, "Unsupported schema type org.everit.json.schema.NullSchema"),
        ({"if": {"minimum": 1}}, "Unsupported schema type org.everit.json.schema.ConditionalSchema"),
        (
            {"type": "boolean", "enum": [True]},
            'Unsupported criterion allOf for {"type":"boolean","enum":[true]}',
        ),
        (
            {"allOf": [{"type": "integer"}, {"minimum": 3}]},
            'Unsupported criterion allOf for {"allOf":[{"type":"integer"},{"minimum":3}]}',
        ),
    ],
)
def test_schemas_without_a_connect_type_are_refused(node, message):
    with pytest.raises(DataError) as error:
        connect(node)
    assert str(error.value) == message


def test_properties_that_are_not_required_are_optional_if_the_settings_say_so():
    node = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    assert connect(node) == struct(("a", STRING), ("b", STRING))
    options = JsonSchemaOptions(use_optional_for_nonrequired=True)
    assert connect(node, options) == struct(("a", STRING), ("b", OPTIONAL_STRING))


def test_a_schema_may_contain_itself():
    node = {
        "title": "Node", "type": "object",
        "properties": {"next": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}, "v": {"type": "integer"}},
    }  # fmt: skip
    schema = connect(node)
    inner = schema.field("next").schema
    assert schema.parameters[ID] == "#id1"
    assert (inner.optional, inner.name, inner.fields) == (True, "Node", schema.fields)
    value = ValueReader(10).reader(schema)({"v": 1, "next": {"v": 2, "next": None}})
    assert value == {"next": {"next": None, "v": 2}, "v": 1}


def test_a_schema_of_several_pieces_may_contain_itself():
    node = {
        "title": "Node", "type": "object", "not": {"required": ["x"]},
        "properties": {"next": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}, "v": {"type": "integer"}},
    }  # fmt: skip
    schema = connect(node)
    inner = schema.field("next").schema
    assert (schema.name, inner.name, inner.fields) == (None, None, schema.fields)


def test_generalized_unions_and_enums():
    options = JsonSchemaOptions(generalized_sum_type_support=True)
    schema = connect({"oneOf": [{"type": "string"}, {"type": "boolean"}]}, options)
    assert [field.name for field in schema.fields] == ["connect_union_field_0", "connect_union_field_1"]
    assert schema.parameters == {"org.apache.kafka.connect.data.Union": "connect_union_0"}
    assert connect({"enum": ["a"]}, options).parameters["org.apache.kafka.connect.data.Enum.a"] == "0"


def test_numbers_and_booleans_of_an_enum_are_read_as_its_symbols():
    """Java reads them as null, since the schema is of strings."""
    schema = connect({"enum": [1, 2.5, True, "a", None]})
    assert [key[len(ENUM) + 1 :] for key in schema.parameters] == ["", "1", "2.5", "true", "a", "<NULL>"]
    read = ValueReader(10).reader(schema)
    assert [read(1), read(Decimal("2.5")), read(True), read("a")] == ["1", "2.5", "true", "a"]
    assert ValueReader(10).reader(connect({"const": 7}))(7) == "7"
    assert ValueReader(10, java=True).reader(schema)(1) is None
    with pytest.raises(InexactError):  # the text is parsed again, with all its digits
        read(2.5)
    with pytest.raises(DataError, match="The value is ARRAY in JSON: expected a symbol of an enum"):
        read([1])
    union = connect({"oneOf": [{"enum": ["x", 5]}, {"type": "integer"}]})
    assert [list(filter(None, ValueReader(10).reader(union)(node).values())) for node in (5, 6)] == [["5"], [6]]


def test_a_number_in_a_union_is_no_symbol_with_the_coercion_of_java():
    node = {"oneOf": [{"enum": ["x", 5]}, {"type": "integer"}], "default": 5}
    schema = connect(node)
    found = {f"{ONE_OF}.field.0": None, f"{ONE_OF}.field.1": 5}
    assert ValueReader(10, java=True).reader(schema)(5) == found
    assert schema.default == found


def test_members_of_unions_are_told_by_their_kind_and_structs_by_their_fields():
    node = {"oneOf": [
        {"type": "integer"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
    ]}  # fmt: skip
    read = ValueReader(10).reader(connect(node, JsonSchemaOptions(use_optional_for_nonrequired=True)))
    name = f"{ONE_OF}.field."
    assert read(1)[name + "0"] == 1
    assert read({"a": "x"})[name + "1"] == {"a": "x"}
    assert read({"a": "x", "b": "y"})[name + "2"] == {"a": "x", "b": "y"}
    with pytest.raises(DataError, match="Did not find matching oneof field for data"):
        read(True)


def test_closed_objects():
    node = to_json_schema(struct(("a", STRING)), JsonSchemaOptions(object_additional_properties=False))
    assert node["additionalProperties"] is False
    assert SchemaType.STRUCT is connect(node).type


@pytest.mark.parametrize(
    ("reader", "writer", "words"),
    [
        ({"type": "string"}, {"type": "integer"}, "integer can't be read as string"),
        ({"type": "number"}, {"type": "integer"}, None),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, {"type": "string"}, None),
        ({"type": "string"}, {"oneOf": [{"type": "null"}, {"type": "string"}]}, "null can't be read as string"),
        (
            {"type": "object", "additionalProperties": False},
            {"type": "object", "properties": {"a": {}}},
            "allows no others",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object"},
            "requires this property",
        ),
    ],
)
def test_compatibility(reader, writer, words):
    found = conflicts(reader, writer)
    assert bool(found) == (words is not None)
    assert words is None or words in found[0]

"""The mapping between Connect's schemas and Avro's, as data from Confluent's documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)
from penstock.pipeline.converters import AvroConverter
from penstock.pipeline.converters.registry.avro.options import ENUM, FIELD_DOC, RECORD_DOC, UNION, AvroOptions
from penstock.pipeline.converters.registry.avro.schema.text import parse, show
from penstock.pipeline.converters.registry.avro.to_avro import to_avro
from penstock.pipeline.converters.registry.avro.to_connect import ToConnect
from pipeline.converters.registry.registry_double import RegistryDouble

pytest.importorskip("fastavro")

CONNECT = "org.apache.kafka.connect.data."
AVRO = "io.confluent.connect.avro."


def logical(avro: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": avro, "connect.version": 1, "connect.name": CONNECT + name, "logicalType": kind, **more}


# Types: each is read as it was written.
BOTH_WAYS: dict[str, tuple[Schema, Any]] = {
    "int8": (INT8, {"type": "int", "connect.type": "int8"}),
    "int16": (INT16, {"type": "int", "connect.type": "int16"}),
    "int32": (INT32, "int"),
    "int64": (INT64, "long"),
    "float32": (FLOAT32, "float"),
    "float64": (FLOAT64, "double"),
    "boolean": (BOOLEAN, "boolean"),
    "string": (STRING, "string"),
    "bytes": (BYTES, "bytes"),
    "optional": (OPTIONAL_STRING, ["null", "string"]),
    "array": (array(INT32), {"type": "array", "items": "int"}),
    "map with texts as keys": (map_of(STRING, INT32), {"type": "map", "values": "int"}),
    "map with other keys": (
        map_of(INT32, STRING),
        {
            "type": "array",
            "items": {
                "type": "record", "name": "MapEntry", "namespace": AVRO[:-1],
                "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
            },
        },
    ),
    "date": (DATE, logical("int", "date", "Date")),
    "time": (TIME, logical("int", "time-millis", "Time")),
    "timestamp": (TIMESTAMP, logical("long", "timestamp-millis", "Timestamp")),
    "decimal": (
        decimal(2),
        logical("bytes", "decimal", "Decimal", scale=2, precision=64, **{"connect.parameters": {"scale": "2"}}),
    ),
    "struct with a name": (
        struct(("id", INT64), ("name", OPTIONAL_STRING), name="org.example.User"),
        {
            "type": "record", "name": "User", "namespace": "org.example",
            "fields": [{"name": "id", "type": "long"},
                       {"name": "name", "type": ["null", "string"], "default": None}],
            "connect.name": "org.example.User",
        },
    ),
    "struct without a name": (
        struct(("id", INT64)),
        {
            "type": "record", "name": "ConnectDefault", "namespace": AVRO[:-1],
            "fields": [{"name": "id", "type": "long"}],
        },
    ),
    "default": (
        struct(("id", INT32.with_(default=7)), name="R"),
        {
            "type": "record", "name": "R",
            "fields": [{"name": "id", "type": {"type": "int", "connect.default": 7}, "default": 7}],
            "connect.name": "R",
        },
    ),
    "version": (
        struct(("id", INT32), name="R", version=3),
        {
            "type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}], "connect.version": 3,
            "connect.name": "R",
        },
    ),
}  # fmt: skip


def normal(node: Any) -> Any:
    """Normalize Avro's JSON, so that the order of members does not matter."""
    return json.loads(json.dumps(node, sort_keys=True))


@pytest.mark.parametrize("case", BOTH_WAYS)
def test_types(case):
    schema, node = BOTH_WAYS[case]
    assert json.loads(show(to_avro(schema, AvroOptions()))) == normal(node)
    assert ToConnect(AvroOptions()).schema(parse(json.dumps(node))) == schema


def test_a_field_whose_name_avro_does_not_allow_is_named_with_the_setting_that_helps():
    schema = struct(("order id", INT32), name="R")
    with pytest.raises(DataError, match=r"Illegal character in: order id \(scrub.invalid.names=true"):
        to_avro(schema, AvroOptions())
    scrubbing = AvroOptions(scrub_invalid_names=True)
    assert [field.name for field in to_avro(schema, scrubbing).fields] == ["order_id"]
    with pytest.raises(DataError, match="Duplicate field order_id in record R"):
        to_avro(struct(("order id", INT32), ("order-id", INT32), name="R"), scrubbing)


COLOURS = {"type": "enum", "name": "Colour", "namespace": "org.example", "symbols": ["RED", "BLUE"]}
ENUM_SCHEMA = STRING.with_(
    name="org.example.Colour",
    parameters={ENUM: "org.example.Colour", f"{ENUM}.RED": "RED", f"{ENUM}.BLUE": "BLUE"},
)
USER = struct(("id", INT64.with_(doc="number of the user")), name="org.example.User", doc="a user", version=2)

# Settings: schema, settings, and the registered schema.
WRITTEN: dict[str, tuple[Schema, dict[str, bool], Any]] = {
    "enums are texts": (ENUM_SCHEMA, {}, None),
    "enums are enums": (
        ENUM_SCHEMA, {"enhanced_avro_schema_support": True},
        {**COLOURS, "connect.name": "org.example.Colour", "connect.parameters": dict(ENUM_SCHEMA.parameters)},
    ),
    "without meta data": (
        USER, {"connect_meta_data": False},
        {
            "type": "record", "name": "User", "namespace": "org.example",
            "fields": [{"name": "id", "type": "long"}],
        },
    ),
    "docs of fields": (
        struct(("id", INT64.with_(doc="a number")), name="R"),
        {"connect_meta_data": False, "discard_type_doc_default": True},
        {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long", "doc": "a number"}]},
    ),
    "names that Avro does not allow": (
        struct(("a-b", INT32), name="org-x.1User"), {"scrub_invalid_names": True, "connect_meta_data": False},
        {
            "type": "record", "name": "x1User", "namespace": "org_x", "fields": [{"name": "a_b", "type": "int"}],
        },
    ),
    "optional texts as keys": (
        map_of(OPTIONAL_STRING, INT32), {"allow_optional_map_keys": True}, {"type": "map", "values": "int"},
    ),
    "an optional field with a default": (
        struct(("id", INT32.with_(optional=True, default=7)), name="R"), {"connect_meta_data": False},
        {"type": "record", "name": "R", "fields": [{"name": "id", "type": ["int", "null"], "default": 7}]},
    ),
    "precision": (
        decimal(2).with_(parameters={"scale": "2", "connect.decimal.precision": "10"}), {"connect_meta_data": False},
        {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_settings_of_what_is_written(case):
    schema, settings, node = WRITTEN[case]
    found = json.loads(show(to_avro(schema, AvroOptions(**settings))))
    if node is None:
        assert found["type"] == "string"
    else:
        assert found == normal(node)


TWO_RECORDS = [
    {"type": "record", "name": "Cat", "namespace": "a", "fields": [{"name": "x", "type": "int"}]},
    {"type": "record", "name": "Dog", "namespace": "b", "fields": [{"name": "y", "type": "int"}]},
]
CAT, DOG = (struct((field, INT32), name=name, optional=True) for field, name in (("x", "a.Cat"), ("y", "b.Dog")))

# Settings: Avro's schema, settings, and the Connect schema made from it.
READ: dict[str, tuple[Any, dict[str, bool], Schema]] = {
    "enums": (COLOURS, {}, ENUM_SCHEMA),
    "generalized enums": (
        COLOURS, {"generalized_sum_type_support": True},
        STRING.with_(name="org.example.Colour", parameters={
            f"{CONNECT}Enum": "org.example.Colour", f"{CONNECT}Enum.RED": "0", f"{CONNECT}Enum.BLUE": "1",
        }),
    ),
    "unions": (TWO_RECORDS, {}, struct(("Cat", CAT), ("Dog", DOG), name=UNION)),
    "unions by full names": (
        TWO_RECORDS, {"enhanced_avro_schema_support": True}, struct(("a.Cat", CAT), ("b.Dog", DOG), name=UNION),
    ),
    "unions with null": (
        ["null", "int", "string"], {},
        struct(("int", INT32.with_(optional=True)), ("string", OPTIONAL_STRING), name=UNION, optional=True),
    ),
    "unions of one type": (["int"], {}, INT32),
    "unions of one type kept": (
        ["int"], {"flatten_singleton_unions": False}, struct(("int", INT32.with_(optional=True)), name=UNION),
    ),
    "docs": (
        {"type": "record", "name": "R", "doc": "a record", "fields": [{"name": "x", "type": "int", "doc": "a field"}]},
        {},
        struct(("x", INT32), name="R", parameters={RECORD_DOC: "a record", f"{FIELD_DOC}x": "a field"}),
    ),
    "micros and uuids": (
        {"type": "record", "name": "R", "fields": [
            {"name": "t", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
        ]},
        {},
        struct(("t", INT64), ("u", STRING), name="R"),
    ),
    "fixed": (
        {"type": "fixed", "name": "F", "size": 4}, {},
        BYTES.with_(name="F", parameters={"connect.fixed.size": "4"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_settings_of_what_is_read(case):
    node, settings, schema = READ[case]
    found = ToConnect(AvroOptions(**settings)).schema(parse(json.dumps(node)))
    assert found == schema


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, {"a": None, "b": 7}), ({"ignore.default.for.nullables": "true"}, {"a": None, "b": None})],
)
def test_nulls_and_defaults(double: RegistryDouble, settings: dict[str, str], expected: dict[str, Any]):
    converter = AvroConverter()
    converter.configure({"schema.registry.url": double.url, **settings}, is_key=False)
    schema = struct(("a", INT32.with_(optional=True)), ("b", INT32.with_(optional=True, default=7)), name="R")
    data = converter.from_connect("t", (), schema, {"a": None, "b": None})
    assert converter.to_connect("t", (), data)[1] == expected
    required = struct(("a", INT32), name="R")
    with pytest.raises(DataError, match="Found null value for non-optional schema"):
        converter.from_connect("u", (), required, {"a": None})

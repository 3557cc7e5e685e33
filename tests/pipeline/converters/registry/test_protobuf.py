"""The mapping between Connect's schemas and Protobuf's, as data from Confluent's documentation and tests."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock.api.errors import DataError, SerializationError
from penstock.api.schema import (
    BYTES,
    INT8,
    INT32,
    INT64,
    OPTIONAL_INT32,
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
from penstock.pipeline.converters import ProtobufConverter
from penstock.pipeline.converters.registry.protobuf.files import parse
from penstock.pipeline.converters.registry.protobuf.indexes import read_indexes, write_indexes
from penstock.pipeline.converters.registry.protobuf.options import ENUM, TAG, TYPE, UNION
from pipeline.converters.registry.registry_double import RegistryDouble

pytest.importorskip("grpc_tools")


def converter(double: RegistryDouble, **settings: str) -> ProtobufConverter:
    made = ProtobufConverter()
    config = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure({"schema.registry.url": double.url, "max.retries": "0", **config}, is_key=False)
    return made


def tagged(schema: Schema, number: int) -> Schema:
    return schema.with_(optional=True, parameters={**schema.parameters, TAG: str(number)})


def register(double: RegistryDouble, text: str, name: str = "t-value") -> bytes:
    """Register the schema; return the head of its messages, without indexes."""
    number = double.register(name, {"schema": text, "schemaType": "PROTOBUF"})["id"]
    return b"\0" + int(number).to_bytes(4, "big")


def test_the_text_that_is_registered(double):
    schema = struct(
        ("id", INT64), ("small", INT8), ("tags", array(STRING)), ("at", TIMESTAMP), ("amount", decimal(2)),
        ("inner", struct(("x", INT32), name="Inner")), ("counts", map_of(STRING, INT32, name="counts")),
        name="org.example.Order",
    )  # fmt: skip
    assert (
        converter(double).target(schema).text.text
        == """\
syntax = "proto3";
package org.example;

import "google/protobuf/timestamp.proto";
import "confluent/type/decimal.proto";

message Order {
  int64 id = 1;
  int32 small = 2 [(confluent.field_meta) = {
    params: [
      {
        key: "connect.type",
        value: "int8"
      }
    ]
  }];
  repeated string tags = 3;
  google.protobuf.Timestamp at = 4;
  confluent.type.Decimal amount = 5 [(confluent.field_meta) = {
    params: [
      {
        value: "2",
        key: "scale"
      }
    ]
  }];
  Inner inner = 6;
  repeated countsEntry counts = 7;

  message Inner {
    int32 x = 1;
  }
  message countsEntry {
    string key = 1;
    int32 value = 2;
  }
}
"""
    )


def test_fields_read_have_tags_and_are_optional(double):
    ours = converter(double)
    data = ours.from_connect("t", (), struct(("id", INT64), ("small", INT8), name="a.B"), {"id": 1, "small": -1})
    schema, value = ours.to_connect("t", (), data)
    assert schema == struct(
        ("id", tagged(INT64, 1)), ("small", tagged(INT8, 2)), name="B", version=1
    )  # fmt: skip
    assert value == {"id": 1, "small": -1}
    assert data[5:6] == b"\0"
    # The value that was read is written with the same schema.
    assert ours.from_connect("t", (), schema.with_(name="a.B"), value) == data


def test_unnamed_structs_are_numbered_from_one(double):
    schema = struct(("inner", struct(("x", INT32))))
    text = converter(double).target(schema).text.text
    assert "message ConnectDefault1 {" in text
    assert "message ConnectDefault2 {" in text


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"a": 0, "b": "", "c": 5}),
        ({"optional.for.nullables": "true"}, {"a": None, "b": None, "c": 5}),
        ({"wrapper.for.nullables": "true"}, {"a": None, "b": None, "c": 5}),
        ({"ignore.default.for.nullables": "true", "optional.for.nullables": "true"}, {"a": None, "b": None, "c": None}),
    ],
)
def test_nulls(double, settings, expected):
    schema = struct(
        ("a", OPTIONAL_INT32), ("b", OPTIONAL_STRING), ("c", INT32.with_(optional=True, default=5)), name="N"
    )
    ours = converter(double, **settings)
    data = ours.from_connect("t", (), schema, {"a": None, "b": None, "c": None})
    assert ours.to_connect("t", (), data)[1] == expected


@pytest.mark.parametrize(
    ("schema", "value", "index"),
    [(STRING, "x", 7), (INT64, 2**40, 2), (INT32, -1, 4), (BYTES, b"\0", 8), (Schema(SchemaType.BOOLEAN), True, 6)],
)
def test_primitives_at_the_top_are_messages_of_wrappers(double, schema, value, index):
    ours = converter(double)
    data = ours.from_connect("t", (), schema, value)
    assert read_indexes(data, 5)[0] == (index,)
    found, back = ours.to_connect("t", (), data)
    assert (found.type, back) == (schema.type, value)
    assert "message DoubleValue {" in double.schemas[0]["schema"]


@pytest.mark.parametrize(
    "schema",
    [array(INT32), map_of(STRING, INT32), struct(("a", array(array(INT32))), name="A"), None],
)
def test_schemas_without_a_protobuf_form_are_refused(double, schema):
    with pytest.raises(DataError):
        converter(double).from_connect("t", (), schema, [] if schema is None or schema.type is SchemaType.ARRAY else {})


TEXT = """\
syntax = "proto3";
package org.example;
message Outer {
  message Nested { sint32 n = 1; fixed64 big = 2; }
  enum Colour { RED = 0; GREEN = 5; }
  oneof choice { string text = 1; Nested nested = 2; }
  Colour colour = 3;
  map<string, int32> counts = 4;
  Outer next = 5;
  repeated Nested many = 6;
}
message Other { int32 x = 1; }
"""


def test_oneofs_enums_maps_and_recursion(double):
    head = register(double, TEXT)
    # text="a", colour=5, counts={"k": 1}, next={text="b"}
    payload = bytes.fromhex("0a0161180522050a016b10012a030a0162")
    schema, value = converter(double).to_connect("t", (), head + b"\0" + payload)
    assert value == {
        "choice_0": {"text": "a", "nested": None}, "colour": "GREEN", "counts": {"k": 1}, "many": [],
        "next": {"choice_0": {"text": "b", "nested": None}, "colour": "RED", "counts": {}, "many": [], "next": None},
    }  # fmt: skip
    choice = schema.field("choice_0").schema
    assert (choice.name, choice.optional) == (f"{UNION}.choice", True)
    nested = choice.field("nested").schema
    assert nested.field("n").schema.parameters == {TYPE: "sint32", TAG: "1"}
    assert nested.field("big").schema.type is SchemaType.INT64
    assert schema.field("colour").schema.parameters[f"{ENUM}.GREEN"] == "5"
    assert schema.field("next").schema.fields == schema.fields


@pytest.mark.parametrize(
    ("settings", "payload", "expected"),
    [
        ({"flatten.unions": "true"}, "0a0161", {"text": "a", "nested": None}),
        ({"generate.index.for.unions": "false"}, "0a0161", {"choice": {"text": "a", "nested": None}}),
        ({"int.for.enums": "true"}, "1805", {"colour": 5}),
    ],
)
def test_settings_of_reading(double, settings, payload, expected):
    head = register(double, TEXT)
    value = converter(double, **settings).to_connect("t", (), head + b"\0" + bytes.fromhex(payload))[1]
    assert expected.items() <= value.items()


def test_indexes_lead_to_any_message(double):
    head = register(double, TEXT)
    ours = converter(double)
    assert ours.to_connect("t", (), head + write_indexes((1,)) + b"\x08\x07")[1] == {"x": 7}
    assert ours.to_connect("t", (), head + write_indexes((0, 0)) + b"\x08\x02")[1] == {"n": 1, "big": 0}
    with pytest.raises(DataError, match=r"no message \[7\]"):
        ours.to_connect("t", (), head + write_indexes((7,)))
    with pytest.raises(DataError, match="end too early"):
        ours.to_connect("t", (), head)


@pytest.mark.parametrize("indexes", [(0,), (1,), (0, 0), (3, 200, 1)])
def test_indexes_there_and_back(indexes):
    data = write_indexes(indexes)
    assert read_indexes(b"x" + data + b"y", 1) == (indexes, 1 + len(data))


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x80", b"\xff\xff\xff\xff\xff\xff", b"\x01"])
def test_indexes_that_are_none(data):
    with pytest.raises(SerializationError):
        read_indexes(data, 0)


def test_a_text_that_is_no_schema_is_an_error_in_the_compilers_words(double):
    head = register(double, 'syntax = "proto3"; message A { nothing x = 1; }')
    with pytest.raises(DataError, match='"nothing" is not defined'):
        converter(double).to_connect("t", (), head + b"\0")
    head = register(double, 'syntax = "proto3"; import "else.proto"; message A {}', "u-value")
    with pytest.raises(DataError, match=r"else\.proto"):
        converter(double).to_connect("u", (), head + b"\0")


def test_payloads_that_are_no_message(double):
    head = register(double, TEXT)
    with pytest.raises(DataError, match="Error deserializing Protobuf message for id 1"):
        converter(double).to_connect("t", (), head + b"\0\xff")


def test_the_latest_version_is_written_if_it_can_read_the_records(double):
    register(double, 'syntax = "proto3"; message M { int32 a = 1; string b = 2; }')
    latest: dict[str, Any] = {"auto.register.schemas": "false", "use.latest.version": "true"}
    ours = converter(double, **latest)
    data = ours.from_connect("t", (), struct(("a", INT32), name="M"), {"a": 1})
    assert ours.to_connect("t", (), data)[1] == {"a": 1, "b": ""}
    with pytest.raises(DataError, match="another type"):
        ours.from_connect("t", (), struct(("a", STRING), name="M"), {"a": "x"})


def test_tasks_of_one_process_compile_schemas_at_once_and_keep_its_standard_error() -> None:
    def number(n: int) -> int:
        found: int = parse(f'syntax = "proto3"; message M {{ int32 n = {n}; }}', {})[-1].message_type[0].field[0].number
        return found

    before = os.fstat(2)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(number, range(1, 33))) == list(range(1, 33))
    after = os.fstat(2)
    assert (after.st_dev, after.st_ino) == (before.st_dev, before.st_ino)

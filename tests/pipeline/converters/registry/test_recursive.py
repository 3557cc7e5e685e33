"""Schemas that contain themselves, through fields, lists, maps, unions and references: what reads, prints, compares,
changes, writes and sends their records comes to an end, or names the field that has none.
"""

from __future__ import annotations

import copy
import functools
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.api.schema import INT32, INT64, RecursiveSchema, Schema, path_to_itself, struct
from penstock.connectors.singer.json_schemas import json_schema
from penstock.hosts.jvm.codec.schema_table import SchemaTable
from penstock.hosts.python import wire
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.json_converter import JsonConverter
from penstock.pipeline.converters.registry.mapping.schemas import PartCount
from penstock.pipeline.telemetry import topic_schemas
from penstock.pipeline.transforms import CastValue, FlattenValue, ReplaceFieldValue, SetSchemaMetadataValue
from penstock.preview import shown
from penstock.values.column_printing import to_strings
from penstock.values.lines import to_lines
from penstock.values.printing import to_string
from pipeline.converters.registry.registry_double import RegistryDouble, running_double

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")
struct_pb2 = pytest.importorskip("google.protobuf.struct_pb2")


def record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": name, "type": type} for name, type in fields]}


def of_fields(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "object", "title": "R", "properties": dict(fields)}


TREE = {"type": "array", "items": "Tree"}
TREES = {"type": "map", "values": "Tree"}
NODE_BS = {"type": "array", "items": "B"}
REF: dict[str, Any] = {"$ref": "#"}
FREE = struct_pb2.Struct()
FREE.update({"a": 1.5, "list": [True, None, {"x": "y"}], "inner": {"p": {"q": "deep"}}})
FREE_BYTES = FREE.SerializeToString()
PROTO = 'syntax = "proto3"; import "google/protobuf/struct.proto"; message '

READ: dict[str, tuple[str, Any, bytes]] = {
    "Avro: a field": ("AVRO", record("Node", ("value", "long"), ("next", ["null", "Node"])), b"\2\2\4\0"),
    "Avro: a list": ("AVRO", record("Tree", ("value", "long"), ("inner", TREE)), b"\2\2\4\0\0"),
    "Avro: a map": ("AVRO", record("Tree", ("value", "long"), ("inner", TREES)), b"\2\2\2a\4\0\0"),
    "Avro: a union": ("AVRO", record("U", ("value", ["string", "long", "U"])), b"\4\2\2"),
    "Avro: two records": (
        "AVRO", record("A", ("b", ["null", record("B", ("a", ["null", "A"]), ("bs", NODE_BS))])), b"\2\2\0\0"
    ),
    "Protobuf: a field": ("PROTOBUF", PROTO + "Node { int64 value = 1; Node next = 2; }", b"\0\x08\1\x12\2\x08\2"),
    "Protobuf: a list": (
        "PROTOBUF", PROTO + "Node { int64 value = 1; repeated Node next = 3; }", b"\0\x08\1\x1a\2\x08\2"
    ),
    "Protobuf: a map": (
        "PROTOBUF", PROTO + "Node { int64 value = 1; map<string, Node> next = 2; }",
        b"\0\x08\1\x12\7\x0a\1a\x12\2\x08\2",
    ),
    "Protobuf: a oneof": (
        "PROTOBUF", PROTO + "Node { oneof o { int64 value = 1; Node next = 2; } }", b"\0\x12\2\x08\2"
    ),
    "Protobuf: Struct": (
        "PROTOBUF", PROTO + "Event { int64 id = 1; google.protobuf.Struct data = 2; }",
        b"\0\x08\1\x12" + bytes([len(FREE_BYTES)]) + FREE_BYTES,
    ),
    "Protobuf: two messages": (
        "PROTOBUF", PROTO + "A { B b = 1; } message B { A a = 1; repeated B bs = 2; map<string, A> m = 3; }",
        b"\0\x0a\2\x0a\0",
    ),
    "JSON Schema: a reference": (
        "JSON", of_fields(("v", {"type": "integer"}), ("next", {"oneOf": [{"type": "null"}, REF]})),
        b'{"v":1,"next":{"v":2,"next":null}}',
    ),
    "JSON Schema: a list": (
        "JSON", of_fields(("v", {"type": "integer"}), ("inner", {"type": "array", "items": REF})),
        b'{"v":1,"inner":[{"v":2,"inner":[]}]}',
    ),
    "JSON Schema: a map": (
        "JSON", of_fields(("inner", {"type": "object", "connect.type": "map", "additionalProperties": REF})),
        b'{"inner":{"a":{"inner":{}}}}',
    ),
    "JSON Schema: a list of itself": (
        "JSON", {"type": "array", "items": {"anyOf": [{"type": "integer"}, REF]}}, b"[1,[2,[3]]]"
    ),
}  # fmt: skip
KINDS: dict[str, Any] = {"AVRO": AvroConverter, "PROTOBUF": ProtobufConverter, "JSON": JsonSchemaConverter}


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryDouble]:
    with running_double() as double:
        yield double


def converter(registry: RegistryDouble, kind: str) -> Any:
    made = KINDS[kind]()
    made.configure({"schema.registry.url": registry.url, "max.retries": "0"}, False)
    return made


def read(registry: RegistryDouble, what: str) -> tuple[Schema, Any]:
    kind, text, payload = READ[what]
    topic = f"t{abs(hash(what))}"
    given = {"schema": text if isinstance(text, str) else json.dumps(text), "schemaType": kind}
    head = b"\0" + int(registry.register(f"{topic}-value", given)["id"]).to_bytes(4, "big")
    schema, value = converter(registry, kind).to_connect(topic, (), head + payload)
    assert schema is not None
    return schema, value


def batch(schema: Schema, value: Any) -> Batch:
    return Batch.of("t", [value] * 2, value_schema=schema)


def test_a_struct_of_protobuf_is_printed_as_java_prints_it(registry):
    schema, value = read(registry, "Protobuf: Struct")
    text = to_string(schema, value)
    assert text.startswith("Struct{id=1,data=Struct{fields={")
    assert "inner=Struct{kind_0=Struct{struct_value=Struct{fields={p=" in text
    assert "q=Struct{kind_0=Struct{string_value=deep}}" in text
    assert to_lines([schema] * 3, [value] * 3) == f"{text}\n".encode() * 3
    assert to_strings([schema], [value]) == [text]


@pytest.mark.parametrize("what", READ)
def test_a_schema_is_compared_copied_and_sent_to_plugins_of_other_processes(registry, what):
    schema, value = read(registry, what)
    again, _ = read(registry, what)
    assert again == schema
    assert hash(again) == hash(schema)
    assert len(repr(schema)) < 10_000
    text = to_string(schema, value)
    for copied in (pickle.loads(pickle.dumps(schema)), copy.deepcopy(schema)):
        assert (copied, hash(copied), to_string(copied, value)) == (schema, hash(schema), text)
    sent = wire.read(wire.write(wire.whole(batch(schema, value))))
    assert (sent.value_schemas, list(sent.values)) == ([schema] * 2, [value] * 2)
    near, far = SchemaTable(), SchemaTable()
    number = near.number(schema)
    far.learn(json.loads(json.dumps(near.take_descriptions())))
    received = far.get(number)
    assert received is not None
    assert (received, hash(received), to_string(received, value)) == (schema, hash(schema), text)


@pytest.mark.parametrize("what", READ)
def test_json_is_written_without_an_envelope_and_an_envelope_names_the_field(registry, what):
    schema, value = read(registry, what)
    plain, envelopes = JsonConverter(), JsonConverter()
    plain.configure({"schemas.enable": "false"}, False)
    envelopes.configure({}, False)
    written = plain.from_connect("t", (), schema, value)
    assert plain.from_connect_batch(["t"] * 2, [()] * 2, [schema] * 2, [value] * 2) == [written] * 2
    assert json.loads(written or b"") is not None
    place = path_to_itself(schema)
    assert place
    with pytest.raises(
        DataError,
        match=f"field {place.replace('[]', r'.*').replace('{}', r'.*')}.* contains itself.*schemas.enable=false",
    ):
        envelopes.from_connect("t", (), schema, value)


OTHER_FORMATS = [
    (what, kind)
    for what in READ
    for kind in KINDS
    if kind == "JSON" or what != "JSON Schema: a list of itself"  # a union of no name, at the top
]


@pytest.mark.parametrize(("what", "kind"), OTHER_FORMATS)
def test_values_go_from_format_to_format(registry, what, kind):
    schema, value = read(registry, what)
    topic = f"{kind}{abs(hash(what))}"
    other = converter(registry, kind)
    written = other.from_connect(topic, (), schema, value)
    assert other.from_connect_batch([topic] * 2, [()] * 2, [schema] * 2, [value] * 2) == [written] * 2
    _, found = other.to_connect(topic, (), written)
    assert without_nothing(found) == without_nothing(value)


def without_nothing(value: Any) -> Any:
    """Without nulls, zeros and what is empty: proto3 knows none of them, and names no branch of a union with them."""
    match value:
        case dict():
            return {key: kept for key, item in value.items() if (kept := without_nothing(item))}
        case list():
            return [kept for item in value if (kept := without_nothing(item))]
    return value


CHANGES: dict[str, tuple[Any, dict[str, str]]] = {
    "Cast": (CastValue, {"spec": "value:string"}),
    "ReplaceField": (ReplaceFieldValue, {"renames": "value:other"}),
    "SetSchemaMetadata": (SetSchemaMetadataValue, {"schema.name": "Other", "schema.version": "3"}),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("what", ["Avro: a field", "Avro: a list", "Avro: a map", "Protobuf: a field"])
def test_a_transform_changes_the_outer_struct(registry, what, name):
    schema, value = read(registry, what)
    kind, settings = CHANGES[name]
    transform = kind()
    transform.configure(settings)
    changed = transform.apply_batch(batch(schema, value))
    found = changed.value_schemas[0]
    inner = path_to_itself(schema)
    assert path_to_itself(found)
    assert pickle.loads(pickle.dumps(found)) == found
    assert to_string(found, changed.values[0]).count("value=") + (name == "ReplaceField") == to_string(
        schema, value
    ).count("value="), inner
    if name == "SetSchemaMetadata":
        written = converter(registry, "AVRO").from_connect(f"changed{abs(hash(what))}", (), found, changed.values[0])
        assert converter(registry, "AVRO").to_connect(f"changed{abs(hash(what))}", (), written)[1] == value


def test_flatten_names_the_field(registry):
    schema, value = read(registry, "Protobuf: a field")
    flatten = FlattenValue()
    flatten.configure({})
    with pytest.raises(DataError, match=r"contain themselves.*\(for field next\)"):
        flatten.apply_batch(batch(schema, value))


def test_avro_refuses_two_records_of_one_name(registry):
    schema, value = read(registry, "Avro: a field")
    transform = ReplaceFieldValue()
    transform.configure({"renames": "value:other"})
    changed = transform.apply_batch(batch(schema, value))
    with pytest.raises(DataError, match=r"Two structs named Node have different fields.*SetSchemaMetadata"):
        converter(registry, "AVRO").from_connect("renamed", (), changed.value_schemas[0], changed.values[0])


def test_two_lists_that_differ_deep_inside_are_not_equal():
    def of(value: Schema) -> Schema:
        following = RecursiveSchema(True)
        made = struct(("value", value), ("next", following), name="Node")
        following.close(made)
        return made

    assert of(INT64) == of(INT64)
    assert of(INT64) != of(INT32)
    one, other = of(INT64).fields[1].schema, of(INT32).fields[1].schema
    assert hash(one) == hash(other)
    assert one != other, "caches of converters would confuse the two"


@pytest.mark.parametrize("what", READ)
def test_people_and_targets_of_singer_are_shown_a_schema(registry, what):
    schema, value = read(registry, what)
    assert shown.schema(schema)
    json.dumps(shown.value(value))
    assert len(json.dumps(json_schema(schema))) < 10_000


LEVELS = 40
DOUBLING = {
    "AVRO": json.dumps(
        functools.reduce(
            lambda inner, level: record(
                f"L{level}", ("a", inner), ("b", inner if isinstance(inner, str) else inner["name"])
            ),
            range(LEVELS),
            "int",
        )
    ),
    "PROTOBUF": PROTO
    + "M { M39 a = 1; } "
    + " ".join(f"message M{i} {{ M{i - 1} a = 1; M{i - 1} b = 2; }}" for i in range(1, LEVELS))
    + " message M0 { int32 n = 1; }",
    "JSON": json.dumps(
        {
            **of_fields(("a", {"$ref": f"#/definitions/l{LEVELS - 1}"})),
            "definitions": {
                f"l{i}": of_fields(
                    ("a", {"$ref": f"#/definitions/l{i - 1}"}), ("b", {"$ref": f"#/definitions/l{i - 1}"})
                )
                for i in range(1, LEVELS)
            }
            | {"l0": {"type": "integer"}},
        }
    ),
}


@pytest.mark.parametrize("kind", DOUBLING)
def test_a_schema_of_types_that_double_is_refused_soon(registry, kind, monkeypatch):
    monkeypatch.setattr(PartCount, "MAX_PARTS", 1_000)
    topic = f"doubling{kind}"
    number = registry.register(f"{topic}-value", {"schema": DOUBLING[kind], "schemaType": kind})["id"]
    with pytest.raises(DataError, match="more than 1000 parts"):
        converter(registry, kind).to_connect(topic, (), b"\0" + int(number).to_bytes(4, "big") + b"\0\0")


def test_lineage_shows_a_struct_with_many_fields_of_itself_once():
    following = RecursiveSchema(True)
    made = struct(*((f"f{i}", following) for i in range(30)), name="Node")
    following.close(made)
    shown = topic_schemas.fields(made)
    assert [each["name"] for each in shown] == [f"f{i}" for i in range(30)]
    assert all(each["fields"] == [] for each in shown)


def test_columns_of_spark_name_the_one_that_contains_itself(registry):
    columns = pytest.importorskip("penstock.spark.query.sink.rows.columns")
    schema, _ = read(registry, "Protobuf: Struct")
    with pytest.raises(DataError, match=r"Column data\.fields\{\}\S* would contain itself .*: leave data out"):
        columns.columns_of(schema, dict)


@pytest.mark.parametrize("nested", [b'{"a":' * 900 + b"1" + b"}" * 900, b'{"a":' * 10_000 + b"1" + b"}" * 10_000])
def test_data_of_many_levels_is_refused_in_words(nested):
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, False)

    def printed() -> None:
        schema, value = converter.to_connect("t", (), nested)
        to_lines([schema], [value])

    with pytest.raises(DataError, match=r"nested too deeply|serialization error"):
        printed()

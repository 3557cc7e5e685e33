"""``use.latest.version`` when reading: messages are read as the latest schema of their subject, whatever they were
written with. The setting holds for both directions, as in Java.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import INT32, INT64, OPTIONAL_STRING, STRING, struct
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.avro.options import AvroOptions
from penstock.pipeline.converters.registry.avro.reader import reader
from penstock.pipeline.converters.registry.avro.schema.resolution import resolution
from penstock.pipeline.converters.registry.avro.schema.text import parse
from penstock.pipeline.converters.registry.avro.to_connect import ToConnect
from pipeline.converters.registry.registry_double import RegistryDouble

fastavro = pytest.importorskip("fastavro")

OLDER = struct(("id", INT32), ("name", STRING), name="org.example.User")
NEWER = struct(("name", STRING), ("id", INT64), ("note", OPTIONAL_STRING.with_(default="-")), name="org.example.User")
KINDS = {"avro": AvroConverter, "json": JsonSchemaConverter, "protobuf": ProtobufConverter}
WIRE = "io.confluent.kafka.serializers.schema.id."


def converter(kind: str, double: RegistryDouble, **settings: str) -> Any:
    made = KINDS[kind]()
    config = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure({"schema.registry.url": double.url, "max.retries": "0", **config}, is_key=False)
    return made


def written(kind: str, double: RegistryDouble) -> list[bytes]:
    """Return a message of the older schema, and one of the newer."""
    made = converter(kind, double)
    return [
        made.from_connect("t", (), OLDER, {"id": 1, "name": "a"}),
        made.from_connect("t", (), NEWER, {"id": 2**40, "name": "b", "note": "n"}),
    ]


@pytest.mark.parametrize(("kind", "version"), [("avro", 1), ("json", 2)])
def test_messages_are_read_as_the_latest_schema(double, kind, version):
    """The version is the writer's with Avro and the latest with the others, as in Java."""
    data = written(kind, double)
    schemas, values = converter(kind, double, use_latest_version="true").to_connect_batch(["t"] * 2, [()] * 2, data)
    assert values == [{"name": "a", "id": 1, "note": "-"}, {"name": "b", "id": 2**40, "note": "n"}]
    assert [[field.name for field in schema.fields] for schema in schemas] == [["name", "id", "note"]] * 2
    assert [schema.version for schema in schemas] == [version, 2]


def test_protobufs_are_read_as_the_latest_message_of_their_name(double):
    pytest.importorskip("grpc_tools")
    older, newer = (
        'syntax = "proto3"; package p; message Other { int32 x = 1; } message In { string name = 1; }',
        'syntax = "proto3"; package p; message In { string name = 1; int64 id = 2; } message Other { int32 x = 1; }',
    )
    for text in (older, newer):
        double.register("t-value", {"schema": text, "schemaType": "PROTOBUF"})
    data = b"\0\0\0\0\1" + b"\2\2" + b"\x0a\x01a"
    schema, value = converter("protobuf", double, use_latest_version="true").to_connect("t", (), data)
    assert value == {"name": "a", "id": 0}
    assert (schema.name, schema.version) == ("In", 2)


def test_a_record_that_does_not_fit_the_latest_schema_is_an_error(double):
    """``latest.compatibility.strict`` is a check of what is written; when reading, it is the values that count."""
    for fields in ('{"name":"a","type":"int"}', '{"name":"b","type":"int"}'):
        text = f'{{"type":"record","name":"R","fields":[{fields}]}}'
        double.register("t-value", {"schema": text, "schemaType": "AVRO"})
    with pytest.raises(DataError, match="lacks the field b of the schema it is read as"):
        converter("avro", double, use_latest_version="true").to_connect("t", (), b"\0\0\0\0\1\2")
    assert converter("avro", double).to_connect("t", (), b"\0\0\0\0\1\2")[1] == {"a": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_configured_id_says_what_messages_without_one_are(double, kind):
    data = written(kind, double)[0]
    payload = data[6:] if kind == "protobuf" else data[5:]
    deserializer = {"value_schema_id_deserializer": WIRE + "ConfigSchemaIdDeserializer"}
    made = converter(kind, double, use_schema_id="1", **deserializer)
    assert made.to_connect_batch(["t"] * 3, [()] * 3, [payload, None, payload])[1] == [
        {"id": 1, "name": "a"}, None, {"id": 1, "name": "a"},
    ]  # fmt: skip
    by_guid = converter(kind, double, use_schema_guid=double.schemas[0]["guid"], **deserializer)
    assert by_guid.to_connect("t", (), payload)[1] == {"id": 1, "name": "a"}
    with pytest.raises(ConfigError, match=r"use\.schema\.id"):
        converter(kind, double, **deserializer)


def record(*fields: str, name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [json.loads(field) for field in fields], **more}


ENUM = {"type": "enum", "name": "E", "symbols": ["a", "b", "c"]}
# writer's schema, reader's schema, values
PAIRS: dict[str, tuple[Any, Any, list[Any]]] = {
    "promotions": (["int", "long", "float", "string"], ["double", "bytes"], [1, 2**40, 0.5, "é"]),
    "to text": ("bytes", "string", [b"abc"]),
    "into a union": ("int", ["null", "string", "long"], [7]),
    "out of a union": (["null", "int"], "int", [7]),
    "items": ({"type": "array", "items": "int"}, {"type": "array", "items": "double"}, [[], [1, 2]]),
    "entries": ({"type": "map", "values": "int"}, {"type": "map", "values": "long"}, [{"a": 1}]),
    "a symbol that is gone": (ENUM, {**ENUM, "symbols": ["b", "x"], "default": "x"}, ["a", "b"]),
    "fields": (
        record('{"name":"a","type":"int"}', '{"name":"b","type":"string"}'),
        record('{"name":"b","type":"string"}', '{"name":"c","type":["null","int"],"default":null}',
               '{"name":"d","type":{"type":"array","items":"int"},"default":[1]}'),
        [{"a": 1, "b": "x"}],
    ),
    "aliases": (
        record('{"name":"a","type":"int"}', name="Old"),
        record('{"name":"z","type":"long","aliases":["a"]}', name="New", aliases=["Old"]),
        [{"a": 1}],
    ),
    "what contains itself": (
        record('{"name":"v","type":"int"}', '{"name":"next","type":["null","R"]}'),
        record('{"name":"next","type":["null","R"]}', '{"name":"v","type":"long"}'),
        [{"v": 1, "next": {"v": 2, "next": None}}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PAIRS)
def test_schemas_are_resolved_as_fastavro_does(case):
    from io import BytesIO

    old, new, values = PAIRS[case]
    writer, read_as = parse(json.dumps(old)), parse(json.dumps(new))
    schema = ToConnect(AvroOptions()).schema(read_as)
    read = reader(writer, schema, read_as=read_as).one
    for value in values:
        out = BytesIO()
        fastavro.schemaless_writer(out, fastavro.parse_schema(old), value)
        data = out.getvalue()
        data = data[1:] if old == "bytes" else data  # which messages have without a length
        theirs = fastavro.schemaless_reader(BytesIO(out.getvalue()), fastavro.parse_schema(old),
                                            fastavro.parse_schema(new))  # fmt: skip
        found = read(data, 0)
        if isinstance(new, list):  # Connect's struct of a union
            found = next(item for item in found.values() if item is not None)
        assert found == theirs
        if read_as.kind == "record":
            assert list(found) == [field.name for field in read_as.fields]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("string", "int", "Found string, expecting int"),
        (["null", "string"], "int", "Found string, expecting int"),
        ("boolean", ["null", "string"], "Found boolean, expecting union"),
        (ENUM, {**ENUM, "symbols": ["b"]}, "No match for a in the Avro enum E"),
        ({"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 2}, "Found F, expecting F"),
    ],
)
def test_an_unresolvable_value_is_an_error(old, new, words):
    change = resolution(parse(json.dumps(old)), parse(json.dumps(new)))
    assert change is not None
    with pytest.raises(Exception, match=words):
        change("a")


def test_defaults_of_records_bytes_and_unions():
    """fastavro leaves these as the JSON that they are in the schema."""
    inner = {
        "type": "record",
        "name": "In",
        "fields": [
            {"name": "x", "type": "bytes", "default": "\u00ff"},
            {"name": "y", "type": ["string", "null"], "default": "t"},
            {"name": "z", "type": ["int", "string"], "default": 5},
        ],
    }
    new = {"type": "record", "name": "R", "fields": [{"name": "r", "type": inner, "default": {"x": "a"}}]}
    writer, read_as = parse(json.dumps(record('{"name":"a","type":"int"}'))), parse(json.dumps(new))
    read = reader(writer, ToConnect(AvroOptions()).schema(read_as), read_as=read_as).one
    assert read(b"\2", 0) == {"r": {"x": b"a", "y": "t", "z": {"int": 5, "string": None}}}

"""The parsers of sources' input and of converters' bytes, with valid inputs of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from fuzz.parsers import Parser
from penstock.api.errors import ConnectError, DataError, SerializationError
from penstock.connectors.postgres import pgoutput
from penstock.connectors.singer.messages import Messages
from penstock.pipeline.converters import AvroConverter, JsonConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.access.client import SchemaText
from penstock.pipeline.converters.registry.wire import read_id
from penstock.pipeline.converters.simple_header import SimpleHeaderConverter
from pipeline.converters.registry.registry_double import running_double

# -- input of sources


def source_parsers() -> Iterator[Parser]:
    begin = b"B" + b"\0" * 20
    relation = b"R\0\0\0\5public\0t\0d\0\2\1id\0\0\0\0\x17\xff\xff\xff\xff\0b\0\0\0\0\x19\xff\xff\xff\xff"
    row = b"\0\2t\0\0\0\0011n"
    changes = [begin, relation, b"I\0\0\0\5N" + row, b"U\0\0\0\5O" + row + b"N" + row, b"D\0\0\0\5K" + row]
    yield Parser("pgoutput", pgoutput.decode, [*changes, b"T\0\0\0\1\0\0\0\0\5", b"C\0" + b"\0" * 24], (DataError,))
    columns = (
        b'{"a":{"type":"integer"},"b":{"type":["null","string"],"format":"date-time"},'
        b'"c":{"type":"array","items":{"type":"number"}}}'
    )
    schema = b'{"type":"SCHEMA","stream":"s","key_properties":["a"],"schema":{"properties":' + columns + b"}}"
    record = b'{"type":"RECORD","stream":"s","record":{"a":1,"b":"2026-01-01T00:00:00Z","c":[1.5]}}'

    def tap(data: bytes) -> None:
        messages = Messages(None)
        messages.add(schema)
        for line in data.split(b"\n"):
            messages.add(line)
        messages.take(10, all=True)

    yield Parser("Singer", tap, [schema + b"\n" + record, b'{"type":"STATE","value":{"x":1}}'], (ConnectError,))
    with_schema, without = JsonConverter(), JsonConverter()
    with_schema.configure({"schemas.enable": "true"}, is_key=False)
    without.configure({"schemas.enable": "false"}, is_key=False)
    fields = (
        b'{"field":"a","type":"int64","optional":true,"default":5},'
        b'{"field":"b","type":"array","items":{"type":"string"}},'
        b'{"field":"d","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}'
    )
    payload = b'"payload":{"a":1,"b":["x"],"d":"AQ=="}'
    envelope = b'{"schema":{"type":"struct","optional":false,"fields":[' + fields + b"]}," + payload + b"}"
    for name, converter, samples in (
        ("JSON with schemas", with_schema, [envelope, b'{"schema":{"type":"string"},"payload":"x"}']),
        ("JSON without schemas", without, [b'{"a":[1,2.5,null,"x",true],"b":{"c":1e5}}', b"[1]", b'"x"']),
    ):
        yield Parser(name, _converted(converter), samples, (DataError,))
    header = SimpleHeaderConverter()
    texts = [b"12", b"1.5e3", b"true", b'{"a":[1,2],"b":{}}', b"[1, 2, 3]", b"2026-01-01T00:00:00.000Z", b'"x"']
    yield Parser("headers", lambda data: header.to_connect_header("t", "k", data), texts)


def _converted(converter: Any, head: bytes = b"") -> Callable[[bytes], object]:
    def convert(data: bytes) -> None:
        one: Any = DataError()
        try:
            one = converter.to_connect("t", (), head + data)
        except DataError:
            pass
        try:
            schemas, values = converter.to_connect_batch(["t"] * 2, [()] * 2, [head + data] * 2)
        except DataError:
            schemas, values = [], []
        assert len(schemas) == len(values)
        assert bool(len(schemas)) == (not isinstance(one, DataError)), "alone as in a batch"
        if isinstance(one, DataError):
            raise one

    return convert


# -- the registry's formats


AVRO = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "a", "type": "long"},
        {"name": "b", "type": ["null", "string"], "default": None},
        {"name": "c", "type": {"type": "array", "items": "double"}},
        {"name": "d", "type": {"type": "map", "values": "bytes"}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "g", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}},
        {"name": "h", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "i", "type": ["null", "R"]},
    ],
}
AVRO_PAYLOAD = b"\2\2\2x\2" + b"\0" * 8 + b"\0\2\2k\4ab\0\2abc\4\1\2\0\0"
PROTOBUF = """syntax = "proto3"; import "google/protobuf/timestamp.proto";
message R { int64 a = 1; string b = 2; repeated double c = 3; map<string, bytes> d = 4; R e = 5;
  google.protobuf.Timestamp f = 6; oneof g { bool h = 7; sint32 i = 8; } enum E { X = 0; } E j = 9; }"""
PROTOBUF_PAYLOAD = b"\0\x08\1\x12\1x\x1a\x08" + b"\0" * 8 + b"\x22\5\x0a\1k\x12\0\x2a\2\x08\1\x32\2\x08\5\x38\1"
JSON_SCHEMA = {
    "type": "object",
    "title": "R",
    "properties": {
        "a": {"type": "integer", "connect.type": "int64"},
        "b": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "c": {"type": "array", "items": {"type": "number"}},
        "d": {"type": "object", "connect.type": "map", "additionalProperties": {"type": "string"}},
        "e": {"$ref": "#/definitions/E"},
    },
    "definitions": {"E": {"enum": ["x", "y"]}},
}
JSON_PAYLOAD = b'{"a":1,"b":"x","c":[1.5],"d":{"k":"v"},"e":"x"}'


def registry_parsers() -> Iterator[Parser]:
    yield Parser("registry: ids", read_id, [b"\0\0\0\0\1", b"\1" + b"x" * 16], (SerializationError,))
    kinds: list[tuple[str, type[Any], str, bytes]] = [
        ("AVRO", AvroConverter, json.dumps(AVRO), AVRO_PAYLOAD),
        ("PROTOBUF", ProtobufConverter, PROTOBUF, PROTOBUF_PAYLOAD),
        ("JSON", JsonSchemaConverter, json.dumps(JSON_SCHEMA), JSON_PAYLOAD),
    ]
    for kind, cls, text, payload in kinds:
        with running_double() as double:
            number = double.register("t-value", {"schema": text, "schemaType": kind})["id"]
            converter = cls()
            converter.configure({"schema.registry.url": double.url}, False)
            yield Parser(
                f"registry: {kind} payloads",
                _converted(converter, b"\0" + number.to_bytes(4, "big")),
                [payload],
                (DataError,),
            )
    for kind, cls, text, payload in kinds:
        yield Parser(f"registry: {kind} schemas", _schemas(kind, cls, payload), [text.encode()], (DataError,))


class _HostileRegistry:
    """A registry with one schema under every ID."""

    def __init__(self, kind: str) -> None:
        self.kind, self.text = kind, ""

    def by_id(self, what: str, id: int, subject: str | None = None) -> SchemaText:
        return SchemaText(self.kind, self.text)

    def versions(self, what: str, id: int) -> dict[str, int]:
        return {"t-value": 1}

    def close(self) -> None:
        pass


def _schemas(kind: str, cls: type[Any], payload: bytes) -> Callable[[bytes], object]:
    """Read a message whose schema is the input."""
    converter, registry = cls(), _HostileRegistry(kind)
    converter.configure({"schema.registry.url": "http://127.0.0.1:1"}, False)
    converter.registry = registry
    read = _converted(converter, b"\0\0\0\0\1")

    def parse(data: bytes) -> object:
        registry.text = data.decode("utf-8", "replace")
        converter._reading.expire()
        return read(payload)

    return parse

"""Payloads made to break a reader: each is a DataError, one by one and in a batch, and none hangs the reader, exhausts
its memory or ends its process.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import STRING, array, map_of, struct
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from pipeline.converters.registry.registry_double import RegistryDouble

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")


def record(*fields: tuple[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]})


EMPTY = {"type": "record", "name": "E", "fields": []}
AVRO = {
    "plain": record(("id", "long"), ("text", "string")),
    "list": record(("value", "long"), ("next", ["null", "R"])),
    "tree": record(("inner", {"type": "array", "items": "R"})),
    "empty": record(("items", {"type": "array", "items": EMPTY})),
    "map": record(("items", {"type": "map", "values": "long"})),
    "int": record(("id", "int"), ("day", {"type": "array", "items": "int"})),
    "top": "bytes",
    "array": json.dumps({"type": "array", "items": "long"}),
}
PROTOBUF = (
    'syntax = "proto3"; message Node { Node next = 1; string text = 2; repeated int64 many = 3 [packed = true]; }'
)
JSON = {
    "plain": '{"type":"object","properties":{"id":{"type":"integer","connect.type":"int64"},"x":{"type":"number"}}}',
    "tree": '{"type":"object","title":"R","properties":{"next":{"oneOf":[{"type":"null"},{"$ref":"#"}]}}}',
}
MANY = b"\xff\xff\xff\xff\xff\xff\xff\x7f"
"""A number of 56 bits as a varint; with a sign it is negative."""
POSITIVE = b"\xfe" + MANY[1:]
ENDLESS = b"\x80" * 1_000_000

PAYLOADS: dict[str, tuple[str, str, bytes]] = {
    "a text longer than the message": ("AVRO", AVRO["plain"], b"\2" + POSITIVE + b"abc"),
    "a text of negative length": ("AVRO", AVRO["plain"], b"\2\1abc"),
    "a number without an end": ("AVRO", AVRO["plain"], ENDLESS),
    "a length without an end": ("AVRO", AVRO["plain"], b"\2" + ENDLESS),
    "a list of many levels": ("AVRO", AVRO["list"], b"\2\2" * 500_000 + b"\2\0"),
    "a tree of many levels": ("AVRO", AVRO["tree"], b"\2" * 500_000 + b"\0" * 500_000),
    "an int of more than 32 bits": ("AVRO", AVRO["int"], b"\x80\x80\x80\x80\x80\x40\0"),
    "an int of more than 32 bits in an array": ("AVRO", AVRO["int"], b"\2\2\x80\x80\x80\x80\x80\x40\0"),
    "many items without a byte": ("AVRO", AVRO["empty"], POSITIVE + b"\0"),
    "many items in a negative block": ("AVRO", AVRO["empty"], MANY + b"\0\0"),
    "many entries that are not there": ("AVRO", AVRO["map"], POSITIVE + b"\2a\2"),
    "many numbers that are not there": ("AVRO", AVRO["array"], POSITIVE + b"\2\2"),
    "Protobuf of many levels": ("PROTOBUF", PROTOBUF, b"\0" + b"\x0a\x7f" * 500_000),
    "Protobuf: a text longer than the message": ("PROTOBUF", PROTOBUF, b"\0\x12" + POSITIVE + b"a"),
    "Protobuf: many numbers that are not there": ("PROTOBUF", PROTOBUF, b"\0\x1a" + POSITIVE + b"\1"),
    "Protobuf: a group that never ends": ("PROTOBUF", PROTOBUF, b"\0" + b"\x23" * 500_000),
    "Protobuf: many message indexes": ("PROTOBUF", PROTOBUF, POSITIVE + b"\0"),
    "Protobuf: an endless message index": ("PROTOBUF", PROTOBUF, ENDLESS),
    "Protobuf: a message that is not in the schema": ("PROTOBUF", PROTOBUF, b"\2\x0e"),
    "JSON of many levels": ("JSON", JSON["plain"], b"[" * 500_000),
    "JSON: objects of many levels": ("JSON", JSON["tree"], b'{"next":' * 200_000 + b"null" + b"}" * 200_000),
    "JSON: another kind of value": ("JSON", JSON["plain"], b"[1]"),
    "JSON: bytes that are no UTF-8": ("JSON", JSON["plain"], b'{"id":1,"x":"\xff\xfe"}'),
    "JSON: half a value": ("JSON", JSON["plain"], b'{"id":1,'),
}
KINDS = {"AVRO": AvroConverter, "PROTOBUF": ProtobufConverter, "JSON": JsonSchemaConverter}


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """So that a reader that takes too much fails here, rather than the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def registered(shared: RegistryDouble, type: str, text: str) -> tuple[Any, str, bytes]:
    """Return a converter, a topic, and the beginning of messages of this schema."""
    topic = f"t{abs(hash((type, text)))}"
    id = shared.register(f"{topic}-value", {"schema": text, "schemaType": type})["id"]
    converter = KINDS[type]()
    converter.configure({"schema.registry.url": shared.url}, False)
    return converter, topic, b"\0" + id.to_bytes(4, "big")


@pytest.mark.parametrize("what", PAYLOADS)
def test_a_hostile_payload_is_an_error_of_its_record(shared, what):
    type, text, payload = PAYLOADS[what]
    converter, topic, head = registered(shared, type, text)
    with pytest.raises(DataError):
        converter.to_connect(topic, (), head + payload)
    with pytest.raises(DataError):
        converter.to_connect_batch([topic] * 3, [()] * 3, [head + payload] * 3)


def test_a_valid_value_of_some_levels_is_read(shared):
    converter, topic, head = registered(shared, "AVRO", AVRO["list"])
    value = converter.to_connect(topic, (), head + b"\2\2" * 100 + b"\2\0")[1]
    levels = 0
    while value is not None:
        value, levels = value["next"], levels + 1
    assert levels == 101


def test_a_text_that_ends_anywhere_too_early(shared):
    converter, topic, head = registered(shared, "AVRO", AVRO["plain"])
    whole = head + b"\2\6abc"
    assert converter.to_connect(topic, (), whole)[1] == {"id": 1, "text": "abc"}
    for size in range(len(whole)):
        with pytest.raises(DataError):
            converter.to_connect(topic, (), whole[:size])
        with pytest.raises(DataError):
            converter.to_connect_batch([topic] * 2, [()] * 2, [whole, whole[:size]])


@pytest.mark.parametrize("header", [b"", b"\0", b"\1short", b"\7" + bytes(16), b"\1" + b"\xff" * 17])
def test_a_header_that_has_no_guid(shared, header):
    converter, topic, _ = registered(shared, "AVRO", AVRO["plain"])
    with pytest.raises(DataError, match=topic):
        converter.to_connect(topic, [("__value_schema_id", header)], b"\2\6abc")


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_of_another_format(shared, kind):
    other = {"AVRO": ("JSON", JSON["plain"]), "JSON": ("PROTOBUF", PROTOBUF), "PROTOBUF": ("AVRO", AVRO["plain"])}[kind]
    _, topic, head = registered(shared, *other)
    converter = KINDS[kind]()
    converter.configure({"schema.registry.url": shared.url}, False)
    with pytest.raises(DataError, match=topic):
        converter.to_connect(topic, (), head + b"\0\0\0")


ENDLESS_SCHEMAS = {
    "a property that is itself": ("JSON", '{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}'),
    "a schema that is itself": ("JSON", '{"$ref":"#"}'),
    "JSON of many levels": ("JSON", '{"type":"array","items":' * 600 + '{"type":"string"}' + "}" * 600),
    "Avro of many levels": ("AVRO", '{"type":"array","items":' * 600 + '"string"' + "}" * 600),
}


@pytest.mark.parametrize("name", ENDLESS_SCHEMAS)
def test_schemas_without_an_end_are_errors_of_their_records(shared: RegistryDouble, name: str) -> None:
    kind, text = ENDLESS_SCHEMAS[name]
    number = shared.register("endless-value", {"schema": text, "schemaType": kind})["id"]
    converter = (JsonSchemaConverter if kind == "JSON" else AvroConverter)()
    converter.configure({"schema.registry.url": shared.url}, False)
    with pytest.raises(DataError, match=rf"topic endless to .*id {number} is nested too deeply, or refers to itself"):
        converter.to_connect("endless", (), b"\0" + number.to_bytes(4, "big") + b"{}")


def test_a_reference_that_comes_back_to_itself_is_named(shared: RegistryDouble) -> None:
    reference = {"name": "y.json", "subject": "circle", "version": 1}
    schema = {"schema": '{"$ref":"y.json"}', "schemaType": "JSON", "references": [reference]}
    shared.register("circle", schema)
    number = shared.register("endless-value", schema)["id"]
    converter = JsonSchemaConverter()
    converter.configure({"schema.registry.url": shared.url}, False)
    with pytest.raises(DataError, match=r"reference y\.json, version 1 of circle: it refers to itself"):
        converter.to_connect("endless", (), b"\0" + number.to_bytes(4, "big") + b"{}")


@pytest.mark.parametrize("kind", [AvroConverter, ProtobufConverter])
@pytest.mark.parametrize("count", [1, 3])
def test_halves_of_surrogate_pairs_are_question_marks_as_in_java(
    shared: RegistryDouble, kind: type[Any], count: int
) -> None:
    schema = struct(("s", STRING), ("m", map_of(STRING, array(STRING)) if kind is AvroConverter else STRING), name="S")
    given = {"s": "a\ud800", "m": {"\udfff": ["\ud83d\ude00", "b"]} if kind is AvroConverter else "\ud83d\ude00"}
    expected = {"s": "a?", "m": {"?": ["\U0001f600", "b"]} if kind is AvroConverter else "\U0001f600"}
    converter = kind()
    converter.configure({"schema.registry.url": shared.url}, False)
    topic = f"halves-{kind.schema_type}"
    for values in ([given] * count, Table(["s", "m"], [[given["s"]] * count, [given["m"]] * count])):
        data = converter.from_connect_batch([topic] * count, [()] * count, [schema] * count, values)
        assert list(converter.to_connect_batch([topic] * count, [()] * count, data)[1]) == [expected] * count


@pytest.mark.parametrize("kind", KINDS.values())
def test_invalid_frames_are_refused(shared: RegistryDouble, kind: type[Any]) -> None:
    converter = kind()
    converter.configure({"schema.registry.url": shared.url}, False)
    for each in (converter.to_connect, lambda topic, _, item: converter.to_connect_batch([topic], [()], [item])):
        with pytest.raises(DataError, match="Unknown magic byte 110!"):
            each("t", (), b"no frame")
        with pytest.raises(DataError, match="2 bytes are too few"):
            each("t", (), b"\0\0")

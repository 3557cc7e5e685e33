"""The parsers that ``make soak-parsers`` tries, with valid inputs of each."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from struct import pack as struct_pack
from typing import Any

import msgspec
import yaml

from fuzz.parsers import Parser
from fuzz.parsers_of_records import registry_parsers, source_parsers
from penstock.api.columns import Table
from penstock.api.errors import ConfigError, ConnectError, DataError
from penstock.api.schema import FLOAT64, INT64, STRING, array, map_of, struct
from penstock.core.group.membership import Assignment
from penstock.core.model import records as r
from penstock.core.model.messages import Refused
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.status.statuses import Statuses
from penstock.declarative.variables import yaml_documents
from penstock.history.recorder import Recorder
from penstock.hosts.jvm.codec import decode, tags
from penstock.hosts.jvm.codec.decode import Decoder
from penstock.hosts.jvm.codec.schema_table import SchemaTable
from penstock.hosts.jvm.messages import protocol as jvm
from penstock.hosts.python import messages as python
from penstock.hosts.python import wire as pickled
from penstock.http import bodies
from penstock.http.access.authentication.htpasswd import users_in
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.roles import Roles
from penstock.http.routes.checks import check_request
from penstock.http.routes.connectors import alteration, creation
from penstock.http.routes.records import preview_request
from penstock.java import serialization
from penstock.java.errors import JaasError, KeyStoreError, PropertiesError
from penstock.java.jaas import sections
from penstock.java.key_stores import own_key, trusted
from penstock.java.properties import parse_properties
from penstock.kafka.group import protocol
from penstock.kafka.offsets.entries import OffsetEntries
from penstock.kafka.storage import config_records, history, status_records
from penstock.spark.messages import driver, task
from penstock.wire.framing import FrameDecoder
from penstock.wire.messages import MessageCodec, MessageError
from penstock.wire.plain import Message as PlainMessage
from penstock.wire.plain import MessageCodec as PlainCodec
from penstock.wire.plain import MessageError as PlainError
from penstock.worker.connector_file import parse_connector


class PlainProbe(PlainMessage):
    """A message with fields of all kinds."""

    a: int
    b: list[str]
    c: float | None = None


SPLIT = b"\x00\x01\x02"
"""Separator of a key and a value."""


def parsers() -> Iterator[Parser]:
    """Yield all parsers; those of the registry need one, which runs while they are used."""
    yield from _topics()
    yield from _group()
    yield from _wire()
    yield from _hosts()
    yield from _texts()
    yield from source_parsers()
    yield from registry_parsers()


# -- internal topics


def _pair(data: bytes) -> tuple[bytes | None, bytes | None]:
    key, found, value = data.partition(SPLIT)
    return key, value if found else None


def _topics() -> Iterator[Parser]:
    counts = (r.RestartCount(None, 1, 2, 3), r.RestartCount(0, 1, 2, 3))
    config: list[r.ConfigTopicRecord] = [
        r.ConnectorConfig("c", {"connector.class": "X", "tasks.max": "3"}),
        r.ConnectorConfig("c", None),
        r.TaskConfig(TaskId("c", 0), {"a": "b"}),
        r.TasksCommit("c", 1),
        r.TargetState("c", "STOPPED"),
        r.TaskCount("c", 2),
        r.SessionKey(b"k" * 32, "HmacSHA256", 5),
        r.RestartRequest("c", True, True),
        r.PolicyRestart("c", counts, counts),
        r.LoggerLevel("org.x", "DEBUG"),
    ]
    written = [config_records.encode(each) for each in config]
    state, offset = ClusterState(), itertools.count()

    def replay(data: bytes) -> None:
        found = config_records.decode(1, *_pair(data))
        if found is not None:
            state.replay(r.ConfigRecord(next(offset), found))
            config_records.encode(found)
        state.snapshot()

    yield Parser(
        "config topic", replay, [key + (SPLIT + value if value is not None else b"") for key, value in written]
    )

    status: list[r.StatusTopicRecord] = [
        r.ConnectorStatus("c", "RUNNING", "w:1", 1, "trace", "1.0"),
        r.TaskStatus(TaskId("c", 0), "FAILED", "w:1", 1, "trace"),
        r.TopicStatus("t", "c", 0, 5),
    ]
    statuses = Statuses()

    def observe(data: bytes) -> None:
        found = status_records.decode(0, 1, *_pair(data))
        if found is not None:
            statuses.replay(found)
            status_records.encode(found)

    pairs = [status_records.encode(each) for each in status]
    yield Parser("status topic", observe, [key + SPLIT + (value or b"") for key, value in pairs])

    def offsets(data: bytes) -> None:
        entries = OffsetEntries()
        entries.put([_pair(data), (b'["c",{"a":1}]', b'{"b":2}')])
        for connector in ("c", "d"):
            entries.snapshot(connector)
            entries.partitions(connector)

    yield Parser("offsets topic", offsets, [b'["c",{"file":"x","n":1}]' + SPLIT + b'{"position":5}', b'["d",null]'])

    entries = [
        b'{"type":"version","connector":"c","number":1,"offset":2,"time_ms":3,"change":"created","state":"STARTED",'
        b'"config":{"a":"b"},"principal":"x"}',
        b'{"type":"event","connector":"c","task":0,"time_ms":3,"kind":"state","state":"FAILED","worker":"w","generation":1,'
        b'"reason":"r","topic":null,"principal":null,"details":{"a":1}}',
    ]
    recorder = Recorder(1_000_000)

    def remember(data: bytes) -> None:
        found = history.decode(data)
        if found is not None:
            recorder.replay([found], 0)
            books = recorder.books
            if len(books.of) > 100:
                books.of.clear()
            for version in books.versions(found.connector):
                version.summary()
            for event in books.events(found.connector):
                event.to_json()
            books.forget_before(2)

    yield Parser("history topic", remember, entries)


# -- the group protocol


def _group() -> Iterator[Parser]:
    running = Assignment(("a", "b"), (TaskId("a", 0), TaskId("a", 1)), ("b",), (TaskId("a", 1),), 5, "l", "http://x", 5)
    metadata = [protocol.encode_metadata("http://x", 5, running, version) for version in (0, 1, 2)]
    assignments = [protocol.encode_assignment(running, version) for version in (0, 1, 2)]
    yield Parser("group: metadata", lambda data: protocol.decode_metadata("m", data), metadata, (ValueError,))
    yield Parser("group: assignment", protocol.decode_assignment, assignments, (ValueError,))


# -- messages between processes


def _wire() -> Iterator[Parser]:
    def frames(data: bytes) -> None:
        decoder = FrameDecoder(1000)
        for start in range(0, len(data), 7):
            list(decoder.feed(data[start : start + 7]))

    yield Parser("frames", frames, [b"\0\0\0\2ab\0\0\0\0", b"\0\0\3\xe8" + b"x" * 1000], (ConnectionError,))
    yield Parser("task channel: identity", task.IDENTITIES.decode, samples_of(task.IDENTITIES), (MessageError,))
    for name, codec in {
        "task channel: from a task": task.FROM_TASK,
        "task channel: from a worker": task.FROM_WORKER,
        "task channel: admission": task.ADMISSIONS,
        "task channel: presentation": task.PRESENTATIONS,
        "Spark's driver: commands": driver.COMMANDS,
        "Spark's driver: events": driver.EVENTS,
    }.items():
        yield Parser(name, codec.decode, samples_of(codec), (MessageError,))


def samples_of(codec: MessageCodec[Any]) -> list[bytes]:
    """Return one message of each class of a protocol, with a value in each field."""
    return [json.dumps(_sample(msgspec.inspect.type_info(each))).encode() for each in codec.classes]


def _sample(kind: Any) -> Any:
    match kind:
        case msgspec.inspect.StructType():
            members = {each.encode_name: _sample(each.type) for each in kind.fields}
            if kind.array_like:
                return list(members.values())
            return members if kind.tag is None else {kind.tag_field: kind.tag, **members}
        case msgspec.inspect.UnionType():
            return _sample(next(each for each in kind.types if not isinstance(each, msgspec.inspect.NoneType)))
        case msgspec.inspect.DictType():
            return {"k": _sample(kind.value_type)}
        case msgspec.inspect.TupleType():
            return [_sample(each) for each in kind.item_types]
        case msgspec.inspect.LiteralType():
            return kind.values[0]
        case msgspec.inspect.DataclassType() | msgspec.inspect.NamedTupleType() | msgspec.inspect.TypedDictType():
            found = {each.encode_name: _sample(each.type) for each in kind.fields}
            return list(found.values()) if isinstance(kind, msgspec.inspect.NamedTupleType) else found
        case msgspec.inspect.BytesType():
            return "YWI="
        case msgspec.inspect.StrType():
            return "x"
        case msgspec.inspect.IntType():
            return 1
        case msgspec.inspect.FloatType():
            return 1.5
        case msgspec.inspect.BoolType():
            return True
        case _ if hasattr(kind, "item_type"):
            return [_sample(kind.item_type)]
        case _:
            return {"a": [1, "x", None]}


# -- plugin hosts


def _hosts() -> Iterator[Parser]:
    failure = (
        b'{"type":"failure","number":1,"error":{"classes":["java.lang.Error"],"message":"m","causes":[],"trace":"t"}}'
    )
    reply, call = (
        b'{"type":"reply","number":1,"result":{"a":[1]}}',
        b'{"type":"call","message":{"type":"log"},"during":1}',
    )
    yield Parser("JVM: envelopes", jvm.ENVELOPES_FROM_JVM.decode, [failure, reply, call], (MessageError,))
    yield Parser("JVM: messages", jvm.FROM_JVM.decode, samples_of(jvm.FROM_JVM), (MessageError,))

    row = struct(("a", INT64), ("b", STRING), ("c", array(FLOAT64)), ("d", map_of(STRING, INT64)))
    sent = SchemaTable()
    number = sent.number(row)
    texts = _column(tags.STRING, 2, _i32(1, 2, 4), b"x\xc3\xa9a")
    doubles, none = _column(tags.FLOAT64, 1, struct_pack("<d", 0.5)), bytes([tags.NULLS]) + _i32(0)
    longs = _column(tags.INT64, 2, struct_pack("<2q", 1, 2))
    one_text = _column(tags.STRING, 1, _i32(1, 1), b"k")
    one_long = _column(tags.INT64, 1, struct_pack("<q", 1))
    lists, maps = _column(tags.ARRAY, 2, _i32(1, 0), doubles), _column(tags.MAP, 2, _i32(0, 1), one_text + one_long)
    structs = b"\1" + _i32(2, number) + _column(tags.STRUCT, 2, _i32(number), longs + texts + lists + maps)
    mixed = bytes([tags.MIXED]) + _i32(2, 2) + b"\0\1" + _i32(0) + one_text + _i32(1) + one_long
    repeated = bytes([tags.REPEATED]) + _i32(3) + one_text
    moments = _column(tags.DATE, 1, struct_pack("<q", 5)) + _column(tags.DECIMAL, 1, _i32(2, 1), b"\5")
    descriptions = sent.take_descriptions()
    received = SchemaTable()
    received.learn(json.loads(json.dumps(descriptions)))

    decode.MAX_ROWS = 1 << 16  # 100,000 inputs would reach the real limit often

    def columns(data: bytes) -> None:
        decoder = Decoder(memoryview(data), received.get)
        found = decoder.columns(decoder.schema_column())
        _ = found.rows() if isinstance(found, Table) else found
        while decoder._at < len(data):
            decoder.plain()

    yield Parser(
        "JVM: columns", columns, [structs + each for each in (mixed, repeated, moments, none, texts)], (DataError,)
    )
    yield Parser("JVM: schemas", lambda data: _learned(data), [json.dumps(descriptions).encode()], (DataError,))

    yield Parser("Python host: messages", python.FROM_PLUGIN.decode, samples_of(python.FROM_PLUGIN), (MessageError,))
    plain = PlainCodec[Any]("the Python host", PlainProbe)
    yield Parser(
        "Python host: without msgspec", plain.decode, [b'{"type":"PlainProbe","a":1,"b":["x"],"c":null}'], (PlainError,)
    )
    objects = [pickled.write(each) for each in ([1, "a", None, 2.5, b"x"], {"a": (1, 2)}, Decimal("1.5"), row)]
    # A damaged pickle may name any index of the interpreter's memo, which then grows to it.
    yield Parser("Python host: pickles", pickled.read, objects, (ConnectError,), 6_000_000)


def _i32(*numbers: int) -> bytes:
    return struct_pack(f"<{len(numbers)}i", *numbers)


def _column(tag: int, rows: int, *parts: bytes) -> bytes:
    """Return a column without nulls."""
    return bytes([tag]) + _i32(rows) + b"\0" + b"".join(parts)


def _learned(data: bytes) -> None:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return  # envelopes are JSON
    if found is None or isinstance(found, list):
        SchemaTable().learn(found)


# -- files and bodies


def _texts() -> Iterator[Parser]:
    def text(parse: Callable[[str], object]) -> Callable[[bytes], object]:
        return lambda data: parse(data.decode("iso-8859-1"))

    properties = [b"a=b\n# c\nd : e\\\n f\n\\u0041=\\t", b"bootstrap.servers=h:1\r\nkey.converter=X"]
    yield Parser("properties", text(parse_properties), properties, (PropertiesError,))
    documents = [b"a: &a {b: [1, 2.5, 2026-01-01]}\nc: *a\n---\n- <<: *x\n- ~\n", b"name: x\nconfig:\n  a: |\n    b\n"]
    yield Parser(
        "YAML", text(lambda given: list(yaml_documents(given))), [documents[1], b"a: &a [1]\nb: *a"], (yaml.YAMLError,)
    )
    roles = b"groups:\n  ops: [a, b]\nrules:\n  - groups: [ops]\n    connectors: ['x-*']\n    actions: [view]\n"
    yield Parser("roles", text(Roles.parse), [roles], (RestSettingError,))
    yield Parser("htpasswd", text(users_in), [b"# x\na:$2b$05$" + b"x" * 53 + b"\n"], (RestSettingError,))
    jaas = b'KafkaClient { org.x.PlainLoginModule required user="a" pass="b\\"c"; };\n/* c */ B { x.Y optional; };'
    yield Parser("JAAS", text(sections), [jaas], (JaasError,))
    file = b'{"name":"x","config":{"connector.class":"C","tasks.max":1}}'
    named = functools.partial(parse_connector, Path("x"))
    yield Parser("connector files", named, [file, b'{"name":"x","a":"b"}', b"name=x\na=b"], (ConfigError,))

    def body(make: Callable[[Any], object]) -> Callable[[bytes], object]:
        return lambda data: make(bodies.parse(data))

    yield Parser("body: a connector", body(creation), [file], (Refused,))
    config = b'{"connector.class":"C","a":1,"b":true,"c":null,"d":1.50}'
    yield Parser("body: a configuration", body(lambda given: bodies.config(given, "it")), [config], (Refused,))
    offsets = b'{"offsets":[{"partition":{"a":"b"},"offset":{"c":1}},{"partition":{"a":"d"},"offset":null}]}'
    yield Parser("body: offsets", body(alteration), [offsets], (Refused,))
    preview = b'{"config":{"connector.class":"C","name":"x"},"records":5}'
    check = b'{"config":{"connector.class":"C"},"name":"x","seconds":5}'
    yield Parser("body: a check", body(lambda given: _or_refused(check_request, given)), [check], (Refused,))
    yield Parser("body: a preview", body(lambda given: _or_refused(preview_request, given)), [preview], (Refused,))
    store = serialization.dump([(b"k", b"v"), (b"l", None)])
    yield Parser("serialized map", serialization.load, [store], (ValueError,))

    def key_store(data: bytes) -> None:
        for parse in (lambda: trusted(data, "x"), lambda: own_key(data, "x", None)):
            try:
                parse()
            except KeyStoreError:
                continue

    entry = b"\0\0\0\2\0\1a" + b"\0" * 8 + b"\0\5X.509" + b"\0\0\0\3abc"
    yield Parser("key stores", key_store, [b"\xfe\xed\xfe\xed\0\0\0\2\0\0\0\1" + entry + b"x" * 20, b"0\x82\1\1\2\1\3"])


def _or_refused(parse: Callable[[Any], object], given: Any) -> object:
    try:
        return parse(given)
    except Refused:
        return None

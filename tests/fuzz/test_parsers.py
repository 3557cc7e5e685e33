"""A short run of ``make soak-parsers``: hostile inputs for every parser of bytes from outside."""

from __future__ import annotations

import json
import random

import pytest

from fuzz.parsers import Parser, damaged, run
from fuzz.parsers_of_penstock import parsers
from penstock.api.errors import ConnectError, DataError
from penstock.connectors.postgres import pgoutput
from penstock.hosts.jvm.codec import tags
from penstock.hosts.jvm.codec.decode import Decoder
from penstock.hosts.jvm.codec.schema_table import SchemaTable
from penstock.hosts.python import wire
from penstock.kafka.storage import history
from penstock.pipeline.converters import JsonConverter
from penstock.wire.messages import Message, MessageCodec

pytestmark = pytest.mark.security

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")
INPUTS = {"registry: PROTOBUF schemas": 100}
"""Number of inputs of slow parsers; others get 300."""


def test_every_parser_refuses_hostile_inputs_with_the_errors_that_are_expected() -> None:
    names, faults = set(), {}
    for parser in parsers():
        names.add(parser.name)
        result = run(parser, INPUTS.get(parser.name, 300), 45)
        assert result.inputs >= 100
        faults |= {f"{parser.name}: {error}": data for error, data in result.faults.items()}
    assert faults == {}
    assert len(names) >= 35


def test_faults_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.parsers.MAX_S", 0.02)

    def parse(data: bytes) -> None:
        while len(data) > 8:
            random.random()
        json.loads(data.decode("iso-8859-1"))

    result = run(Parser("json", parse, [b"[1, 2]", b"null"]), 50, 1)
    assert any(error.startswith("JSONDecodeError") for error in result.faults)
    assert result.refused == 0
    assert any(error.startswith("TooSlowError") for error in result.faults)


def test_inputs_are_the_same_for_a_seed() -> None:
    seen: list[list[bytes]] = [[], []]
    for each in seen:
        run(Parser("none", each.append, [b"abc"]), 500, 7)
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > 200
    assert damaged([b"x"]) is not None


@pytest.mark.parametrize(
    "columns",
    [
        bytes([tags.NULLS]) + b"\xff\xff\xff\x7f",
        bytes([tags.NULLS]) + b"\xff\xff\xff\xff",
        (bytes([tags.REPEATED]) + b"\xff\xff\xff\x7f") * 5 + bytes([tags.NULLS]) + b"\1\0\0\0",
        (bytes([tags.REPEATED]) + b"\1\0\0\0") * 100_000,
        bytes([tags.ARRAY]) + b"\1\0\0\0\0\xff\xff\xff\xff" + bytes([tags.NULLS]) + b"\xff\0\0\0",
        bytes([99]) + b"\1\0\0\0\0",
    ],
)
def test_columns_of_a_jvm_that_announce_more_than_they_have_are_refused(columns: bytes) -> None:
    with pytest.raises(DataError, match="from the JVM"):
        Decoder(memoryview(columns), SchemaTable().get).plain()


@pytest.mark.parametrize("data", [b"", b"\x80\x05]", b"\x80\x05\x8c\x01\xff.", b"cos\nsystem\n."])
def test_pickles_that_are_none_are_errors_of_the_plugin(data: bytes) -> None:
    with pytest.raises(ConnectError):
        wire.read(data)


@pytest.mark.parametrize("data", [b"", b"B", b"R\0\0\0\1x", b"I\0\0\0\5N\0\1t\xff\xff\xff\xff"])
def test_messages_of_replication_that_are_none_are_data_errors(data: bytes) -> None:
    with pytest.raises(DataError):
        pgoutput.decode(data)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("time_ms", None),
        ("time_ms", "x"),
        ("time_ms", 10**30),
        ("connector", 5),
        ("number", None),
        ("config", {"a": [1]}),
    ],
)
def test_history_of_other_types_is_ignored(member: str, value: object) -> None:
    entry = {
        "type": "version",
        "connector": "c",
        "number": 1,
        "offset": 2,
        "time_ms": 3,
        "change": "created",
        "state": "STARTED",
        "config": {},
    }
    assert history.decode(json.dumps(entry).encode()) is not None
    assert history.decode(json.dumps({**entry, member: value}).encode()) is None


class Probe(Message, frozen=True):
    """A message that holds anything."""

    value: object


def test_a_message_with_numbers_and_texts_that_json_lacks_can_be_read_by_the_other_side() -> None:
    codec = MessageCodec[Probe]("the probe", Probe)
    assert codec.decode(codec.encode(Probe({"a": float("inf"), "b": "\ud800"}))) == Probe({"a": None, "b": "\ud800"})


@pytest.mark.parametrize("schemas", ["true", "false"])
def test_json_behind_a_zero_byte_is_refused_alone_and_in_a_batch(schemas: str) -> None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": schemas}, is_key=False)
    with pytest.raises(DataError):
        converter.to_connect("t", (), b'\0{"c":1}}')
    with pytest.raises(DataError):
        converter.to_connect_batch(["t"] * 2, [()] * 2, [b'\0{"c":1}}'] * 2)

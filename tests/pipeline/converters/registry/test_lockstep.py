"""Batches that are read in lockstep are what their messages are one by one, and bytes that are none are refused."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.columns import Table
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    TIMESTAMP,
    struct,
)
from penstock.pipeline.converters import AvroConverter, ProtobufConverter
from penstock.pipeline.converters.registry.avro.options import AvroOptions
from penstock.pipeline.converters.registry.avro.reader import reader
from penstock.pipeline.converters.registry.avro.schema.text import parse
from penstock.pipeline.converters.registry.avro.to_connect import ToConnect
from penstock.pipeline.converters.registry.mapping.lockstep import Lockstep
from penstock.pipeline.converters.registry.mapping.varints import varint
from penstock.pipeline.converters.registry.protobuf.columns import column_reader
from penstock.pipeline.converters.registry.protobuf.files import message_at, pool_of
from penstock.pipeline.converters.registry.protobuf.files import parse as parse_protobuf
from penstock.values.packed_lines import packed_lines
from penstock.values.printing import to_string
from pipeline.converters.registry.registry_double import RegistryDouble

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

COUNT = 60
FIELDS = {
    "a": (INT8, st.integers(-128, 127)),
    "i": (INT32, st.integers(-(2**31), 2**31 - 1)),
    "l": (INT64, st.integers(-(2**63), 2**63 - 1)),
    "f": (FLOAT32, st.floats(width=32)),
    "d": (FLOAT64, st.floats()),
    "b": (BOOLEAN, st.booleans()),
    "s": (STRING, st.text(st.characters(exclude_categories=("Cs",)), max_size=70)),
    "y": (BYTES, st.binary(max_size=5)),
    "ol": (OPTIONAL_INT64, st.none() | st.integers(-3, 2**40)),
    "os": (OPTIONAL_STRING, st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=3)),
}
SCHEMA = struct(*((name, pair[0]) for name, pair in FIELDS.items()), name="Row")
ROWS = st.lists(st.fixed_dictionaries({name: pair[1] for name, pair in FIELDS.items()}), min_size=1, max_size=3)


def made(kind: type[Any], shared: RegistryDouble, **settings: str) -> Any:
    converter = kind()
    converter.configure({"schema.registry.url": shared.url, **settings}, False)
    return converter


def shown(rows: Any) -> str:
    """NaN is equal to itself, and zeros have signs."""
    return repr([sorted(row.items()) if isinstance(row, dict) else row for row in rows])


@given(ROWS)
@pytest.mark.parametrize(
    ("kind", "more"),
    [(AvroConverter, {}), (ProtobufConverter, {"optional.for.nullables": "true"}), (ProtobufConverter, {})],
)
def test_a_batch_is_its_messages(shared, kind, more, rows):
    converter = made(kind, shared, **more)
    rows = (rows * COUNT)[:COUNT]
    n = len(rows)
    data = converter.from_connect_batch(["t"] * n, [()] * n, [SCHEMA] * n, rows)
    found, values = converter.to_connect_batch(["t"] * n, [()] * n, data)
    assert isinstance(values, Table)
    assert shown(values) == shown(converter.to_connect("t", (), message)[1] for message in data)
    lines = packed_lines(found[0], values)
    assert lines is not None
    assert bytes(lines).decode() == "".join([to_string(found[0], row) + "\n" for row in values])
    if kind is AvroConverter or more:
        assert shown(values) == shown(rows)


INNER = struct(
    ("n", OPTIONAL_INT64), ("s", STRING), ("at", TIMESTAMP.with_(optional=True)), name="Inner", optional=True
)
NESTED = struct(
    ("first", STRING), ("inner", INNER.with_(optional=False)), ("maybe", INNER), ("last", INT8), name="Outer"
)
INNER_ROWS = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(0, 2**40),
        "s": st.text(st.characters(exclude_categories=("Cs",)), max_size=3),
        "at": st.none() | st.integers(0, 2**31).map(lambda second: dt.datetime.fromtimestamp(second, dt.UTC)),
    }
)
NESTED_ROWS = st.fixed_dictionaries(
    {"first": st.just("é"), "inner": INNER_ROWS, "maybe": st.none() | INNER_ROWS, "last": st.integers(-128, 127)}
)


@given(st.lists(NESTED_ROWS, min_size=1, max_size=4))
def test_records_in_records(shared, rows):
    """Such structs are tables in tables, and are printed as lines without being made."""
    converter = made(AvroConverter, shared)
    rows = (rows * COUNT)[:COUNT]
    data = converter.from_connect_batch(["nested"] * COUNT, [()] * COUNT, [NESTED] * COUNT, rows)
    schemas, values = converter.to_connect_batch(["nested"] * COUNT, [()] * COUNT, data)
    assert isinstance(values, Table)
    assert isinstance(values.column("inner"), Table)
    lines = packed_lines(schemas[0], values)
    assert lines is not None
    assert bytes(lines).decode() == "".join([to_string(schemas[0], row) + "\n" for row in rows])
    assert list(values) == rows


def test_logical_types(shared):
    schema = struct(("at", TIMESTAMP), ("maybe", TIMESTAMP.with_(optional=True)), name="Times")
    first = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    rows = [{"at": first + dt.timedelta(hours=i), "maybe": first if i % 2 else None} for i in range(COUNT)]
    converter = made(AvroConverter, shared)
    data = converter.from_connect_batch(["u"] * COUNT, [()] * COUNT, [schema] * COUNT, rows)
    found = converter.to_connect_batch(["u"] * COUNT, [()] * COUNT, data)[1]
    assert isinstance(found, Table)
    assert list(found) == rows


AVRO = (
    '{"type":"record","name":"R","fields":[{"name":"l","type":"long"},{"name":"s","type":"string"},'
    '{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},{"name":"x","type":{"type":"fixed",'
    '"name":"X","size":2}},{"name":"o","type":["int","null"]},{"name":"b","type":"boolean"}]}'
)
WELL_FORMED = b"\x86\x88\x01" + b"\x06a\xc3\xa9" + b"\x02" + b"xy" + b"\x00\x05" + b"\x01"


def damaged(message: bytes, random: random.Random) -> bytes:
    """Change, remove or add one byte."""
    place = random.randrange(len(message))
    byte = bytes([random.choice((0, 1, 2, 0x7F, 0x80, 0xC3, 0xFF))])
    return message[:place] + random.choice((b"", byte, byte + message[place : place + 1])) + message[place + 1 :]


def outcome(read: Any) -> str | None:
    try:
        found = read()
    except Exception:
        return None
    return None if found is None else shown(found)


@pytest.mark.parametrize("to_the_end", [False, True])
def test_damaged_avro_is_never_read_otherwise_than_one_by_one(to_the_end):
    avro = parse(AVRO, {})
    read = reader(avro, ToConnect(AvroOptions()).schema(avro, 1), to_the_end)
    many = [WELL_FORMED] * COUNT
    assert outcome(lambda: read.all(many, 0)) == shown(read.one(each, 0) for each in many)
    dice, read_all = random.Random(7), 0
    for _ in range(1500):
        many[-2:] = [damaged(WELL_FORMED, dice), WELL_FORMED if dice.random() < 0.5 else damaged(WELL_FORMED, dice)]
        together = outcome(lambda: read.all(many, 0))
        if together is not None:
            read_all += 1
            assert together == outcome(lambda: [read.one(each, 0) for each in many])
    assert 0 < read_all < 1500


PROTOBUF = """syntax = "proto3"; enum E { A = 0; B = 1; } message R { int32 i = 1; sint64 z = 2; string s = 3;
optional uint64 u = 4; E e = 5; bool b = 6; double d = 7; bytes y = 20;
fixed32 f = 21; sint32 g = 22; uint32 h = 23; }"""


def test_damaged_protobuf_is_never_read_otherwise_than_one_by_one():
    from google.protobuf.message_factory import GetMessageClass

    files = parse_protobuf(PROTOBUF, {})
    message = message_at(pool_of(files).FindFileByName(files[-1].name), (0,))
    kind = GetMessageClass(message)
    columns = column_reader(message, {"u"})
    assert columns is not None
    names = [field.name for field in message.fields]

    def together(many: list[bytes]) -> list[tuple[Any, ...]]:
        found = columns(many, 0)
        return list(zip(*(found[name] for name in names), strict=True))

    def alone(data: bytes) -> tuple[Any, ...]:
        found = kind.FromString(data)
        return tuple(None if name == "u" and not found.HasField("u") else getattr(found, name) for name in names)

    full = kind(i=-5, z=-(2**62), s="é", u=2**64 - 1, e=7, b=True, d=-0.0, y=b"\xff", f=9, g=-3, h=2**32 - 1)
    sparse, other = kind(s="ab", y=b"x"), kind(i=3, u=0, d=1.5)
    messages = [each.SerializeToString() for each in (full, sparse, other, kind())]
    many = messages * 15
    assert shown(together(many)) == shown(map(alone, many))
    dice, read_all = random.Random(7), 0
    for _ in range(2000):
        bad = [damaged(message, dice) for message in messages[:3]]
        found = outcome(lambda bad=bad: together(many + bad))
        if found is not None:
            read_all += 1
            assert found == outcome(lambda bad=bad: list(map(alone, many + bad)))
    assert 0 < read_all < 2000


def test_fields_that_need_a_parser_are_left_to_it():
    for body in ("repeated int32 i = 1;", "R r = 1;", "oneof o { int32 i = 1; }", "map<string, int32> m = 1;", ""):
        files = parse_protobuf(f'syntax = "proto3"; message R {{ {body} }}', {})
        assert column_reader(message_at(pool_of(files).FindFileByName(files[-1].name), (0,)), set()) is None


def test_numbers_end_at_64_bits():
    assert Lockstep([b"\xff" * 9 + b"\x01"] * 2, 0).varints().tolist() == [2**64 - 1] * 2
    for bad in (b"\xff" * 9 + b"\x02", b"\x80" * 11):
        with pytest.raises(ValueError, match="64 bits"):
            Lockstep([b"\1", bad], 0).varints()
    with pytest.raises(ValueError, match="32 bits"):
        Lockstep([b"\x80\x80\x80\x80\x10"], 0).varints(32)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9).map(lambda bits: (1 << 7 * bits) - 1), min_size=1))
def test_numbers_of_any_length(numbers):
    step = Lockstep([varint(number) + b"\xff" for number in numbers], 0)
    assert step.varints().tolist() == numbers
    assert step.at.tolist() == (step.ends - 1).tolist()

"""Integers of registered schemas that Connect's type cannot hold, in each format."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from pipeline.converters.registry.registry_double import RegistryDouble

AVRO = """{"type":"record","name":"R","fields":[{"name":"inner","type":{"type":"record","name":"I","fields":[
    {"name":"n","type":["null",{"type":"int","connect.type":"int8"}],"default":null}]}}]}"""
JSON = """{"type":"object","properties":{"inner":{"type":"object","properties":
    {"n":{"oneOf":[{"type":"null"},{"type":"integer","connect.type":"int64"}]}}}}}"""
PROTOBUF = 'syntax = "proto3"; message R { I inner = 1; } message I { optional uint64 n = 1; fixed64 m = 2; }'


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def avro(number: int) -> bytes:
    return b"\2" + varint(2 * number)


def json(number: int) -> bytes:
    return b'{"inner":{"n":%d}}' % number


def protobuf(number: int) -> bytes:
    inner = b"\x08" + varint(number)
    return b"\0" + b"\x0a" + varint(len(inner)) + inner


FORMATS = {
    "avro": (AvroConverter, AVRO, "AVRO", avro, 127, 200, 200 - 256, "INT8 cannot hold: expected -128 to 127"),
    "json": (JsonSchemaConverter, JSON, "JSON", json, 2**63 - 1, 2**63, -(2**63), "INT64 cannot hold"),
    "protobuf": (ProtobufConverter, PROTOBUF, "PROTOBUF", protobuf, 2**63 - 1, 2**64 - 1, -1, "INT64 cannot hold"),
}


@pytest.mark.parametrize("coercion", ["none", "java"])
@pytest.mark.parametrize("name", FORMATS)
def test_an_integer_that_does_not_fit_is_an_error_unless_javas_value_is_asked_for(double, name, coercion):
    kind, text, type, message, fitting, beyond, javas, problem = FORMATS[name]
    if name == "avro":
        pytest.importorskip("fastavro")
    if name == "protobuf":
        pytest.importorskip("grpc_tools")
    head = _register(double, text, type)
    subject = kind()
    config = {"schema.registry.url": double.url, "penstock.coercion": coercion}
    subject.configure(config, is_key=False)

    def read(*numbers: int) -> list[Any]:
        data: list[bytes | None] = [head + message(number) for number in numbers]
        found = subject.to_connect_batch(["t"] * len(data), [()] * len(data), data)[1]
        return [value["inner"]["n"] for value in found]

    assert read(fitting, 0) == [fitting, 0]
    for numbers in ([beyond], [fitting, beyond], [1] * 40 + [beyond]):
        if coercion == "java":
            assert read(*numbers) == [*numbers[:-1], javas]
            continue
        with pytest.raises(DataError) as caught:
            read(*numbers)
        causes, error = [], caught.value
        while error is not None:
            causes.append(str(error))
            error = error.__cause__
        assert any(f"The value of the field inner.n is a number that {problem}" in cause for cause in causes), causes


def _register(double: RegistryDouble, text: str, type: str) -> bytes:
    number = double.register("t-value", {"schema": text, "schemaType": type})["id"]
    return b"\0" + int(number).to_bytes(4, "big")

"""Untyped properties of JSON Schema as variants, whose bytes PySpark, another implementation of the format, reads."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.variant_utils import VariantBuilder, VariantUtils

from penstock.api.errors import DataError
from penstock.api.schema import BYTES, INT64, Schema, SchemaType, array, struct
from penstock.pipeline.converters.registry.json_schema.documents import Documents
from penstock.pipeline.converters.registry.json_schema.options import JsonSchemaOptions
from penstock.pipeline.converters.registry.json_schema.payloads import PayloadWriter, payload_reader
from penstock.pipeline.converters.registry.json_schema.reader import ValueReader
from penstock.pipeline.converters.registry.json_schema.to_connect import to_connect
from penstock.pipeline.converters.registry.json_schema.to_json_schema import to_json_schema
from penstock.pipeline.converters.registry.json_schema.writer import ValueWriter
from penstock.pipeline.converters.registry.mapping.variant import VARIANT_NAME, from_variant, to_variant

OPTIONS = JsonSchemaOptions()
VARIANT = struct(("metadata", BYTES), ("value", BYTES)).with_(name=VARIANT_NAME)

NODES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.decimals(-(10**9), 10**9, places=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=70), inner, max_size=4),
    max_leaves=20,
)


def connect(node: dict[str, Any]) -> Schema:
    return to_connect(Documents(json.dumps(node), {}), OPTIONS)


def test_an_untyped_property_is_a_variant():
    node = {"type": "object", "properties": {"id": {"type": "integer"}, "extra": {"description": "any"}, "more": True}}
    expected = struct(("extra", VARIANT.with_(doc="any")), ("id", INT64), ("more", VARIANT))
    assert connect(node) == expected
    assert connect({"type": "array", "items": {}}) == array(VARIANT)


def test_untyped_values_are_read_and_written_unchanged():
    node = {"type": "object", "properties": {"id": {"type": "integer"}, "extra": {"description": "any"}}}
    schema = connect(node)
    reader = payload_reader(schema, ValueReader(10), None)
    writer = PayloadWriter(schema, ValueWriter(OPTIONS, 10), None, False)
    digits = "1234567890.1234567890123456789012345678"
    for extra in (digits, digits.replace(".", "")):
        again = writer.one(b"", reader.one(f'{{"id":1,"extra":{extra}}}'.encode(), 0))
        assert f'"extra":{extra}' in again.decode()
    for extra in ('{"a":[1]}', '[1,"two",true,null,{"b":{}}]', "1.5", "-7", "3000000000", '"text"', '{"z":1,"a":2.25}'):
        found = reader.one(f'{{"id":1,"extra":{extra}}}'.encode(), 0)
        assert found["id"] == 1
        assert set(found["extra"]) == {"metadata", "value"}
        again = json.loads(writer.one(b"", found))
        assert again == {"id": 1, "extra": json.loads(extra)}


def test_bytes_are_those_of_confluents_encoder():
    assert to_variant({"a": [1]}) == {
        "metadata": bytes.fromhex("01 01 00 01 61"),
        "value": bytes.fromhex("02 01 00 00 09 03 01 00 05 14 01 00 00 00"),
    }
    assert to_variant("é")["value"] == b"\x09\xc3\xa9"
    assert to_variant(Decimal("1.50"))["value"] == bytes.fromhex("20 02 96 00 00 00")


def test_a_variant_of_a_value_is_an_untyped_schema():
    assert to_json_schema(VARIANT, OPTIONS) == {"title": VARIANT_NAME}
    assert to_json_schema(VARIANT.with_(optional=True), OPTIONS) == {
        "oneOf": [{"type": "null"}, {"title": VARIANT_NAME}]
    }


@given(NODES)
def test_another_implementation_reads_the_same_value(node: Any):
    found = to_variant(node)
    assert VariantUtils.to_python(found["value"], found["metadata"]) == node
    assert from_variant(found) == node


@given(NODES)
def test_variants_of_another_implementation_are_read(node: Any):
    text = json.dumps(node, default=float)
    value, metadata = VariantBuilder().build(text)
    assert from_variant({"value": value, "metadata": metadata}) == json.loads(text, parse_float=Decimal)


def test_large_objects_and_texts_survive():
    node = {f"key {i}": "x" * (i % 300) for i in range(1000)}
    found = to_variant(node)
    assert VariantUtils.to_python(found["value"], found["metadata"]) == node
    assert from_variant(found) == node


def test_temporal_and_binary_variants_are_written_as_text():
    empty = bytes.fromhex("01 00 00")
    micros = (1_700_000_000_123_456).to_bytes(8, "little")
    for value, text in (
        (b"\x2c" + (19_000).to_bytes(4, "little"), "2022-01-08"),
        (b"\x30" + micros, "2023-11-14T22:13:20.123456Z"),
        (b"\x34" + micros, "2023-11-14T22:13:20.123456"),
        (b"\x44" + (3_723_000_000).to_bytes(8, "little"), "01:02:03"),
        (b"\x3c" + (2).to_bytes(4, "little") + b"\x00\xff", "AP8="),
        (b"\x50" + bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
    ):
        assert from_variant({"value": value, "metadata": empty}) == text


@pytest.mark.parametrize("value", [b"", b"\x14\x01", b"\x02\x01\x00\x00\x05", b"\xfc", b"\x09"])
def test_bytes_that_are_no_variant_are_refused(value: bytes):
    with pytest.raises(DataError, match="Invalid variant"):
        from_variant({"value": value, "metadata": bytes.fromhex("01 00 00")})


def test_a_number_with_too_many_digits_is_refused():
    with pytest.raises(DataError, match="38 at most"):
        to_variant(10**40)


@pytest.mark.parametrize("text", ["1E-10", "-1.5E-20", "1E-38", "1E+5", "-1.5E+37", "12345678.9E-3", "0E-30"])
def test_decimals_of_every_scale_are_read_by_another_implementation(text: str):
    found = to_variant(Decimal(text))
    assert from_variant(found) == Decimal(text)
    assert VariantUtils.to_python(found["value"], found["metadata"]) == Decimal(text)


@pytest.mark.parametrize("text", ["1E+200", "-1.5E-200", "0E+300", "1E-39", "1E+38"])
def test_numbers_with_large_exponents_become_doubles(text: str):
    found = to_variant(Decimal(text))
    assert from_variant(found) == float(text)
    assert VariantUtils.to_python(found["value"], found["metadata"]) == float(text)


def test_a_number_beyond_the_range_of_doubles_is_refused():
    with pytest.raises(DataError, match=r"1E\+400 does not fit a variant"):
        to_variant(Decimal("1E+400"))


def test_an_error_names_the_property():
    node = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "null"}}}}}
    with pytest.raises(DataError) as error:
        connect(node)
    assert str(error.value) == "Property a: Property b: Unsupported schema type org.everit.json.schema.NullSchema"


def test_a_struct_with_another_name_is_no_variant():
    schema = struct(("metadata", BYTES), ("value", BYTES))
    assert schema.type is SchemaType.STRUCT
    assert to_json_schema(schema, OPTIONS)["type"] == "object"

"""Defaults of Avro's schemas that are spelled as texts or stand for maps, as in Java; and names that it refuses."""

from __future__ import annotations

import json
from math import inf, isnan
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.avro.options import AvroOptions
from penstock.pipeline.converters.registry.avro.schema.text import parse, show
from penstock.pipeline.converters.registry.avro.to_connect import ToConnect

pytest.importorskip("fastavro")

ENTRIES = {
    "type": "array",
    "items": {
        "type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro",
        "fields": [{"name": "key", "type": "long"}, {"name": "value", "type": "int"}],
    },
}  # fmt: skip


def schema(node: Any) -> Schema:
    return ToConnect(AvroOptions()).schema(parse(json.dumps(node)))


def default_of_field(kind: Any, default: Any) -> Any:
    found = schema({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind, "default": default}]})
    return found.fields[0].schema.default


def test_numbers_that_json_does_not_have_are_defaults_of_fields():
    assert default_of_field("double", "-Infinity") == -inf
    assert isnan(default_of_field("float", "NaN"))
    text = '{"type":"record","name":"R","fields":[{"name":"f","type":"double","default":"Infinity"}]}'
    assert show(parse(text)) == text


def test_other_texts_are_no_defaults_of_numbers():
    with pytest.raises(DataError, match="The default of a field is no number: x"):
        default_of_field("double", "x")


def test_a_text_as_the_connect_default_of_a_number_is_zero():
    assert schema({"type": "double", "connect.default": "Infinity"}).default == 0.0
    assert schema({"type": "float", "connect.default": 0.5}).default == 0.5


def test_a_map_of_entries_may_be_empty_by_default():
    assert default_of_field(ENTRIES, []) == {}
    assert default_of_field(ENTRIES, [{"key": 1, "value": 2}]) is None
    assert schema({**ENTRIES, "connect.default": []}).default is None


def test_no_record_is_named_after_a_primitive():
    with pytest.raises(DataError, match="Schemas may not be named after primitives: int"):
        parse('{"type":"record","name":"int","fields":[]}')
    assert parse('{"type":"record","name":"int","namespace":"a","fields":[]}').full_name == "a.int"

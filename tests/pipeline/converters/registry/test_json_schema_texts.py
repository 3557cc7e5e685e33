"""Texts of JSON Schemas and payloads equal Java's to the byte: registries compare the texts of schemas."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    FLOAT64,
    INT16,
    INT32,
    OPTIONAL_BYTES,
    OPTIONAL_STRING,
    STRING,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)
from penstock.pipeline.converters import JsonSchemaConverter
from penstock.pipeline.converters.registry.json_schema.options import ENUM, ID, ONE_OF
from pipeline.converters.registry.registry_double import RegistryDouble

NAMED = {"name": "n", "doc": "d", "version": 2}
ENTRY = (
    '{"value":{"type":"string","connect.index":1},"key":{"type":"integer","connect.index":0,"connect.type":"int32"}}'
)

# Java's answers.
TEXTS: dict[str, tuple[Schema, str]] = {
    "a number": (
        INT16.with_(**NAMED, default=5),
        '{"type":"integer","title":"n","description":"d","default":5,"connect.version":2,"connect.type":"int16"}',
    ),
    "a boolean": (BOOLEAN.with_(name="n"), '{"title":"n","type":"boolean"}'),
    "an optional field": (
        struct(("f", OPTIONAL_STRING), name="R"),
        '{"type":"object","title":"R","properties":{"f":{"connect.index":0,"oneOf":[{"type":"null"},{"type":"string"}]}}}',
    ),
    "a decimal": (
        struct(("f", decimal(2))),
        '{"type":"object","properties":{"f":{"type":"string","title":"org.apache.kafka.connect.data.Decimal",'
        '"connect.index":0,"connect.version":1,"connect.type":"bytes","connect.parameters":{"scale":"2"}}}}',
    ),
    "an array": (array(BOOLEAN, name="n"), '{"type":"array","title":"n","items":{"type":"boolean"}}'),
    "a map": (
        map_of(STRING, BOOLEAN, version=1),
        '{"type":"object","connect.version":1,"connect.type":"map","additionalProperties":{"type":"boolean"}}',
    ),
    "a map of entries": (
        map_of(INT32, STRING),
        f'{{"type":"array","connect.type":"map","items":{{"type":"object","properties":{ENTRY}}}}}',
    ),
    "an enum": (
        STRING.with_(name="E", parameters={ENUM: "E", f"{ENUM}.E4": "", f"{ENUM}.three": "", f"{ENUM}.ONE": ""}),
        '{"enum":["ONE","three","E4"],"title":"E"}',
    ),
    "an id": (struct(name="R", parameters={ID: "#id1"}), '{"type":"object","title":"R","id":"#id1"}'),
    "parameters": (
        BOOLEAN.with_(parameters={"p.q": "1", "connect.x": "2"}),
        '{"connect.parameters":{"connect.x":"2","p.q":"1"},"type":"boolean"}',
    ),
    "a whole default": (FLOAT64.with_(default=1.0), '{"type":"number","default":1,"connect.type":"float64"}'),
    "a large default": (FLOAT64.with_(default=1e16), '{"type":"number","default":1.0E+16,"connect.type":"float64"}'),
    "a small default": (FLOAT64.with_(default=1e-5), '{"type":"number","default":0.000010,"connect.type":"float64"}'),
    "a default of entries": (
        map_of(INT32, STRING, default={27: "x"}),
        '{"type":"array","default":[{"value":"x","key":27}],"connect.type":"map",'
        f'"items":{{"type":"object","properties":{ENTRY}}}}}',
    ),
}


def converter(double: RegistryDouble, **settings: str) -> JsonSchemaConverter:
    found = JsonSchemaConverter()
    named = {name.replace("_", "."): value for name, value in settings.items()}
    found.configure({"schema.registry.url": double.url, **named}, is_key=False)
    return found


def payloads(subject: JsonSchemaConverter, schema: Schema | None, *values: Any) -> list[bytes | None]:
    """Convert the values as one batch, and check that each alone gives the same."""
    count = len(values)
    found = subject.from_connect_batch(["t"] * count, [()] * count, [schema] * count, list(values))
    assert found == [subject.from_connect("t", (), schema, value) for value in values]
    return [None if message is None else message[5:] for message in found]


@pytest.mark.parametrize("case", TEXTS)
def test_schemas(case, double: RegistryDouble):
    schema, text = TEXTS[case]
    assert converter(double).target(schema).text.text == text


def test_objects_without_other_properties(double: RegistryDouble):
    schema = struct(("f", BOOLEAN), name="R")
    found = converter(double, object_additional_properties="false").target(schema).text.text
    assert found == (
        '{"type":"object","additionalProperties":false,"title":"R",'
        '"properties":{"f":{"connect.index":0,"type":"boolean"}}}'
    )


def test_indented_as_by_jackson(double: RegistryDouble):
    schema = struct(("a", array(INT32)), ("b", map_of(INT32, STRING)), ("c", struct()))
    found = payloads(converter(double, json_indent_output="true"), schema, {"a": [1, 2], "b": {5: "x"}, "c": {}})
    entry = b'[ {\n    "key" : 5,\n    "value" : "x"\n  } ]'
    assert found == [b'{\n  "a" : [ 1, 2 ],\n  "b" : %b,\n  "c" : { }\n}' % entry]


def test_nulls_with_a_schema_are_written(double: RegistryDouble):
    subject = converter(double)
    assert payloads(subject, OPTIONAL_STRING, None, "x") == [b"null", b'"x"']
    assert payloads(subject, OPTIONAL_STRING.with_(default="d"), None) == [b'"d"']
    assert payloads(subject, STRING, None) == payloads(subject, None, None) == [None]
    message = subject.from_connect("t", (), OPTIONAL_STRING, None)
    assert subject.to_connect("t", (), message) == (OPTIONAL_STRING.with_(version=1), None)


def test_null_is_no_value_of_what_has_none(double: RegistryDouble):
    subject = converter(double)
    message = subject.from_connect("t", (), STRING, "x")
    assert message is not None
    with pytest.raises(DataError, match="Invalid null value for required STRING field"):
        subject.to_connect("t", (), message[:5] + b"null")


def test_the_member_of_a_union_is_written_alone(double: RegistryDouble):
    schema = struct(
        (f"{ONE_OF}.field.0", OPTIONAL_STRING), (f"{ONE_OF}.field.1", INT32.with_(optional=True)), name=ONE_OF
    )
    values = [
        {f"{ONE_OF}.field.0": None, f"{ONE_OF}.field.1": 7},
        {f"{ONE_OF}.field.0": "x", f"{ONE_OF}.field.1": None},
    ]
    assert payloads(converter(double), schema, *values) == [b"7", b'"x"']


def test_texts_in_unions_are_no_bytes(double: RegistryDouble):
    schema = struct((f"{ONE_OF}.field.0", OPTIONAL_BYTES), (f"{ONE_OF}.field.1", OPTIONAL_STRING), name=ONE_OF)
    subject = converter(double)
    message = subject.from_connect("t", (), schema, {f"{ONE_OF}.field.0": None, f"{ONE_OF}.field.1": "YQ=="})
    assert subject.to_connect("t", (), message)[1] == {f"{ONE_OF}.field.0": None, f"{ONE_OF}.field.1": "YQ=="}


def test_defaults_with_a_point_are_read(double: RegistryDouble):
    subject = converter(double, decimal_format="NUMERIC")
    for schema, default in ((decimal(2).with_(default=Decimal("1.25")), Decimal("1.25")), (INT32.with_(default=5), 5)):
        message = subject.from_connect("t", (), schema, default)
        double.schemas[-1]["schema"] = double.schemas[-1]["schema"].replace('"default":5', '"default":5.0')
        found = subject.to_connect("t", (), message)[0]
        assert found is not None
        assert found.default == default

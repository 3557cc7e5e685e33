"""Values that their schema's type cannot hold: an error that names the field, or what Java makes of them on request."""

from __future__ import annotations

import json
import re
from math import inf, isnan

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import FLOAT64, INT8, INT16, INT32, INT64, struct
from penstock.pipeline.converters.coercion import CoercionError
from pipeline.converters.json_values import converter

TYPES = {"int8": INT8, "int16": INT16, "int32": INT32, "int64": INT64}
MISFITS = [
    ("int8", b"300", 44, "is a number that INT8 cannot hold: expected -128 to 127"),
    ("int16", b"-32769", 32767, "is a number that INT16 cannot hold: expected -32768 to 32767"),
    ("int32", b"2147483648", -(2**31), "is a number that INT32 cannot hold: expected -2147483648 to 2147483647"),
    ("int64", b"9223372036854775808", -(2**63), "is a number that INT64 cannot hold"),
    ("int64", b"18446744073709551616", 0, "is a number that INT64 cannot hold"),
    ("int64", b"1e30", 5076944270305263616, "is a number that INT64 cannot hold"),
    ("int32", b"1.5", 1, "has a fraction, which INT32 cannot hold"),
    ("int32", b'"5"', 0, "is STRING in JSON: expected a number for INT32"),
    ("int32", b"true", 0, "is BOOLEAN in JSON: expected a number for INT32"),
    ("double", b'"5"', 0.0, "is STRING in JSON: expected a number for FLOAT64"),
    ("double", b"1e400", inf, "is a number that FLOAT64 cannot hold"),
    ("float", b"1e39", inf, "is a number that FLOAT32 cannot hold"),
    ("float", b"{}", 0.0, "is OBJECT in JSON: expected a number for FLOAT32"),
    ("boolean", b"1", False, "is NUMBER in JSON: expected true or false for BOOLEAN"),
    ("boolean", b'"true"', False, "is STRING in JSON: expected true or false for BOOLEAN"),
]


def data(kind: str, payload: bytes, more: str = "") -> bytes:
    field = json.loads(f'{{"type":"{kind}","field":"n","optional":true{more}}}')
    inner = {"type": "struct", "field": "inner", "fields": [field]}
    schema = {"type": "struct", "optional": False, "fields": [inner]}
    return b'{"schema":%b,"payload":{"inner":{"n":%b}}}' % (orjson.dumps(schema), payload)


def read(subject, *messages):
    found = [value for message in messages for value in [subject.to_connect("t", (), message)[1]]]
    together = subject.to_connect_batch(["t"] * len(messages), [()] * len(messages), list(messages))[1]
    assert list(together) == found
    return [value["inner"]["n"] for value in found]


@pytest.mark.parametrize(("kind", "payload", "javas", "problem"), MISFITS)
def test_a_value_that_does_not_fit_is_an_error_that_names_its_field(kind, payload, javas, problem):
    subject = converter()
    for messages in ([data(kind, payload)], [data(kind, b"null"), data(kind, payload)]):
        for convert in (
            lambda messages=messages: [subject.to_connect("t", (), message) for message in messages],
            lambda messages=messages: subject.to_connect_batch(["t"] * len(messages), [()] * len(messages), messages),
        ):
            with pytest.raises(DataError) as caught:
                convert()
            assert str(caught.value).startswith(f"The value of the field inner.n {problem}")
            assert "penstock.coercion=java" in str(caught.value)


@pytest.mark.parametrize(("kind", "payload", "javas", "problem"), MISFITS)
def test_on_request_a_value_becomes_what_java_makes_of_it(kind, payload, javas, problem):
    assert read(converter(penstock_coercion="java"), data(kind, b"null"), data(kind, payload)) == [None, javas]


@pytest.mark.parametrize(
    ("kind", "payload", "problem"),
    [
        ("string", b"5", "is NUMBER in JSON: expected a text for STRING"),
        ("bytes", b"[]", "is ARRAY in JSON: expected a text in base 64 for BYTES"),
    ],
)
def test_what_is_no_text_is_refused(kind, payload, problem):
    with pytest.raises(DataError, match=f"^The value of the field inner.n {problem}"):
        read(converter(), data(kind, payload))


def test_what_is_no_array_is_refused():
    schema = b'{"type":"array","items":{"type":"int8"}}'
    with pytest.raises(DataError, match=r"^The value is OBJECT in JSON: expected an array for ARRAY"):
        converter().to_connect("t", (), b'{"schema":%b,"payload":{"a":1}}' % schema)
    with pytest.raises(DataError, match=r"^The value is a number that INT8 cannot hold"):
        converter().to_connect("t", (), b'{"schema":%b,"payload":[1,128]}' % schema)


def test_a_timestamp_of_more_than_64_bits_is_refused():
    more = ',"name":"org.apache.kafka.connect.data.Timestamp"'
    with pytest.raises(DataError, match=r"^The value of the field inner.n is a number that INT64 cannot hold"):
        read(converter(), data("int64", b"9223372036854775808", more))


@pytest.mark.parametrize("payload", [b"9223372036854775808", b'{"a":[-9223372036854775809]}', b'{"a":1e999}'])
def test_numbers_that_data_without_a_schema_cannot_hold_are_refused(payload):
    with pytest.raises(CoercionError, match=r"64 bits with a sign cannot hold|FLOAT64 cannot hold"):
        converter(schemas_enable="false").to_connect("t", (), payload)


@pytest.mark.parametrize(
    ("kind", "payload"), [("int8", b"127.0"), ("int32", b"1e3"), ("int64", b"-9223372036854775808")]
)
def test_another_spelling_of_a_number_that_fits_is_read(kind, payload):
    assert read(converter(), data(kind, payload)) == [int(float(payload))]


def test_numbers_that_json_does_not_have_survive_the_way_there_and_back():
    subject = converter()
    schema = struct(("d", FLOAT64))
    for value in (float("nan"), inf, -inf):
        message = subject.from_connect("t", (), schema, {"d": value})
        found = subject.to_connect("t", (), message)[1]["d"]
        assert found == value or (isnan(found) and isnan(value))


@given(st.sampled_from(sorted(TYPES)), st.integers(-(2**70), 2**70) | st.integers(-300, 300))
def test_an_integer_arrives_unchanged_or_not_at_all(kind, number):
    half = 1 << (int(kind[3:]) - 1)
    message = data(kind, str(number).encode())
    if -half <= number < half:
        assert read(converter(), message) == [number]
    else:
        with pytest.raises(DataError, match="cannot hold"):
            read(converter(), message)


def test_the_default_of_a_field_is_read_as_by_java():
    assert read(converter(), data("int32", b"3", ',"default":"5"'), data("int32", b"null", ',"default":"5"')) == [3, 0]


def test_another_coercion_is_refused():
    with pytest.raises(ConfigError, match=r"penstock\.coercion"):
        converter(penstock_coercion="sometimes")


@pytest.mark.parametrize("number", [128, -129])
@pytest.mark.parametrize("enable", ["true", "false"])
def test_an_integer_that_its_schema_cannot_hold_is_not_written(number, enable):
    subject, schema = converter(schemas_enable=enable), struct(("a", INT8.with_(optional=True)), ("b", INT64))
    good, bad = {"a": None, "b": 2**63 - 1}, {"a": number, "b": 1}
    for values in ([bad], [good, bad], [{**good, "b": 2**63}], [good, {**good, "b": -(2**63) - 1}]):
        with pytest.raises(DataError, match=r"^Invalid type for INT(8|64): class ") as caught:
            subject.from_connect_batch(["t"] * len(values), [()] * len(values), [schema] * len(values), values)
        cause = "The field [ab] is an integer that INT(8|64) cannot hold: expected -"
        assert re.match(cause, str(caught.value.__cause__))
    assert subject.from_connect("t", (), schema, good) is not None

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.api.schema import BOOLEAN, BYTES, FLOAT32, INT16, INT32, INT64, OPTIONAL_BYTES, STRING
from penstock.pipeline import converters, transforms
from penstock.pipeline.converters import (
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
    SimpleHeaderConverter,
)
from penstock.pipeline.converters.simple_header import _parsed
from pipeline.transforms.applying import applied


def made(kind):
    subject = kind()
    subject.configure({}, is_key=True)
    return subject


@pytest.mark.parametrize(
    "kind", [LongConverter, IntegerConverter, ShortConverter, DoubleConverter, FloatConverter, BooleanConverter]
)
@given(data=st.data())
def test_batches_are_read_as_their_records_are(kind, data):
    subject = made(kind)
    size = 1 if kind is BooleanConverter else kind.form.size
    good = st.binary(min_size=size, max_size=size)
    some = data.draw(st.sampled_from([good, good | st.none(), st.none(), good | st.binary(max_size=9)]))
    rows = data.draw(st.lists(some, max_size=4))
    try:
        alone = [subject.to_connect("t", (), row) for row in rows]
    except DataError:
        with pytest.raises(DataError):
            subject.to_connect_batch(["t"] * len(rows), [()] * len(rows), rows)
    else:
        schemas, values = subject.to_connect_batch(["t"] * len(rows), [()] * len(rows), rows)
        assert repr(list(zip(schemas, values, strict=True))) == repr(alone)


def test_a_converter_that_is_derived_from_one_of_numbers_reads_each_itself():
    class Next(LongConverter):
        def to_connect(self, topic, headers, data):
            schema, value = super().to_connect(topic, headers, data)
            return schema, value + 1

    assert made(Next).to_connect_batch(["t"], [()], [bytes(8)])[1] == [1]


@given(st.integers(-(2**63), 2**63 - 1))
def test_longs_are_read_again(number):
    subject = made(LongConverter)
    data = subject.from_connect("t", (), INT64, number)
    assert data == number.to_bytes(8, "big", signed=True)
    assert subject.to_connect("t", (), data)[1] == number


@pytest.mark.parametrize(
    ("kind", "schema", "value", "message"),
    [
        (LongConverter, INT32, 5, r"Failed to serialize to long \(was class java.lang.Integer\): "),
        (IntegerConverter, None, 2**31, r"Failed to serialize to integer \(was class java.lang.Long\): "),
        (IntegerConverter, None, 5.0, r"Failed to serialize to integer \(was class java.lang.Double\): "),
        (FloatConverter, None, 1e39, r"Failed to serialize to float \(was class java.lang.Double\): "),
        (ShortConverter, STRING, "x", r"Failed to serialize to short \(was class java.lang.String\): "),
        (FloatConverter, FLOAT32, True, r"Failed to serialize to float \(was class java.lang.Boolean\): "),
        (ShortConverter, INT16, 40000, "Failed to serialize to short: 40000 is out of its range"),
        (BooleanConverter, STRING, "x", "Invalid schema type for BooleanConverter: STRING"),
        (BooleanConverter, None, "x", "BooleanConverter is not compatible with objects of type class java.lang.String"),
        (ByteArrayConverter, STRING, "x", "Invalid schema type for ByteArrayConverter: STRING"),
        (
            ByteArrayConverter,
            None,
            {},
            "ByteArrayConverter is not compatible with objects of type class java.util.HashMap",
        ),
    ],
)
def test_values_of_another_type(kind, schema, value, message):
    with pytest.raises(DataError, match=message):
        made(kind).from_connect("t", (), schema, value)


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (IntegerConverter, 5, b"\0\0\0\5"),
        (ShortConverter, -1, b"\xff\xff"),
        (LongConverter, 5, b"\0\0\0\0\0\0\0\5"),
        (FloatConverter, 0.1, b"\x3d\xcc\xcc\xcd"),
    ],
)
def test_numbers_without_a_schema_have_no_width(kind, value, data):
    assert made(kind).from_connect("t", (), None, value) == data


def test_a_text_that_was_cast_without_a_schema():
    batch = applied(transforms.CastKey(), Batch.of("t", [None], keys=["5"]), spec="int32")
    assert made(IntegerConverter).from_connect("t", (), batch.key_schemas[0], batch.keys[0]) == b"\0\0\0\5"


def test_bytes_of_every_kind():
    subject = made(ByteArrayConverter)
    values = [b"a", bytearray(b"b"), memoryview(b"c"), None]
    assert subject.from_connect_batch(["t"] * 4, [()] * 4, [BYTES] * 4, values) == [b"a", b"b", b"c", None]
    assert subject.from_connect_batch(["t"] * 2, [()] * 2, [None] * 2, [b"a", None]) == [b"a", None]
    with pytest.raises(DataError, match="STRING"):
        subject.from_connect_batch(["t"] * 2, [()] * 2, [STRING] * 2, [b"a", None])
    assert subject.to_connect_batch(["t"] * 2, [()] * 2, [b"a", None]) == ([OPTIONAL_BYTES] * 2, [b"a", None])


def test_booleans():
    subject = made(BooleanConverter)
    assert [subject.from_connect("t", (), BOOLEAN, value) for value in (True, False, None)] == [b"\x01", b"\x00", None]


def test_every_converter_has_java_name_version_and_documentation():
    for name in converters.__all__:
        kind = getattr(converters, name)
        assert kind.java_name.endswith("." + name)
        confluent = kind.java_name.startswith("io.confluent.")
        assert kind.version() == ("8.5.0" if confluent else "4.3.1")
        expected = set() if confluent or kind is SimpleHeaderConverter else {"converter.type"}
        assert expected <= set(kind.config_def().names())


def test_simple_headers():
    subject = SimpleHeaderConverter()
    subject.configure_header({})
    assert subject.from_connect_header("t", "h", INT32, 5) == b"5"
    assert subject.from_connect_header("t", "h", None, None) is None
    assert subject.to_connect_header("t", "h", b"300") == (INT16, 300)
    assert subject.to_connect_header("t", "h", None) == (None, None)
    assert subject.to_connect_header("t", "h", b"\xff") == (STRING, "\ufffd")


def test_long_headers_are_not_kept_in_memory():
    subject, text = SimpleHeaderConverter(), "java.lang.Exception: " * 1000
    _parsed.cache_clear()
    assert subject.to_connect_header("t", "h", text.encode()) == (STRING, text)
    assert _parsed.cache_info().currsize == 0


@pytest.mark.parametrize("bits", ["7ff8000000000000", "fff8000000000000", "7fff017f3f008000"])
def test_there_is_one_nan_of_doubles(bits):
    subject = made(DoubleConverter)
    schema, value = subject.to_connect("t", (), bytes.fromhex(bits))
    assert subject.from_connect_batch(["t"], [()], [schema], [value]) == [bytes.fromhex("7ff8000000000000")]

"""Conversions and inference; Java's own answers are in converters/test_golden.py."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import values
from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    DATE,
    FLOAT32,
    INT8,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    SchemaType,
    array,
    decimal,
    map_of,
    struct,
)
from penstock.values.logical import bytes_of, decimal_of, moment_of
from penstock.values.parsing.tokens import ValueTokens

MOMENT = dt.datetime(2024, 2, 29, 13, 14, 15, 123000, tzinfo=dt.UTC)


@given(st.text())
def test_any_text_has_a_meaning(text):
    schema, value = values.parse_string(text)
    assert (schema is None) == (value is None)


@given(st.integers(-(10**40), 10**40) | st.integers(-200, 200), st.integers(-3, 9))
def test_a_decimal_is_its_unscaled_value_in_twos_complement(unscaled, scale):
    schema, value = decimal(scale), Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))
    written = bytes_of(schema, value)
    assert int.from_bytes(written, "big", signed=True) == unscaled
    assert len(written) == 1 or not -(2 ** (8 * len(written) - 9)) <= unscaled < 2 ** (8 * len(written) - 9)
    assert decimal_of(schema, written) == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_mean_themselves(number):
    schema, value = values.parse_string(str(number))
    assert value == number
    assert schema.type.value.startswith("int")


def test_a_list_takes_the_widest_of_its_types():
    assert values.parse_string("[1, 2.5]") == (array(FLOAT32), [1.0, 2.5])


@pytest.mark.parametrize("text", ["7e26309580123456789012", "0e99999999999999999999", "-1e-3000000000"])
def test_numbers_beyond_bigdecimal_are_texts(text):
    assert values.parse_string(text) == (STRING, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0e30", (INT8, 0)),
        ("-0e-2147483647", (INT8, 0)),
        ("0e400000000", (INT8, 0)),
        ("1.0000000596046447753906251", (FLOAT32, 1 + 2.0**-23)),
    ],
)
def test_numbers_of_the_smallest_type(text, expected):
    assert values.parse_string(text) == expected


def test_a_text_that_begins_like_a_list_stays_a_text():
    assert values.parse_string("[1, 2") == (STRING, "[1, 2")


@pytest.mark.parametrize(
    ("text", "value"),
    [("2024-02-29T13:14:15.123Z", MOMENT), ("2024-02-29", MOMENT.date()), ("13:14:15.123Z", MOMENT.time())],
)
def test_texts_of_dates(text, value):
    assert [to(None, text) for to in (values.to_date, values.to_time, values.to_timestamp)] == [value] * 3


def test_dates_with_schemas():
    midnight = MOMENT.replace(hour=0, minute=0, second=0, microsecond=0)
    assert values.to_date(TIMESTAMP, MOMENT) == MOMENT.date()
    assert values.to_time(TIMESTAMP, MOMENT) == MOMENT.time()
    assert values.to_timestamp(DATE, MOMENT.date()) == midnight
    assert values.to_timestamp(TIME, MOMENT.time()) == MOMENT.replace(1970, 1, 1)
    assert values.to_long(DATE, MOMENT.date()) == 19782


@pytest.mark.parametrize("schema", [None, INT32, TIME])
def test_dates_are_numbers_only_by_their_schemas(schema):
    with pytest.raises(DataError, match=r"^Unable to convert .* to "):
        values.to_long(schema, MOMENT.date())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"date":"2024-01-01","id":100000}', None),
        ('{"date":"2024-01-01","price":7.5}', None),
        ('{"ts":"2019-08-23T14:34:54.346Z","id":9999999999}', None),
        ('["2024-01-01","09:30:00.000Z"]', "[2024-01-01,09:30:00.000Z]"),
        ('["2024-01-01","2019-08-23T14:34:54.346Z"]', "[2024-01-01,2019-08-23T14:34:54.346Z]"),
    ],
)
def test_dates_beside_others_are_kept(text, written):
    schema, value = values.parse_string(text)
    assert values.to_text(schema, value) == (written or text)
    assert (schema is STRING) == (written is None)


@pytest.mark.parametrize("around", [0, 2**32 * 1000, -(2**32) * 1000, 1_700_000_000_000, 250_000_000_000_000])
def test_timestamps_are_exact(around):
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for millis in range(around - 2000, around + 2000):
        assert moment_of(millis) == epoch + dt.timedelta(milliseconds=millis)


def test_numbers_wrap_around():
    assert values.to_byte(None, 300) == 44
    assert values.to_integer(None, "3000000000") == -1294967296
    assert values.to_long(None, float("inf")) == 2**63 - 1
    assert values.to_long(None, Decimal("1e30")) == 5076944270305263616


def test_conversion_errors_name_the_class():
    with pytest.raises(DataError, match=r"Unable to convert true \(class java.lang.Boolean\) to Schema\{BOOLEAN\}"):
        values.to_long(BOOLEAN, True)
    with pytest.raises(DataError, match="Unable to convert a null value to a schema that requires a value"):
        values.to_timestamp(None, None)


def test_converting_by_schema():
    row = struct(("a", INT8))
    assert values.convert(INT8, None, "5") == 5
    assert values.convert(STRING, row, {"a": 1}) == '{"a":1}'
    assert values.convert(STRING.with_(optional=True), None, None) is None
    assert values.convert(row, row, {"a": 1}) == {"a": 1}


@given(st.text(alphabet=st.characters(exclude_characters='\\"', exclude_categories=("Cs", "Cc", "Zs")), min_size=1))
def test_quoted_texts_are_read_again(text):
    written = values.to_text(array(STRING), [text])
    assert written is not None
    schema, value = values.parse_string(written)
    assert schema is None or schema.type.value == "array"
    assert values.to_text(schema, value) == written or not isinstance(value[0], str)


@given(st.text(st.sampled_from(':,{}[]"\\ \n+-ntf1aé')))
def test_tokens_end_before_delimiters_that_no_backslash_escapes(text):
    tokens, found = ValueTokens(text), []
    while tokens.has_next():
        found.append(tokens.next())
    assert found == tokens_of(text)


def tokens_of(text):
    """Character by character."""
    found, escaped = [""], False
    for char in text:
        if char in ':,{}[]"' and not escaped:
            found += [char, ""]
        else:
            found[-1] += char
            escaped = char == "\\" and not escaped
    return [token for token in found if token]


@pytest.mark.parametrize(
    "text", ["abc", "nul", "null x", "trueish", "0-1", "-a", "+", "/a:b", "\\[1]", "\u00a01", "#{}"]
)
def test_a_text_that_begins_like_another_value_stays_a_text(text):
    assert values.parse_string(text) == (STRING, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("null ", (None, None)),
        (" true", (BOOLEAN, True)),
        ("false", (BOOLEAN, False)),
        ("12:a", (INT8, 12)),
        ("-1,b", (INT8, -1)),
        (" 7", (INT8, 7)),
        (" ", (STRING, " ")),
        ('["a:b", 1]', (Schema(SchemaType.ARRAY), ["a:b", 1])),
    ],
)
def test_the_type_of_a_text_is_inferred(text, expected):
    assert values.parse_string(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "1::2",
        "12:30",
        "1,2",
        "12:a",
        "-1,b",
        "42}",
        "[1]x",
        "[1,2] [3]",
        '{"a":1}}',
        "2019-08-23:x",
        "14:34:54.346Z,",
    ],
)
def test_a_text_that_goes_on_after_a_value_stays_a_text(text):
    assert values.parse_whole_string(text) == (STRING, text)
    assert values.parse_string(text)[1] != text  # as in Java


def test_a_whole_text_that_is_a_value_has_its_type():
    for text in ("1", " 7 ", "true", "null", "[1, 2]", '{"a":1} ', "2019-08-23", "14:34:54.346Z", "a:b", "", "-"):
        assert values.parse_whole_string(text) == values.parse_string(text)


def test_inferred_schemas():
    assert values.infer_schema({"a": 1}) == map_of(STRING, INT64)
    assert values.infer_schema(["a", None]) == array(STRING.with_(optional=True))
    assert values.infer_schema([1, "a"]) is None
    assert values.infer_schema([]) is None

"""Java's dialects on their own; Java's own answers are in converters/test_golden.py."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.errors import ConfigError
from penstock.api.schema import BYTES, FLOAT32, INT32, STRING, TIMESTAMP, Type, array, map_of, struct
from penstock.java.dates import DateFormat
from penstock.java.numbers import double_text, float32, float_text
from penstock.java.regex import compile_regex, full_match, replace_all, replace_first
from penstock.pipeline.values.hash_map import hash_map
from penstock.pipeline.values.printing import to_string, to_strings

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MOMENTS = st.integers(-11_676_096_000_000, 253_402_300_799_999).map(lambda ms: EPOCH + dt.timedelta(milliseconds=ms))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_printed_so_that_they_can_be_read_again(number):
    assert float(double_text(number)) == number


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_are_printed_so_that_they_can_be_read_again(number):
    assert float32(float(float_text(number))) == number


def test_columns_print_as_single_values_do():
    row = struct(("a", INT32), ("b", FLOAT32.with_(optional=True)))
    nested = map_of(STRING, array(row))
    schemas = [row, nested, None, STRING, BYTES, TIMESTAMP]
    values = [
        {"b": 0.1, "a": 1},
        {"k": [{"a": 2}, {"a": 3, "b": 1e10}]},
        None,
        "x",
        b"abc",
        dt.datetime(2024, 2, 29, tzinfo=dt.UTC),
    ]
    shown = to_strings(schemas, values)
    assert shown == list(map(to_string, schemas, values))
    assert shown[:4] == ["Struct{a=1,b=0.1}", "{k=[Struct{a=2}, Struct{a=3,b=1.0E10}]}", "null", "x"]
    assert re.fullmatch(r"\[B@[0-9a-f]+", shown[4])
    assert shown[5] == "Thu Feb 29 00:00:00 UTC 2024"


@pytest.mark.parametrize("pattern", ["(?<=a*)b", r"\G", r"\X", "(?U)a", r"\p{IsGreek}"])
def test_what_python_can_not_express_is_refused(pattern):
    with pytest.raises(ConfigError):
        compile_regex(pattern)


@given(st.text())
def test_a_quoted_text_matches_itself_only(text):
    quoted = compile_regex("\\Q" + text.replace("\\E", "") + "\\E")
    assert full_match(quoted, text.replace("\\E", ""))
    assert not full_match(quoted, text.replace("\\E", "") + "x")


def test_replacing():
    pattern = compile_regex("(?<day>[0-9]+)-(x)?")
    assert replace_first(pattern, r"$1\$${day}[$2]", "12-, 13-x") == "12$12[], 13-x"
    assert replace_all(pattern, "$2", "12-, 13-x") == ", x"


@given(MOMENTS)
def test_the_quick_way_to_format_and_the_full_one_agree(moment):
    form = DateFormat("yyyy-MM-dd'T'HH:mm:ss")
    millis = (moment - EPOCH) // dt.timedelta(milliseconds=1)
    text = form.format(moment)
    assert text == form.format_millis(millis)
    assert form.parse(text) == moment.replace(microsecond=0)
    assert form.parse_millis(text) == millis // 1000 * 1000


@given(MOMENTS)
def test_dates_are_read_again_in_words(moment):
    form = DateFormat("EEEE, d. MMMM yyyy G, h 'o''clock' a, mm:ss.SSS XXX")
    assert form.parse(form.format(moment)) == moment


def test_years_of_two_digits_are_near():
    this_year = dt.datetime.now(dt.UTC).year
    for year in range(this_year - 79, this_year + 19):
        assert DateFormat("yy").parse(f"{year % 100:02d}").year == year


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("yyyy-nn", "Illegal pattern character 'n'"),
        ("'T", "Unterminated quote"),
        ("XXXX", "invalid ISO 8601 format: length=4"),
    ],
)
def test_patterns_that_java_refuses(pattern, message):
    with pytest.raises(ConfigError, match=message):
        DateFormat(pattern)


@pytest.mark.parametrize("text", ["", "x", "2024", "2024-1"])
def test_texts_that_do_not_fit(text):
    with pytest.raises(ValueError, match=f'Unparseable date: "{text}"'):
        DateFormat("yyyy-MM-dd").parse(text)


def test_the_order_of_hash_maps():
    assert list(hash_map(dict.fromkeys(["b", "zeile", "a"]))) == ["zeile", "a", "b"]
    assert list(hash_map({-5: 1, 1: 2, 17: 3}, key_type=Type.INT32)) == [1, 17, -5]
    assert list(hash_map({True: 1, False: 0}, key_type=Type.BOOLEAN)) == [False, True]

"""Conversions that refuse what Python would cut or round."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pytest

from penstock.api.exact import double, float_or_decimal, has_infinite, milliseconds, moment, time_of_day


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (2**53, 2.0**53),
        (-(2**53) - 2, -(2.0**53) - 2),
        (10**22, 1e22),
        (Decimal("0.1"), 0.1),
        (Decimal("0.10"), 0.1),
        (Decimal("0.30000000000000004"), 0.1 + 0.2),
        (Decimal("1.7976931348623157E+308"), 1.7976931348623157e308),
        (Decimal(2**53 + 2), 2.0**53 + 2),
        (Decimal("0.1000000000000000055511151231257827021181583404541015625"), 0.1),
        (Decimal("-Infinity"), -math.inf),
        (5e-324, 5e-324),
    ],
)
def test_a_number_that_a_float_has_is_that_float(number: float | Decimal, expected: float) -> None:
    assert double(number) == expected


def test_a_decimal_that_is_no_number_is_nan() -> None:
    assert math.isnan(double(Decimal("NaN")))


@pytest.mark.parametrize(
    "number",
    [
        2**53 + 1,
        10**23,
        10**400,
        Decimal("0.100000000000000001"),
        Decimal(2**53 + 1),
        Decimal("1E-400"),
        Decimal("1E+400"),
    ],
)
def test_a_number_that_a_float_would_round_is_refused(number: float | Decimal) -> None:
    with pytest.raises((ValueError, OverflowError)):
        double(number)


def test_times_keep_all_of_their_digits() -> None:
    assert moment("2026-01-02T03:04:05.123456000") == dt.datetime(2026, 1, 2, 3, 4, 5, 123456, dt.UTC)
    assert moment("2026-01-02T03:04:05+01:00").utcoffset() == dt.timedelta(hours=1)
    assert time_of_day("03:04:05,123456") == dt.time(3, 4, 5, 123456)
    assert milliseconds(dt.time(0, 0, 1, 2000)) == 1002


@pytest.mark.parametrize("text", ["2026-01-02T03:04:05.1234567", "20260102T030405,000000001Z"])
def test_nanoseconds_of_a_moment_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        moment(text)


@pytest.mark.parametrize("text", ["03:04:05.1234567", "030405,000000001", "03:04:05Z"])
def test_nanoseconds_and_zones_of_a_time_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        time_of_day(text)


@pytest.mark.parametrize("time", [dt.time(1, 2, 3, 4), dt.time(1, tzinfo=dt.UTC)])
def test_a_time_that_is_no_whole_milliseconds_is_refused(time: dt.time) -> None:
    with pytest.raises(ValueError, match="01:"):
        milliseconds(time)


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": [None, (1, -math.inf)]}])
def test_infinity_is_found_where_json_would_have_it(value: object) -> None:
    assert has_infinite(value)
    assert not has_infinite({"a": [None, "nan", 1.5]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1", 0.1),
        ("0.10000000000000001", 0.1),
        ("0.1000000000000000055511151231257827", 0.1),
        ("0.100000000000000000000", 0.1),
        ("0.100000000000000001", Decimal("0.100000000000000001")),
        ("12345678901234.567", Decimal("12345678901234.567")),
        ("1e-400", Decimal("1E-400")),
        ("1e400", Decimal("1E400")),
        ("1.5e300", 1.5e300),
    ],
)
def test_a_number_in_json_keeps_its_digits(text: str, expected: object) -> None:
    found = float_or_decimal(text)
    assert found == expected
    assert type(found) is type(expected)

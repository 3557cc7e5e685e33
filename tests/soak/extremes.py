"""Strategies for values of types, whose ends are drawn more often than what is between them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICRO = dt.timedelta(microseconds=1)


def whole(bits: int, unsigned: bool = False) -> SearchStrategy[int]:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.one_of(st.integers(low, high), st.sampled_from([low, low + 1, 0, high - 1, high]))


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=30)
BYTES = st.binary(max_size=40)
DATES = st.one_of(st.dates(), st.sampled_from([dt.date.min, dt.date(1582, 10, 10), dt.date(1900, 2, 28), dt.date.max]))
TIMES = st.times().map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))


def moments(first: dt.datetime, last: dt.datetime) -> SearchStrategy[dt.datetime]:
    """Times in microseconds."""
    ends = (first - EPOCH) // MICRO, (last - EPOCH) // MICRO
    return st.one_of(st.integers(*ends), st.sampled_from(ends)).map(lambda number: EPOCH + number * MICRO)


MOMENTS = st.one_of(
    moments(dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC)),
    moments(dt.datetime(1582, 10, 4, tzinfo=dt.UTC), dt.datetime(1582, 10, 16, tzinfo=dt.UTC)),
)
DOUBLES = st.floats(allow_nan=False)
SINGLES = st.floats(width=32, allow_nan=False)


def unsigned_zero(numbers: SearchStrategy[float]) -> SearchStrategy[float]:
    """Draw 0.0 for -0.0, as which MariaDB and SQLite store it."""
    return numbers.map(lambda number: number + 0.0)


def decimals(digits: int, scale: int) -> SearchStrategy[Decimal]:
    top = 10**digits - 1
    numbers = st.one_of(st.integers(-top, top), st.sampled_from([-top, -1, 0, 1, top]))
    return numbers.map(lambda number: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)))

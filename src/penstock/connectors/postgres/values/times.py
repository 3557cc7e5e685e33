"""Dates, times and intervals of PostgreSQL as Connect's values, as ``time.precision.mode`` says."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE, INT32, INT64, STRING, TIME, TIMESTAMP, Schema
from penstock.connectors.postgres.values import texts

TIME_TYPES = frozenset({"date", "time", "timetz", "timestamp", "timestamptz"})
MONTH_US = 2_629_800_000_000
"""A twelfth of 365.25 days, as Debezium has it."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TIME = "io.debezium.time."

Typed = tuple[Schema, Callable[[str], Any]]


def _named(schema: Schema, name: str) -> Schema:
    return schema.with_(name=_TIME + name, version=1)


def time_type(name: str, mode: str, modifier: int) -> Typed:
    """``modifier`` is the number of digits of seconds, or -1."""
    match name, mode:
        case "timetz", _:
            return _named(STRING, "ZonedTime"), _zoned_time
        case "timestamptz", _:
            digits = modifier if modifier >= 0 else 6
            return _named(STRING, "ZonedTimestamp"), lambda text: _iso_timestamp(text, digits)
        case "date", "connect":
            return DATE, _connect_date
        case "date", "isostring":
            return _named(STRING, "IsoDate"), lambda text: _iso_date(texts.days(text)) + "Z"
        case "date", _:
            return _named(INT32, "Date"), texts.days
        case "time", "connect":
            return TIME, _connect_time
        case "time", "isostring":
            return _named(STRING, "IsoTime"), lambda text: _iso_time(texts.micros_of_day(text)) + "Z"
        case "time", "adaptive" if 0 <= modifier <= 3:
            return _named(INT32, "Time"), lambda text: texts.micros_of_day(text) // 1000
        case "time", _:
            return _named(INT64, "MicroTime"), texts.micros_of_day
        case _, "connect":
            return TIMESTAMP, _connect_timestamp
        case _, "isostring":
            return _named(STRING, "IsoTimestamp"), _iso_timestamp
        case _, "adaptive" | "adaptive_time_microseconds" if 0 <= modifier <= 3:
            return _named(INT64, "Timestamp"), lambda text: texts.micros(text) // 1000
        case _:
            return _named(INT64, "MicroTimestamp"), texts.micros


def span_type(mode: str) -> Typed:
    if mode == "string":
        return _named(STRING, "Interval"), _iso_span
    return _named(INT64, "MicroDuration"), _micros_of_span


def _micros_of_span(text: str) -> int:
    months, days, us = texts.interval(text)
    return months * MONTH_US + days * texts.DAY_US + us


def _iso_span(text: str) -> str:
    """Parts of the same sign each: ``P1Y-2M3DT-4H-5M-6.7S``."""
    months, days, us = texts.interval(text)
    year_sign, sign = (-1 if months < 0 else 1), ("-" if us < 0 else "")
    years, months = divmod(abs(months), 12)
    minutes, us = divmod(abs(us), 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds, fraction = divmod(us, 1_000_000)
    shown = f"{seconds}.{fraction:06}".rstrip("0") if fraction else str(seconds)

    def signed(number: int | str) -> str:
        return f"{sign}{number}" if str(number) != "0" else "0"

    return f"P{year_sign * years}Y{year_sign * months}M{days}DT{signed(hours)}H{signed(minutes)}M{signed(shown)}S"


def _iso_date(days: int) -> str:
    try:
        return (_EPOCH + datetime.timedelta(days)).date().isoformat()
    except OverflowError as error:
        raise DataError(f"Day {days} since 1970 is not in the years 1 to 9999 that texts can have here") from error


def _iso_time(us: int, least: int = 0) -> str:
    """Seconds with as many digits as they need, and so many at least."""
    seconds, fraction = divmod(us, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours:02}:{minutes:02}:{seconds:02}"
    digits = f"{fraction:06}".rstrip("0").ljust(least, "0")
    return f"{shown}.{digits}" if digits else shown


def _iso_timestamp(text: str, least: int = 0) -> str:
    days, us = divmod(texts.micros(text), texts.DAY_US)
    return f"{_iso_date(days)}T{_iso_time(us, least)}Z"


def _zoned_time(text: str) -> str:
    return _iso_time((texts.micros_of_day(text) - texts.zone_seconds(text) * 1_000_000) % texts.DAY_US) + "Z"


def _connect_date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(_iso_date(texts.days(text)))


def _connect_time(text: str) -> datetime.time:
    us = texts.micros_of_day(text) // 1000 * 1000
    return (_EPOCH + datetime.timedelta(microseconds=us)).time()


def _connect_timestamp(text: str) -> datetime.datetime:
    us = texts.micros(text) // 1000 * 1000
    try:
        return _EPOCH + datetime.timedelta(microseconds=us)
    except OverflowError as error:
        raise DataError(f"{text} is not in the years 1 to 9999 that Connect's Timestamp can have here") from error

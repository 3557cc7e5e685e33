"""Dates, times and intervals of PostgreSQL as Connect's values: Debezium's types, ISO texts, and Connect's own."""

from __future__ import annotations

import datetime

from penstock.api.errors import DataError
from penstock.api.schema import INT32, INT64, STRING, Schema
from penstock.connectors.postgres.values import texts

MONTH_US = 2_629_800_000_000
"""A twelfth of 365.25 days, as Debezium has it."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TIME = "io.debezium.time."
_INT64 = range(-(1 << 63), 1 << 63)


def _named(schema: Schema, name: str) -> Schema:
    return schema.with_(name=_TIME + name, version=1)


ZONED_TIME, ZONED_TIMESTAMP = _named(STRING, "ZonedTime"), _named(STRING, "ZonedTimestamp")
ISO_DATE, ISO_TIME, ISO_TIMESTAMP = (_named(STRING, name) for name in ("IsoDate", "IsoTime", "IsoTimestamp"))
DAYS, MILLIS, MICROS = _named(INT32, "Date"), _named(INT32, "Time"), _named(INT64, "MicroTime")
MILLI_TIMESTAMP, MICRO_TIMESTAMP = _named(INT64, "Timestamp"), _named(INT64, "MicroTimestamp")
INTERVAL, MICRO_DURATION = _named(STRING, "Interval"), _named(INT64, "MicroDuration")


def iso_interval(text: str) -> str:
    """Return parts of the same sign each: ``P1Y-2M3DT-4H-5M-6.7S``."""
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


def micro_duration(text: str) -> int:
    """Return microseconds; a month has 30.4375 days."""
    months, days, us = texts.interval(text)
    found = months * MONTH_US + days * texts.DAY_US + us
    if found not in _INT64:
        raise DataError(f"the interval {text} has more microseconds than 64 bits; set interval.handling.mode to string")
    return found


def _iso_date(days: int) -> str:
    try:
        return (_EPOCH + datetime.timedelta(days)).date().isoformat()
    except OverflowError as error:
        raise DataError(f"day {days} since 1970 is not in the years 1 to 9999 that texts can have here") from error


def _iso_time(us: int, least: int = 0) -> str:
    """Seconds with as many digits as they need, and so many at least."""
    seconds, fraction = divmod(us, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours:02}:{minutes:02}:{seconds:02}"
    digits = f"{fraction:06}".rstrip("0").ljust(least, "0")
    return f"{shown}.{digits}" if digits else shown


def iso_timestamp(text: str, least: int = 0) -> str:
    """Return a timestamp in UTC, with so many digits of a second at least."""
    days, us = divmod(texts.micros(text), texts.DAY_US)
    return f"{_iso_date(days)}T{_iso_time(us, least)}Z"


def iso_date(text: str) -> str:
    return _iso_date(texts.days(text)) + "Z"


def iso_time(text: str) -> str:
    return _iso_time(texts.micros_of_day(text)) + "Z"


def zoned_time(text: str) -> str:
    """Return a time in UTC."""
    return _iso_time((_micros_before_midnight(text) - texts.zone_seconds(text) * 1_000_000) % texts.DAY_US) + "Z"


def connect_date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(_iso_date(texts.days(text)))


def connect_time(text: str) -> datetime.time:
    """Return a time, without digits after the millisecond."""
    us = _micros_before_midnight(text) // 1000 * 1000
    return (_EPOCH + datetime.timedelta(microseconds=us)).time()


def _micros_before_midnight(text: str) -> int:
    us = texts.micros_of_day(text)
    if us >= texts.DAY_US:
        raise DataError(f"{text} is the end of a day, which would become its beginning here")
    return us


def connect_timestamp(text: str) -> datetime.datetime:
    """Return a timestamp, without digits after the millisecond."""
    us = texts.micros(text) // 1000 * 1000
    try:
        return _EPOCH + datetime.timedelta(microseconds=us)
    except OverflowError as error:
        raise DataError(f"{text} is not in the years 1 to 9999 that Connect's Timestamp can have here") from error

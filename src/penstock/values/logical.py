"""The four logical types between Python's objects and what Java's ``toLogical`` and ``fromLogical`` know: numbers and
bytes.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

from penstock.api.errors import DataError
from penstock.api.schema import Schema

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = dt.date(1970, 1, 1)
_EPOCH_ORDINAL = _EPOCH_DAY.toordinal()
_MILLI = dt.timedelta(milliseconds=1)
_DIGITS = bytes.maketrans(bytes(range(10)), b"0123456789")
_from_timestamp = dt.datetime.fromtimestamp
_EXACT = 2**32 * 1000
"""Below so many milliseconds a ``float`` holds them as seconds, to less than half a microsecond."""
DAY = 86_400_000
"""Milliseconds in a day."""


def scale(schema: Schema) -> int:
    """The number of digits after the point that a Decimal schema prescribes."""
    text = schema.parameters.get("scale")
    if text is None:
        raise DataError("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(text)
    except ValueError:
        raise DataError("Invalid scale parameter found in Decimal schema: ") from None


def decimal_of(schema: Schema, data: bytes) -> Decimal:
    """The number whose unscaled value, in two's complement, these bytes are."""
    if not data:
        raise ValueError("Zero length BigInteger")
    unscaled = int.from_bytes(data, "big", signed=True)
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((unscaled < 0, digits, -scale(schema)))


def bytes_of(schema: Schema, value: Decimal) -> bytes:
    """The other way round. Raises DataError if the value has another scale than the schema."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise DataError(f"{value} is no number that a Decimal can hold")
    if -exponent != scale(schema):
        raise DataError(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {scale(schema)}, value has scale {-exponent}."
        )
    unscaled = int(bytes(digits).translate(_DIGITS))
    if sign:
        unscaled = -unscaled
    size = (unscaled if unscaled >= 0 else -unscaled - 1).bit_length() // 8 + 1
    return unscaled.to_bytes(size, "big", signed=True)


def day_of(days: int) -> dt.date:
    """The day that is so many days after 1970-01-01. Raises DataError beyond the years 1 to 9999."""
    try:
        return dt.date.fromordinal(_EPOCH_ORDINAL + days)
    except (ValueError, OverflowError):
        raise DataError(f"A Date of {days} days since 1970 is beyond the years 1 to 9999") from None


def days_since(day: dt.date) -> int:
    return day.toordinal() - _EPOCH_ORDINAL


def time_of(millis: int) -> dt.time:
    """The time of day, in milliseconds since midnight."""
    if not 0 <= millis <= DAY:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    if millis == DAY:
        raise DataError("A Time of 86400000 milliseconds is no time of a day")
    seconds, milli = divmod(millis, 1000)
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, milli * 1000)


class ZonedTimeError(DataError):
    """A time of day with a zone, which a Time does not have: without it the time would be another one elsewhere."""

    def __init__(self, time: dt.time) -> None:
        super().__init__(f"{time.isoformat()} has a zone, and a Time is a time of day without one: convert it first")


def millis_of_day(time: dt.time) -> int:
    """Return the milliseconds since midnight. Raises ZonedTimeError."""
    if time.tzinfo is not None:
        raise ZonedTimeError(time)
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.microsecond // 1000


def moment_of(millis: int) -> dt.datetime:
    """The moment so many milliseconds after 1970. Raises DataError beyond the years 1 to 9999."""
    if -_EXACT < millis < _EXACT:
        return _from_timestamp(millis / 1000, UTC)
    try:
        return EPOCH + dt.timedelta(milliseconds=millis)
    except OverflowError:
        raise DataError(f"A Timestamp of {millis} ms since 1970 is beyond the years 1 to 9999") from None


def millis_since(moment: dt.datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // _MILLI


def milliseconds(value: dt.date | dt.time | dt.datetime) -> int:
    """The ``java.util.Date`` that a Date, Time or Timestamp is in Java, as milliseconds since 1970."""
    if isinstance(value, dt.datetime):
        return millis_since(value)
    if isinstance(value, dt.date):
        return days_since(value) * DAY
    return millis_of_day(value)

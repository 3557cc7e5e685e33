"""Dates, times and timestamps as milliseconds since 1970, which is what Java's ``java.util.Date`` counts, and back."""

from __future__ import annotations

import datetime

from penstock.api.errors import DataError

DAY = 86_400_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_MILLISECOND = datetime.timedelta(milliseconds=1)


def milliseconds(value: datetime.date | datetime.time | datetime.datetime) -> int:
    """The moment a value of Connect's Date, Time or Timestamp stands for. A datetime without a zone is UTC."""
    if isinstance(value, datetime.datetime):
        return ((value if value.tzinfo else value.replace(tzinfo=datetime.UTC)) - _EPOCH) // _MILLISECOND
    if isinstance(value, datetime.date):
        return (value.toordinal() - _EPOCH_DAY) * DAY
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def moment(time: int) -> datetime.datetime:
    """The value of Connect's Timestamp for so many milliseconds. Raises DataError outside of the years 1 to 9999."""
    try:
        return _EPOCH + datetime.timedelta(milliseconds=time)
    except OverflowError:
        raise _out_of_range(time) from None


def day(time: int) -> datetime.date:
    """The value of Connect's Date: the day, without the time."""
    try:
        return datetime.date.fromordinal(time // DAY + _EPOCH_DAY)
    except (OverflowError, ValueError):
        raise _out_of_range(time) from None


def time_of_day(time: int) -> datetime.time:
    """The value of Connect's Time: the time, without the day."""
    seconds, rest = divmod(time % DAY, 1000)
    return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1000)


def _out_of_range(time: int) -> DataError:
    return DataError(
        f"Timestamp {time} is not between the years 1 and 9999, as a value of type Date or Timestamp must be"
    )

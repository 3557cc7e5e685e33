"""Dates, times and timestamps alike as milliseconds since 1970, which is what Java's ``java.util.Date`` is."""

from __future__ import annotations

import datetime

from penstock.pipeline.values.logical import days_since, millis_of_day, millis_since

DAY = 86_400_000


def milliseconds(value: datetime.date | datetime.time | datetime.datetime) -> int:
    """The moment that a value of Connect's Date, Time or Timestamp stands for."""
    if isinstance(value, datetime.datetime):
        return millis_since(value)
    if isinstance(value, datetime.date):
        return days_since(value) * DAY
    return millis_of_day(value)

"""Time zones, as Java's ``ZoneId`` names them."""

from __future__ import annotations

import datetime as dt
import re
from zoneinfo import ZoneInfo

from penstock.api.errors import ConfigError

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?:(?<=\d\d):?([0-5]\d))?")
_UTC = ("Z", "UTC", "GMT", "UT")
_SHORT = {"EST": "GMT-05:00", "MST": "GMT-07:00", "HST": "GMT-10:00"}
"""What Java's ``TimeZone`` takes these names for, which its ``ZoneId`` does not know before Java 24."""
_MOST_MINUTES = 18 * 60


def zone(name: str, setting: str) -> str:
    """The zone as Java's ``TimeZone`` and ``ZoneId`` both know it: a region, or an offset such as ``GMT+02:00``.

    Raises ConfigError if there is no such zone.
    """
    if name in _UTC:
        return "UTC"
    if name in _SHORT:
        return _SHORT[name]
    if found := _OFFSET.fullmatch(name):
        sign, hours, minutes = found[1], int(found[2]), int(found[3] or 0)
        if hours * 60 + minutes <= _MOST_MINUTES:
            return f"GMT{sign}{hours:02}:{minutes:02}" if hours or minutes else "UTC"
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ConfigError(
            setting,
            name,
            "there is no such time zone: name a region such as Europe/Berlin, or an offset such as +02:00",
        ) from None
    return name


def tzinfo_of(zone: str) -> dt.tzinfo:
    """Of a zone as ``zone`` names it."""
    if zone == "UTC":
        return dt.UTC
    if found := _OFFSET.fullmatch(zone):
        offset = dt.timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return dt.timezone(offset if found[1] == "+" else -offset)
    return ZoneInfo(zone)

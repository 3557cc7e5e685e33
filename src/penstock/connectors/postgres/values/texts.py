"""Parsers of values as PostgreSQL prints them: dates, times, intervals, arrays, bits. Nothing here knows of Connect."""

from __future__ import annotations

import re

from penstock.api.errors import DataError

DAY_US = 86_400_000_000
_DATE = re.compile(r"(\d{4,})-(\d\d)-(\d\d)")
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")
_ZONE = re.compile(r"([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$")
_SPAN_PARTS = re.compile(r"([+-]?\d+) (year|mon|day)s?")
_SPAN_TIME = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?$")
FINITE_ONLY = "{} is not a time that a record can hold"


def days(text: str) -> int:
    """Return the days since 1970 of a date such as ``0044-03-15 BC``, in the proleptic Gregorian calendar."""
    found = _DATE.match(text)
    if found is None:
        raise DataError(FINITE_ONLY.format(text))
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    if text.endswith("BC"):
        year = 1 - year
    # Years begin in March, so that the leap day is the last of one; 400 of them repeat.
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def micros_of_day(text: str) -> int:
    """Parse ``04:05:06.789``, whatever follows it."""
    found = _TIME.match(text)
    if found is None:
        raise DataError(FINITE_ONLY.format(text))
    hours, minutes, seconds, fraction = found.groups()
    return (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 1_000_000 + int((fraction or "").ljust(6, "0"))


def micros(text: str) -> int:
    """Return the microseconds since 1970 of a timestamp, with or without a zone."""
    day, _, rest = text.partition(" ")
    era = " BC" if text.endswith("BC") else ""
    clock = rest.removesuffix(" BC")
    return days(day + era) * DAY_US + micros_of_day(clock) - zone_seconds(clock) * 1_000_000


def zone_seconds(text: str) -> int:
    """Return the seconds east of Greenwich of a text that ends with ``+05:30``; 0 without a zone."""
    found = _ZONE.search(text)
    if found is None:
        return 0
    sign, hours, minutes, seconds = found.groups()
    return (int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)) * (-1 if sign == "-" else 1)


def interval(text: str) -> tuple[int, int, int]:
    """Return the months, days and microseconds of ``1 year -2 mons +3 days -04:05:06.7``."""
    months = number_of_days = 0
    for number, unit in _SPAN_PARTS.findall(text):
        match unit:
            case "year":
                months += 12 * int(number)
            case "mon":
                months += int(number)
            case _:
                number_of_days += int(number)
    found = _SPAN_TIME.search(text)
    if found is None:
        if not _SPAN_PARTS.search(text):
            raise DataError(f"{text} is not an interval that a record can hold")
        return months, number_of_days, 0
    sign, hours, minutes, seconds, fraction = found.groups()
    us = (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return months, number_of_days, -us if sign == "-" else us


def array(text: str) -> list[str | None]:
    """The elements of ``{a,"b,\\"c",NULL}``; those of several dimensions stay texts of arrays."""
    if text.startswith("["):  # bounds that do not begin at 1: [0:1]={a,b}
        text = text[text.index("=") + 1 :]
    elements: list[str | None] = []
    at, end = 1, len(text) - 1
    while at < end:
        if text[at] == '"':
            element, at = _quoted(text, at + 1)
            elements.append(element)
        elif text[at] == "{":
            closing = _closing(text, at)
            elements.append(text[at:closing])
            at = closing
        else:
            comma = text.find(",", at)
            stop = end if comma < 0 else comma
            elements.append(None if text[at:stop] == "NULL" else text[at:stop])
            at = stop
        at += 1
    return elements


def _quoted(text: str, at: int) -> tuple[str, int]:
    """Return the text between quotes, and the place after them."""
    parts = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        parts.append(text[at])
        at += 1
    return "".join(parts), at + 1


def _closing(text: str, at: int) -> int:
    """The place after the array that begins here."""
    depth = 0
    while True:
        match text[at]:
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if depth == 0:
                    return at + 1
            case '"':
                at = _quoted(text, at + 1)[1] - 1
        at += 1


def bits(text: str) -> bytes:
    """The bits ``0101``, the last one the lowest, as bytes of which the lowest is first, without zeros at the end."""
    number = int(text or "0", 2)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")

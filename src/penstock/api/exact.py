"""Conversions of texts and numbers that refuse what Python would cut or round. Provisional, like ``api.query``.

All raise ValueError, or OverflowError, for a value that the result can't hold.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

_NANOSECONDS = re.compile(r"[.,]\d{6}\d*[1-9]")
"""Digits of a second behind those that Python's times have."""


def moment(text: str) -> dt.datetime:
    """Parse a date and time in ISO 8601; without a zone it is in UTC."""
    found = dt.datetime.fromisoformat(_in_microseconds(text))
    return found if found.tzinfo is not None else found.replace(tzinfo=dt.UTC)


def time_of_day(text: str) -> dt.time:
    """Parse a time in ISO 8601. One with a zone is refused: it is another time elsewhere."""
    found = dt.time.fromisoformat(_in_microseconds(text))
    if found.tzinfo is not None:
        raise ValueError(text)
    return found


def _in_microseconds(text: str) -> str:
    """Return the text, which ``fromisoformat`` would cut after six digits of a second."""
    if _NANOSECONDS.search(text):
        raise ValueError(text)
    return text


def milliseconds(time: dt.time) -> int:
    """Return the milliseconds of a time since midnight."""
    if time.microsecond % 1000 or time.tzinfo is not None:
        raise ValueError(time)
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.microsecond // 1000


def double(number: float | Decimal) -> float:
    """Return a number as a 64-bit float.

    An integer has to be exactly one. A decimal is taken for the float that has its digits: 0.1 for the float that is
    printed as 0.1.
    """
    found = float(number)
    match number:
        case int():
            same = int(found) == number
        case Decimal():
            same = number.is_nan() or Decimal(repr(found)) == number or Decimal(found) == number
        case _:
            same = True
    if not same:
        raise ValueError(number)
    return found


def has_infinite(value: Any) -> bool:
    """Return whether NaN or infinity, which JSON does not have, is a float or in a dict or a list."""
    match value:
        case float():
            return not math.isfinite(value)
        case dict():
            return any(map(has_infinite, value.values()))
        case list() | tuple():
            return any(map(has_infinite, value))
    return False


def float_or_decimal(text: str) -> float | Decimal:
    """Return a float if it is printed with as many digits as the text has them, or else a decimal number."""
    found, number = float(text), Decimal(text)
    if math.isinf(found):
        return number
    printed = f"{Decimal(found):.{len(number.as_tuple().digits) - 1}e}"
    return found if number in (Decimal(repr(found)), Decimal(printed)) else number

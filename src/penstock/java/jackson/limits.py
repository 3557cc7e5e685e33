"""How long and how deep JSON may be. Java: ``StreamReadConstraints`` of Jackson, with its defaults.

They are checked where orjson has refused a text or cannot tell its numbers; numbers of many digits that orjson takes
for a double, and what it takes for granted, are not measured.
"""

from __future__ import annotations

import re

from penstock.java.errors import JsonError

DIGITS, LEVELS = 1000, 1000
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def check_digits(count: int) -> None:
    """Raises JsonError for a number that has so many digits, those of its exponent among them."""
    if count > DIGITS:
        raise _exceeded("Number value length", count, DIGITS, "getMaxNumberLength")


def too_deep(data: bytes) -> JsonError:
    """The error for a text that is nested so deeply that it can't be read here."""
    depth = 0
    for found in _BRACKET.finditer(data.decode("latin-1")):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
        if depth > LEVELS:
            return _exceeded("Document nesting depth", depth, LEVELS, "getMaxNestingDepth")
    return JsonError("The JSON is nested too deeply")


def _exceeded(what: str, found: int, most: int, method: str) -> JsonError:
    return JsonError(
        f"com.fasterxml.jackson.core.exc.StreamConstraintsException: {what} ({found}) exceeds the maximum allowed "
        f"({most}, from `StreamReadConstraints.{method}()`)"
    )

"""``java.math.BigDecimal`` of a text. Scales, and so exponents, have 32 bits there, and more in Python."""

from __future__ import annotations

import re
from decimal import Decimal

from penstock.java.errors import NumberFormatError

_BIG_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_LONG_DIGITS = 18
"""Longer texts are read by another loop of BigDecimal's, with another message."""
_NO_EXPONENT = "Character array is missing \"exponent\" mark 'e' or 'E'."


def big_decimal(text: str) -> Decimal:
    """``new BigDecimal(text)``; raises NumberFormatError for what is none: blanks, ``NaN``, hexadecimal numbers."""
    found = _BIG_DECIMAL.fullmatch(text)
    if found is None:
        raise NumberFormatError(_problem(text))
    if found[3] is not None:
        _check_exponent(found[3][1:])
    value = Decimal(text)
    if not -(2**31) < value.as_tuple().exponent < 2**31:  # type: ignore[operator]
        raise NumberFormatError("Scale out of range.")
    return value.copy_abs() if value.is_zero() else value


def _check_exponent(text: str) -> None:
    if len(text.lstrip("+-").lstrip("0")) > 10:
        raise NumberFormatError("Too many nonzero exponent digits.")
    if not -(2**31) <= int(text) < 2**31:
        raise NumberFormatError("Exponent overflow.")


def _problem(text: str) -> str:
    """Return the JDK's message for a text that is no BigDecimal; it names the first invalid character."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    seen = ""
    for i, char in enumerate(digits):
        if char in "eE":
            exponent = digits[i + 1 :].removeprefix("-" if digits[i + 1 : i + 2] == "-" else "+")
            if exponent:
                return "No digits found." if exponent.isdecimal() else "Not a digit."
            return _NO_EXPONENT
        if char == "." and "." in seen:
            return "Character array contains more than one decimal point."
        if char != "." and not char.isdecimal():
            if len(digits) > _LONG_DIGITS:
                return _NO_EXPONENT
            return (
                f'Character {char} is neither a decimal digit number, decimal point, nor "e" notation exponential mark.'
            )
        seen += char
    return "No digits found." if text else _NO_EXPONENT

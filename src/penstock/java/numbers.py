"""Numbers as Java prints them, and ``BigDecimal`` as Java reads it.

``Double.toString`` and ``Float.toString`` are those of Java 17.

Since JDK-4511638, Java 19 prints the shortest digits that give the number back. Java 17, whose answers our tests hold,
does not always: ``2**60`` is ``1.15292150460684698E18`` in 17 and ``1.152921504606847E18`` in 19, ``6.0E13f`` is
``6.0000001E13`` and ``6.0E13``. Whole numbers beyond the precision of their type are printed here as in 17, all others
with the shortest digits. Of numbers ``m * 10**n`` about one in a hundred therefore differs from Java 17, which prints
``1.9999999999999998E23`` for ``2.0E23``; of arbitrary ones about one in ten thousand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from math import nextafter
from struct import Struct

from penstock.java.errors import NumberFormatError

_FLOAT32 = Struct(">f")
_INFINITY = float("inf")
_FLOAT_NORMAL = 2.0**-126
_LONG_LIMIT = 2.0**63
_DOUBLE_BITS, _FLOAT_BITS = 53, 24
_DOUBLE_EXACT, _FLOAT_EXACT = 2.0**_DOUBLE_BITS, 2.0**_FLOAT_BITS


def double_text(value: float) -> str:
    """``Double.toString(value)``: ``1.0``, ``0.001``, ``1.0E10``, ``NaN``, ``-Infinity``."""
    size = abs(value)
    if 1e-3 <= size < 1e7 or size == 0:
        return repr(value)
    if _DOUBLE_EXACT <= size < _LONG_LIMIT:
        return _integral(value, _DOUBLE_BITS)
    return _scientific(value)


def float_text(value: float) -> str:
    """``Float.toString`` of the number of 32 bits that is nearest to this one."""
    value = float32(value)
    size = abs(value)
    if size == 0 or size == _INFINITY or value != value:
        return double_text(value)
    if _FLOAT_EXACT <= size < _LONG_LIMIT:
        return _integral(value, _FLOAT_BITS)
    for digits in range(6 if size >= _FLOAT_NORMAL else 2, 10):
        shortest = float(f"{value:.{digits}g}")
        if float32(shortest) == value:
            break
    if 1e-3 <= size < 1e7:
        return repr(shortest)
    return _scientific(shortest)


def float32(value: float) -> float:
    """The nearest number of 32 bits, infinite beyond their range, as Java's cast to ``float``."""
    try:
        return _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return _INFINITY if value > 0 else -_INFINITY


def float32_of(value: float | Decimal) -> float:
    """The number of 32 bits that is nearest to one of any length; by way of 64 bits it could be rounded twice."""
    try:
        near = float(value)
    except OverflowError:
        return _INFINITY if value > 0 else -_INFINITY
    return rounded_once(near, lambda: value)


def rounded_once(near: float, exact: Callable[[], float | Decimal]) -> float:
    """``float32`` of a number whose nearest of 64 bits is ``near``. ``exact`` is called only if that is halfway."""
    single = float32(near)
    if single == near or not is_halfway(near, single):
        return single
    number = exact()
    return single if number == near else float32(nextafter(near, _INFINITY if number > near else -_INFINITY))


def is_halfway(value: float, single: float) -> bool:
    """Whether a number lies in the middle of ``single``, its nearest of 32 bits, and another one."""
    other = value + (value - single)
    return float32(other) == other


def _scientific(value: float) -> str:
    if value != value:
        return "NaN"
    if abs(value) == _INFINITY:
        return "Infinity" if value > 0 else "-Infinity"
    shortest = repr(abs(value))
    # Java never prints less than two digits, and takes the nearest two where one would do: 4.9E-324.
    mantissa, _, exponent = (shortest if "." in shortest else f"{abs(value):.1e}").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    point = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(significant))
    significant = significant.rstrip("0")
    return f"{'-' if value < 0 else ''}{significant[0]}.{significant[1:] or '0'}E{point}"


def _integral(value: float, bits: int) -> str:
    """Whole numbers beyond what ``bits`` can tell apart: only the digits that all of this size lose are rounded off."""
    number = int(abs(value))
    spare = number.bit_length() - bits - 2
    lost = len(str(1 << spare)) - 1 if spare > 1 else 0
    if lost:
        number, rest = divmod(number, 10**lost)
        number += rest >= 10**lost // 2
    digits = str(number)
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{len(digits) + lost - 1}"


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

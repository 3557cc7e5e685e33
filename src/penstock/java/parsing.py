"""Numbers as Java reads them: ``Integer.parseInt`` and its like, and ``Double.parseDouble``."""

from __future__ import annotations

import re
from unicodedata import decimal

BLANKS = "".join(map(chr, range(33)))
"""Characters that ``String.trim`` removes."""
_WHOLE = re.compile(r"([+-]?)(\d+)")
_DECIMAL = re.compile(r"([+-]?)(?:(NaN|Infinity)|((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?)", re.ASCII)
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII)
_MOST_DIGITS = 20


def whole_number(text: str, bits: int) -> int | None:
    """None for what is no number of so many bits, however long it is. Digits of any script count, as in Java, but for
    those that take Java two chars.
    """
    found = _WHOLE.fullmatch(text)
    if found is None:
        return None
    digits = found[2]
    if not digits.isascii():
        if max(digits) > "\uffff":
            return None
        digits = "".join(str(decimal(digit)) for digit in digits)
    digits = digits.lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None
    number = int(found[1] + digits)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def double(text: str) -> float | None:
    """None for what is no number; blanks around it don't matter."""
    trimmed = text.strip(BLANKS)
    if found := _DECIMAL.fullmatch(trimmed):
        sign, word, digits = found.groups()
        return float(sign + (word or digits))
    if found := _HEXADECIMAL.fullmatch(trimmed):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return float("-inf") if trimmed[0] == "-" else float("inf")
    return None


def decimal_digits(text: str) -> str | None:
    """A number that ``double`` reads, without what only Java puts behind it; None for a hexadecimal one or a word."""
    found = _DECIMAL.fullmatch(text.strip(BLANKS))
    return found[1] + found[3] if found and found[3] else None

"""Java's ``.properties`` format, as ``java.util.Properties.load`` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.java.errors import PropertiesError

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_END = re.compile(r"\r\n|\r|\n")
_CODE_UNIT = re.compile(r"[0-9a-fA-F]{4}")


def parse_properties(text: str) -> dict[str, str]:
    """The settings in a text; of a key given twice the last counts. Raises PropertiesError for a broken escape, which
    names its line and does not show it: it may be a secret.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        try:
            key, value = _setting(line)
        except PropertiesError as error:
            raise PropertiesError(f"Malformed \\uxxxx encoding in line {number}: {error}") from None
        found[key] = value
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without leading blanks, comments and empty lines; one that ends in an odd number of backslashes continues
    in the next. Each with the number of its last line.
    """
    parts: list[str] = []
    number = 0
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        if not parts and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts.append(line[:-1])
            continue
        yield number, "".join([*parts, line])
        parts.clear()
    if any(parts):
        yield number, "".join(parts)


def _setting(line: str) -> tuple[str, str]:
    """Key and value: the key ends at the first ``=``, ``:`` or blank that is not escaped."""
    end = 0
    while end < len(line) and line[end] not in "=: \t\f":
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return _unescaped(line[:end]), _unescaped(rest)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char != "\\":
            out.append(char)
        elif text[at : at + 1] == "u":
            found = _CODE_UNIT.match(text, at + 1)
            if not found:
                raise PropertiesError("expected four hexadecimal digits after \\u")
            out.append(chr(int(found[0], 16)))
            at = found.end()
        elif at < len(text):
            out.append(_ESCAPES.get(text[at], text[at]))
            at += 1
    # Characters beyond 16 bits are written as two escapes.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

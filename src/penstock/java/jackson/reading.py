"""JSON as Jackson reads and writes it, on top of orjson.

Writing differs from orjson in doubles and in the escapes of control characters. Reading is more lenient: leading zeros,
numbers of any size, lone surrogates, anything after the first value, other encodings; what orjson refuses is read
again by a parser with Jackson's rules and messages. orjson reads integers beyond 64 bits as floats, so that a
caller for whom this makes a difference asks ``parse`` for the exact ``int`` or ``Decimal`` instead of ``loads``.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from penstock.java.errors import JsonError
from penstock.java.jackson.node import Node
from penstock.java.jackson.parser import Parser
from penstock.java.jackson.scanner import too_deep
from penstock.java.numbers import double_text

_FIRST_PLANES, _LAST_PLANES = re.compile(rb"\xf0[\x80-\xbf]{3}"), re.compile(rb"[\xf1-\xf4][\x80-\xbf]{3}")
"""Characters beyond 16 bits in UTF-8: nearly all begin with the same byte, and one byte is found very quickly."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = b"\\u00"
_LOWER_CASE_ESCAPE = re.compile(rb"\\(?:u00[01][a-f]|.)")


def number(value: float) -> Any:
    """Return the value to pass to ``dumps`` for a double."""
    return value if 1e-3 <= abs(value) < 1e7 or value == 0 else literal_number(double_text(value))


def literal_number(text: str) -> orjson.Fragment:
    """A number that is spelled as Java spells it; what is none (``NaN``, ``-Infinity``) becomes a text, as Jackson
    does.
    """
    return orjson.Fragment(f'"{text}"' if text.endswith(("N", "y")) else text)


def dumps(value: Any) -> bytes:
    """The JSON of a value made of what orjson takes, doubles by way of ``number``; raises JsonError."""
    try:
        return escaped(orjson.dumps(value))
    except TypeError:
        return escaped(_dumps(value).encode())


def _dumps(value: Any) -> str:
    """For texts that orjson refuses: halves of surrogate pairs, which Jackson writes as escapes."""
    match value:
        case str():
            return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04X}", json.encoder.encode_basestring(value))
        case dict():
            return f"{{{','.join([f'{_dumps(key)}:{_dumps(item)}' for key, item in value.items()])}}}"
        case list():
            return f"[{','.join(map(_dumps, value))}]"
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise JsonError("Error serializing JSON message") from error


def needs_escapes(data: bytes) -> bool:
    """Quickly: may ``escaped`` change these bytes (or any of those that were joined to them)?"""
    # Backwards it is found in half the time that ``in`` takes where there are many backslashes.
    return data.rfind(_ESCAPE) >= 0 or (not data.isascii() and (0xF0 in data or _in_last_planes(data)))


def _in_last_planes(data: bytes) -> bool:
    return 0xF1 in data or 0xF2 in data or 0xF3 in data or 0xF4 in data


def escaped(data: bytes) -> bytes:
    """Jackson writes ``\\u001F`` where orjson writes ``\\u001f``, and both surrogates of a character beyond 16 bits."""
    if data.find(_ESCAPE) >= 0:
        data = _LOWER_CASE_ESCAPE.sub(_upper, data)
    if data.isascii():
        return data
    if 0xF0 in data:
        data = _FIRST_PLANES.sub(_surrogates, data)
    return _LAST_PLANES.sub(_surrogates, data) if _in_last_planes(data) else data


def _surrogates(found: re.Match[bytes]) -> bytes:
    pair = found[0].decode().encode("utf-16-be").hex().upper().encode()
    return b"\\u" + pair[:4] + b"\\u" + pair[4:]


def _upper(escape: re.Match[bytes]) -> bytes:
    found = escape[0]
    return found if len(found) == 2 else found[:4] + found[4:].upper()


def loads(data: bytes) -> Node:
    """The value of a text; raises JsonError. Numbers beyond 64 bits may be floats."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse(data)


def parse(data: bytes) -> Node:
    """The value of a text, with exact numbers: ``int``, or ``Decimal`` where there is a point or an exponent."""
    encoding = json.detect_encoding(data)
    if encoding not in ("utf-8", "utf-8-sig"):
        data = data.decode(encoding, "replace").encode("utf-8", "surrogatepass")
    parser = Parser(data.removeprefix(b"\xef\xbb\xbf"))
    try:
        return parser.document()
    except RecursionError:
        raise too_deep(data) from None

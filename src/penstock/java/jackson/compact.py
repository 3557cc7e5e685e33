"""JSON as Java Connect writes it into its internal topics, byte for byte.

Java: ``JsonConverter`` without schemas, over Jackson. No spaces; members in the order given; characters beyond the
basic plane as two escapes; control characters as escapes with capital digits; doubles as ``Double.toString`` shows
them; bytes in base64.
"""

from __future__ import annotations

import base64
import re
from json.encoder import encode_basestring
from typing import Any

import orjson

from penstock.api.errors import DataError
from penstock.java.text import java_double

_UNLIKE_PYTHON = re.compile(r"[\U00010000-\U0010ffff]|\\u[0-9a-f]{4}|\\.")


def encode(value: Any) -> bytes:
    """The bytes of a schemaless value; raises DataError for what JSON can't hold."""
    return _text(value).encode()


def decode(data: bytes) -> Any:
    """The value of such bytes, whoever wrote them; raises ValueError if they are no JSON."""
    return orjson.loads(data)


def _text(value: Any) -> str:
    match value:
        case str():
            return _string(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            shown = java_double(value)
            return shown if value - value == 0 else f'"{shown}"'
        case bytes():
            return f'"{base64.b64encode(value).decode()}"'
        case dict():
            return "{" + ",".join([f"{_string(str(k))}:{_text(v)}" for k, v in value.items()]) + "}"
        case list() | tuple():
            return "[" + ",".join([_text(v) for v in value]) + "]"
        case _:
            raise DataError(f"A value of type {type(value).__name__} can't be written as JSON: {value!r}")


def _string(value: str) -> str:
    encoded = encode_basestring(value)
    if encoded.isascii() and "\\" not in encoded:
        return encoded
    return _UNLIKE_PYTHON.sub(_as_jackson, encoded)


def _as_jackson(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] != "\\":
        code = ord(text) - 0x10000
        return f"\\u{0xD800 + (code >> 10):04X}\\u{0xDC00 + (code & 0x3FF):04X}"
    return "\\u" + text[2:].upper() if text[1] == "u" else text

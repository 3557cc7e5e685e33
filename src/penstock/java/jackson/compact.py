"""JSON as Java Connect writes it into its internal topics, byte for byte.

Java: ``JsonConverter`` without schemas, over Jackson. No spaces, members in the order given, bytes in base64; the rest
is ``penstock.java.jackson.reading.dumps``. ``indented`` is Jackson's form with line breaks.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import orjson

from penstock.java.errors import JsonError
from penstock.java.jackson.reading import dumps, number

_LONGS = range(-(2**63), 2**64)


def encode(value: Any) -> bytes:
    """The bytes of a schemaless value; raises JsonError for what JSON can't hold."""
    return dumps(_plain(value))


def decode(data: bytes) -> Any:
    """The value of such bytes, written by any worker; raises ValueError if they are no JSON.

    Texts may have halves of surrogate pairs, which ``encode`` and Java write as escapes.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _with_surrogates(data)


def _with_surrogates(data: bytes) -> Any:
    try:
        return json.loads(data.decode(), parse_constant=_no_constant)
    except RecursionError:
        raise JsonError("The JSON is nested too deeply") from None


def _no_constant(name: str) -> Any:
    raise JsonError(f"{name} is not a number of JSON")


def _plain(value: Any) -> Any:
    """The value in terms of what ``dumps`` takes."""
    match value:
        case str() | None | bool():
            return value
        case int():
            return value if value in _LONGS else orjson.Fragment(str(value))
        case float():
            return number(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            raise JsonError(f"A value of type {type(value).__name__} can't be written as JSON: {value!r}")


def indented(value: Any) -> bytes:
    """The JSON of a value made of what ``dumps`` takes; raises JsonError."""
    return _indented(value, b"\n")


def _indented(value: Any, line: bytes) -> bytes:
    """``line``: what a line begins with, the line break before it included."""
    match value:
        case dict() if value:
            inner = line + b"  "
            members = [inner + dumps(key) + b" : " + _indented(item, inner) for key, item in value.items()]
            return b"{" + b",".join(members) + line + b"}"
        case list() if value:
            return b"[ " + b", ".join([_indented(item, line) for item in value]) + b" ]"
        case dict():
            return b"{ }"
        case list():
            return b"[ ]"
    return dumps(value)

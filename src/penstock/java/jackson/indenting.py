"""JSON with line breaks and indentation as Jackson writes it: a member a line, the items of an array on one."""

from __future__ import annotations

from typing import Any

from penstock.java.jackson.reading import dumps


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

"""Values inside messages that are Java's to the letter: ``null``, ``true``, ``[a, b]``, ``{a=b}``, ``1.0E10``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from penstock.java.numbers import double_text

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT = "\ufffd".encode()


def decoded_utf8(data: bytes) -> str:
    """``new String(data, UTF_8)``: a half of a surrogate pair is one replacement character, and not one per byte."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_REPLACEMENT, data).decode("utf-8", "replace")


def java_text(value: object) -> str:
    """``String.valueOf`` of a setting's value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
        case float():
            return double_text(value)
        case type():
            return f"class {java_class_name(value)}"
        case Mapping():
            return "{" + ", ".join(f"{java_text(k)}={java_text(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(java_text, value)) + "]"
        case _:
            return str(value)


def java_class_name(kind: type) -> str:
    """The name of a class in settings, metrics, messages, traces and headers.

    A plugin class is called by its own ``java_name``, else by Python's module and name: a ``java_name`` that it
    inherits is the name of another plugin, which does something else. An exception is called by the ``java_name`` that
    it has or inherits: what reads traces and dead letters knows Java's exceptions and asks which kind this is.
    """
    own = getattr(kind, "java_name", "") if issubclass(kind, BaseException) else kind.__dict__.get("java_name")
    return own or (kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}")


def java_split(text: str, separator: str) -> list[str]:
    """``String.split``: empty parts at the end don't count."""
    parts = text.split(separator)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] and text else parts

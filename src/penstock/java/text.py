"""Values inside messages that are Java's to the letter: ``null``, ``true``, ``[a, b]``, ``{a=b}``, ``1.0E10``."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.java.numbers import double_text


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
            return f"class {getattr(value, 'java_name', '') or f'{value.__module__}.{value.__qualname__}'}"
        case Mapping():
            return "{" + ", ".join(f"{java_text(k)}={java_text(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(java_text, value)) + "]"
        case _:
            return str(value)

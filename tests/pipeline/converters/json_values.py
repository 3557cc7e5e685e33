"""JSON converters for tests."""

from __future__ import annotations

from penstock.pipeline.converters import JsonConverter


def converter(**settings: str) -> JsonConverter:
    """Return a converter of values; an underscore in the name of a setting stands for a dot."""
    subject = JsonConverter()
    subject.configure({name.replace("_", "."): value for name, value in settings.items()}, is_key=False)
    return subject

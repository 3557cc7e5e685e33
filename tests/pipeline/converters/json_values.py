"""JSON converters for tests."""

from __future__ import annotations

from typing import Any

from penstock.pipeline.converters import JsonConverter


def converter(**settings: str) -> JsonConverter:
    """Return a converter of values; an underscore in the name of a setting stands for a dot."""
    subject = JsonConverter()
    subject.configure({name.replace("_", "."): value for name, value in settings.items()}, is_key=False)
    return subject


def read(subject: JsonConverter, *data: bytes) -> Any:
    """Return the schemas and the values of these texts, read in one batch."""
    return subject.to_connect_batch(["t"] * len(data), [()] * len(data), list(data))

"""The JSON converter as its tests make it."""

from __future__ import annotations

from penstock.pipeline.converters import JsonConverter


def converter(**settings: str) -> JsonConverter:
    """Of values; in names of settings an underscore stands for a point."""
    subject = JsonConverter()
    subject.configure({name.replace("_", "."): value for name, value in settings.items()}, is_key=False)
    return subject

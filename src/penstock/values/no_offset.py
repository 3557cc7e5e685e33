"""A source offset that is null, as Java allows."""

from __future__ import annotations

from typing import Any


class NoOffset(dict[str, Any]):
    """Null as an object of its own: the pipeline distinguishes records by the objects of their offsets."""

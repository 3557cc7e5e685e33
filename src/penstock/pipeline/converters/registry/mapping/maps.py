"""Maps in the order in which Java's converters give them: that of a ``HashMap`` made for so many entries."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from penstock.api.schema import SchemaType
from penstock.values.hash_map import hash_map


def in_java_order(entries: dict[Any, Any], key_type: SchemaType = SchemaType.STRING) -> dict[Any, Any]:
    """These entries in the order of ``new HashMap<>(size)``."""
    if len(entries) < 2:
        return entries
    try:
        order = _order(tuple(entries), key_type)
    except TypeError:
        return entries
    return {key: entries[key] for key in order}


@lru_cache(10_000)
def _order(keys: tuple[Any, ...], key_type: SchemaType) -> tuple[Any, ...]:
    capacity = 1 << (len(keys) - 1).bit_length()
    if key_type is SchemaType.STRING and not all(type(key) is str for key in keys):
        return keys
    return tuple(hash_map(dict.fromkeys(keys), capacity, key_type))

"""The order of ``java.util.HashMap``: Java's converters and transforms keep schemaless objects in hash maps, and the
order shows in the JSON and the text they become.

The order is that of ``penstock.java.hash_map``; here a key's schema says which class Java's key is of.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.api.schema import SchemaType
from penstock.java.hash_map import (
    hash_code,
    hash_code_of_boolean,
    hash_code_of_double,
    hash_code_of_float,
    hash_code_of_int,
    hash_code_of_long,
    hash_order,
)


def hash_map(
    entries: Mapping[Any, Any], capacity: int = 16, key_type: SchemaType = SchemaType.STRING
) -> dict[Any, Any]:
    """These entries in the order of a ``HashMap`` into which they were put one by one, its table being of this size at
    first.

    ``key_type`` decides which class the keys have in Java: a long has another hash code than the same int. Maps whose
    keys are arrays, maps or structs keep their order.
    """
    keys = tuple(entries)
    if len(keys) < 2:
        return dict(entries)
    if key_type is SchemaType.STRING:
        order = hash_order(keys, capacity)
    elif key_type.primitive and key_type is not SchemaType.BYTES:
        order = hash_order(keys, capacity, lambda key: _code(key, key_type))
    else:
        order = list(keys)
    return {key: entries[key] for key in order}


def in_hash_order(entries: dict[str, Any]) -> dict[str, Any]:
    """``hash_map`` of text keys that gives back the same ``dict`` where it is in order already."""
    order = order_of_keys(tuple(entries))
    return entries if order.kept else {key: entries[key] for key in order.keys}


class Order(NamedTuple):
    """The order in which a ``HashMap`` iterates over some keys."""

    keys: tuple[str, ...]
    kept: bool
    """It is the order in which they were put."""
    certain: bool
    """It does not depend on the order in which they are put."""


@lru_cache(10_000)
def order_of_keys(keys: tuple[str, ...]) -> Order:
    order = tuple(hash_order(keys))
    return Order(order, order == keys, order == tuple(hash_order(keys[::-1])))


def _code(key: Any, key_type: SchemaType) -> int:
    """``key.hashCode()``."""
    match key:
        case None:
            return 0
        case bool():
            return hash_code_of_boolean(key)
        case float() if key_type is SchemaType.FLOAT32:
            return hash_code_of_float(key)
        case float():
            return hash_code_of_double(key)
        case int() if key_type is SchemaType.INT64:
            return hash_code_of_long(key)
        case int():
            return hash_code_of_int(key)
        case _:
            return hash_code(str(key))

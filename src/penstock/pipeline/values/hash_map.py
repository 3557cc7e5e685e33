"""The order of ``java.util.HashMap``: Java's converters and transforms keep schemaless objects in hash maps, and the
order shows in the JSON and the text they become.

The order of such a map follows from the hash codes of its keys, the size of its table, and, where two keys share a
bucket, from who came first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

from penstock.api.schema import Type
from penstock.java.text import hash_code

_DOUBLE = Struct(">d")
_WORD = 0xFFFFFFFF


def hash_map(entries: Mapping[Any, Any], capacity: int = 16, key_type: Type = Type.STRING) -> dict[Any, Any]:
    """These entries in the order of a ``HashMap`` into which they were put one by one, its table being of this size at
    first.

    Keys that are no text are told apart by ``key_type``: a long has another hash code than the same int. Maps whose
    keys are arrays, maps or structs keep their order.
    """
    keys = tuple(entries)
    if len(keys) < 2:
        return dict(entries)
    if key_type is Type.STRING:
        order = _order_of_texts(keys, capacity)
    elif key_type.primitive and key_type is not Type.BYTES:
        order = _order(keys, [_code(key, key_type) for key in keys], capacity)
    else:
        order = keys
    return {key: entries[key] for key in order}


def in_hash_order(entries: dict[str, Any]) -> dict[str, Any]:
    """``hash_map`` of text keys that gives back the same ``dict`` where it is in order already."""
    order = order_of_keys(tuple(entries))
    return entries if order.kept else {key: entries[key] for key in order.keys}


class Order(NamedTuple):
    """In which a ``HashMap`` goes over some keys."""

    keys: tuple[str, ...]
    kept: bool
    """It is the one in which they were put."""
    certain: bool
    """It is the same for any order in which they are put."""


@lru_cache(10_000)
def order_of_keys(keys: tuple[str, ...]) -> Order:
    order = _order_of_texts(keys, 16)
    return Order(order, order == keys, order == _order_of_texts(keys[::-1], 16))


def _order_of_texts(keys: tuple[str, ...], capacity: int) -> tuple[str, ...]:
    return _order(keys, [hash_code(key) for key in keys], capacity)


def _order(keys: tuple[Any, ...], codes: list[int], capacity: int) -> tuple[Any, ...]:
    while len(keys) > capacity * 3 // 4:
        capacity *= 2
    buckets = [(code ^ code >> 16) & (capacity - 1) for code in codes]
    return tuple(keys[i] for i in sorted(range(len(keys)), key=buckets.__getitem__))


def _code(key: Any, key_type: Type) -> int:
    """``key.hashCode()``, as an unsigned number of 32 bits."""
    match key:
        case None:
            return 0
        case bool():
            return 1231 if key else 1237
        case float():
            bits = int.from_bytes(_DOUBLE.pack(key), "big")
            return (bits ^ bits >> 32) & _WORD
        case int() if key_type is Type.INT64:
            bits = key & 0xFFFFFFFFFFFFFFFF
            return (bits ^ bits >> 32) & _WORD
        case int():
            return key & _WORD
        case _:
            return hash_code(str(key))

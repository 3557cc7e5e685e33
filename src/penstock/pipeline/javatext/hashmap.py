"""The order of ``java.util.HashMap``: Java's converters and transforms keep schemaless objects in hash maps, and the
order shows in the JSON and the text they become.

The order of such a map follows from the hash codes of its keys, the size of its table, and, where two keys share a
bucket, from who came first.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any

from penstock.api.schema import Type
from penstock.api.text import hash_code

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
    keys = tuple(entries)
    try:
        order = _known_orders[keys]
    except KeyError:
        order = _remember_order(keys)
    return entries if order is None else {key: entries[key] for key in order}


def order_of_keys(keys: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """The order of a ``HashMap`` with these keys, and whether it would be the same if they had come in any other
    order.
    """
    try:
        return _known_sets[keys]
    except KeyError:
        if len(_known_sets) > 10_000:
            _known_sets.clear()
        order = _order_of_texts(keys, 16)
        certain = order == _order_of_texts(keys[::-1], 16)
        _known_sets[keys] = order, certain
        return order, certain


_known_sets: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {}
_known_orders: dict[tuple[str, ...], tuple[str, ...] | None] = {}
"""The order of keys that were seen, None where it is the one they are in."""


def _remember_order(keys: tuple[str, ...]) -> tuple[str, ...] | None:
    if len(_known_orders) > 10_000:
        _known_orders.clear()
    order = _order_of_texts(keys, 16)
    found = _known_orders[keys] = None if order == keys else order
    return found


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

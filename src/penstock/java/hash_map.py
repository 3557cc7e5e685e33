"""The order in which ``java.util.HashMap`` and ``HashSet`` go over their keys, which messages, JSON and texts show.

It follows from the hash codes of the keys, the size of the table, and, where keys share a bucket, from the order in
which they were put. Java: ``HashMap.hash``, ``putMapEntries`` and ``tableSizeFor``, as they are up to Java 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from typing import TypeVar

from penstock.java.numbers import float32

K = TypeVar("K")

_FLOAT, _DOUBLE = Struct(">f"), Struct(">d")
_WORD = 0xFFFFFFFF


def hash_code(value: str) -> int:
    """``String.hashCode``; like all hash codes here an unsigned number of 32 bits."""
    data = value.encode("utf-16-be", "surrogatepass")
    result = 0
    for high, low in zip(data[::2], data[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & _WORD
    return result


def hash_code_of_boolean(value: bool) -> int:
    return 1231 if value else 1237


def hash_code_of_int(value: int) -> int:
    """Return the hash code of a Byte, Short or Integer."""
    return value & _WORD


def hash_code_of_long(value: int) -> int:
    bits = value & 0xFFFFFFFFFFFFFFFF
    return (bits ^ bits >> 32) & _WORD


def hash_code_of_float(value: float) -> int:
    """Return the hash code of a Float, the 32-bit number nearest to this one."""
    return int.from_bytes(_FLOAT.pack(float32(value)), "big")


def hash_code_of_double(value: float) -> int:
    return hash_code_of_long(int.from_bytes(_DOUBLE.pack(value), "big"))


def hash_order(keys: Iterable[K], capacity: int = 16, code: Callable[[K], int] = hash_code) -> list[K]:  # type: ignore[assignment]
    """These keys in the order of a map into which they were put one by one, its table being of this size at first."""
    unique = list(dict.fromkeys(keys))
    if len(unique) < 2:
        return unique
    while len(unique) > capacity * 3 // 4:
        capacity *= 2

    def bucket(key: K) -> int:
        hashed = code(key)
        return (hashed ^ hashed >> 16) & (capacity - 1)

    return sorted(unique, key=bucket)


def copy_order(keys: Iterable[str]) -> list[str]:
    """The same for ``new HashMap(other)``; ``keys`` as the other map goes over them."""
    unique = list(dict.fromkeys(keys))
    return hash_order(unique, capacity_of_copy(len(unique)))


def capacity_for(size: int) -> int:
    """The size of the table of ``new HashMap<>(size)``."""
    return 1 << max(size - 1, 0).bit_length()


def capacity_of_copy(size: int) -> int:
    """The size of the table of ``new HashMap<>(map)`` for a map of this size."""
    return capacity_for(int(size / 0.75 + 1)) if size else 16

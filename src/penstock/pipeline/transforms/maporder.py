"""The order of the entries of a schemaless map after a transform.

Java's transforms rebuild maps as ``HashMap``, and what is written in the end (JSON, ``toString``) shows the order in
which such a map goes over its keys. A ``dict`` here is kept in that order: it follows from the order the map had
before, the keys that were put, and the number of buckets the new map began with. Java: ``HashMap.putMapEntries`` and
``tableSizeFor``, as they are up to Java 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.api.text import hash_order

Keys = tuple[Any, ...]


def buckets(size: int) -> int:
    """The capacity of ``new HashMap<>(size)``."""
    return 1 << max(size - 1, 0).bit_length()


def buckets_of_copy(size: int) -> int:
    """The capacity of ``new HashMap<>(map)`` for a map of this size."""
    return buckets(int(size / 0.75 + 1)) if size else 16


def ordered(keys: Iterable[Any], capacity: int) -> Keys:
    """The keys as a map iterates over them that had this capacity when they were put one by one."""
    given = tuple(dict.fromkeys(keys))
    return tuple(hash_order(given, capacity)) if all(isinstance(key, str) for key in given) else given


def copied(keys: Keys, put: Iterable[str] = ()) -> Keys:
    """The keys of a copy of a map, into which further keys were put."""
    return ordered((*keys, *put), buckets_of_copy(len(keys)))


class Skeletons(dict[Keys, dict[Any, None]]):
    """By the keys of a map: a dict of nulls whose keys are those of the new map, in order.

    ``{**skeletons[tuple(old)], **new}`` is then a dict in that order. Few different sets of keys are kept.
    """

    LIMIT = 1000

    def __init__(self, order: Callable[[Keys], Keys]) -> None:
        super().__init__()
        self._order = order

    def __missing__(self, keys: Keys) -> dict[Any, None]:
        skeleton: dict[Any, None] = dict.fromkeys(self._order(keys))
        if len(self) >= self.LIMIT:
            self.clear()
        self[keys] = skeleton
        return skeleton


def with_keys(put: Iterable[str]) -> Skeletons:
    """Skeletons of copies into which these keys are put."""
    names = tuple(put)
    return Skeletons(lambda keys: copied(keys, names))

"""Results that a transform computes once for all values of a kind: by schema, or by the keys of a schemaless map.

Such a map is copied as Java's ``HashMap`` is: the order of the copy follows from the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, TypeVar

from penstock.java.hash_map import capacity_of_copy, hash_order

K = TypeVar("K")
T = TypeVar("T")


class Plans(dict[K, T]):
    """Plans by key, computed on first access: ``plans[schema]``. Only a limited number is kept."""

    LIMIT = 1000

    def __init__(self, make: Callable[[K], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: K) -> T:
        plan = self._make(key)
        if len(self) >= self.LIMIT:
            self.clear()
        self[key] = plan
        return plan


Keys = tuple[Any, ...]


def ordered(keys: Iterable[Any], capacity: int) -> Keys:
    """The keys as a map iterates over them that had this capacity when they were put one by one."""
    given = tuple(dict.fromkeys(keys))
    return tuple(hash_order(given, capacity)) if all(isinstance(key, str) for key in given) else given


def copied(keys: Keys, put: Iterable[str] = ()) -> Keys:
    """The keys of a copy of a map, into which further keys were put."""
    return ordered((*keys, *put), capacity_of_copy(len(keys)))


def orders(put: Iterable[str] = ()) -> Plans[Keys, Keys]:
    """By the keys of a map: those of a copy, into which further keys were put, in order."""
    names = tuple(put)
    return Plans(lambda keys: copied(keys, names))


def for_each(plans: Plans[Keys, T], values: list[dict[Any, Any]]) -> Iterable[T]:
    """The plan for the keys of each map. Fast if all have the same keys, as is usual."""
    if not values:
        return ()
    first = list(values[0])
    if all(map(first.__eq__, map(list, values))):
        return repeat(plans[tuple(first)], len(values))
    return [plans[tuple(value)] for value in values]


def skeletons(put: Iterable[str] = (), *, filled: bool = False) -> Plans[Keys, dict[Any, None]]:
    """By the keys of a map: a dict of nulls whose keys are those of a copy, into which further keys were put, in order.

    ``{**skeleton, **old, **new}`` is then a dict in that order. ``filled``: the caller sets all keys that are put, so
    that an empty skeleton is enough where these come last.
    """
    names = tuple(put)

    def skeleton(keys: Keys) -> dict[Any, None]:
        order = copied(keys, names)
        enough = order == (tuple(dict.fromkeys((*keys, *names))) if filled else keys)
        return {} if enough else dict.fromkeys(order)

    return Plans(skeleton)

"""Results that a transform computes once for all values of a kind: by schema, or by the keys of a schemaless map."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

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

"""Partitions whose records are waited for and do not come, though others may."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

INITIAL_TOLERANCE, MAX_TOLERANCE = 5.0, 60.0
"""Seconds for which a partition may stand still: at first, and after repeated attempts to recover.

Replaced sooner than it has found its brokers, on a machine under load, no consumer would deliver anything.
"""

P = TypeVar("P", bound=Hashable)


class Standstill(Generic[P]):
    """``check`` is called again and again; ``tolerated`` says how many seconds are no reason to act."""

    def __init__(self, first: float | None = None) -> None:
        self._first = INITIAL_TOLERANCE if first is None else first
        self.tolerated = self._first
        self._since: dict[P, tuple[int, float]] = {}

    def check(self, missing: Mapping[P, tuple[int, int]], now: float) -> dict[P, int]:
        """The partitions that have stood still for too long, each with its position. ``missing``: those that are waited
        for, each with the position reached and the end. ``now`` is in seconds of any clock.
        """
        if not missing:
            self.tolerated = self._first
        self._since = {
            partition: before if (before := self._since.get(partition)) and before[0] == at else (at, now)
            for partition, (at, _) in missing.items()
        }
        return {p: at for p, (at, since) in self._since.items() if now - since > self.tolerated}

    def forget(self) -> None:
        """There is a reason why nothing comes: the time starts again."""
        self._since = {}

    def acted(self) -> None:
        """The consumer was replaced, or told to begin again: it gets more time."""
        self._since = {}
        self.tolerated = min(2 * self.tolerated, MAX_TOLERANCE)

"""Partitions whose records are waited for and do not come, though others may."""

from __future__ import annotations

from collections.abc import Mapping

FIRST, MOST = 5.0, 60.0
"""How many seconds a partition may stand still: at first, and after its consumer was replaced again and again for that.

Replaced sooner than it has found its brokers, on a machine under load, no consumer would deliver anything.
"""

Missing = Mapping[int, tuple[int, int]]
"""The partitions that are waited for, each with the position reached and the end: ``ReadProgress.missing``."""


class Standstill:
    """``check`` is called again and again; ``tolerated`` says how many seconds are no reason to act."""

    def __init__(self) -> None:
        self.tolerated = FIRST
        self._since: dict[int, tuple[int, float]] = {}

    def check(self, missing: Missing, now: float) -> bool:
        """Whether one of the partitions has stood still for too long. ``now`` is in seconds of any clock."""
        if not missing:
            self.tolerated = FIRST
        self._since = {
            partition: before if (before := self._since.get(partition)) and before[0] == at else (at, now)
            for partition, (at, _) in missing.items()
        }
        return any(now - since > self.tolerated for _, since in self._since.values())

    def forget(self) -> None:
        """There is a reason why nothing comes: the time counts anew."""
        self._since = {}

    def acted(self) -> None:
        """The consumer was replaced: the new one gets more time."""
        self._since = {}
        self.tolerated = min(2 * self.tolerated, MOST)

"""How many records a query that is behind takes at a time.

A batch that is interrupted has to be written again as it was begun. One of everything that is there may take longer
than a cluster with trouble lets a query run: then it gets no further, however often it starts. So the first batches of
a run are small, and those after them as large as the time that they took allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

P = TypeVar("P")

FIRST = 50_000
"""Records of the first batch; who is not further behind has no need to catch up."""
SECONDS = 5.0
"""How long a batch is to take."""
GROWTH = 4
LONGEST_INTERVAL = 10.0
"""Seconds between two batches; who wants longer ones wants few files, too."""


@dataclass(slots=True)
class CatchUpSizes:
    """``size``: of the next batch."""

    size: int = FIRST

    def took(self, seconds: float) -> None:
        """A batch of this size has taken so long."""
        self.size = max(FIRST // 10, min(self.size * GROWTH, int(self.size * SECONDS / max(seconds, 0.001))))

    def end(self, start: Mapping[P, int], ends: Mapping[P, int]) -> dict[P, int] | None:
        """Where the next batch ends: each partition has its part of it, by how far behind it is. None if all that is
        there is no more than a batch, or the end of a partition is not known.
        """
        if start.keys() - ends.keys():
            return None
        behind = {partition: max(ends[partition] - offset, 0) for partition, offset in start.items()}
        total = sum(behind.values())
        if total <= self.size:
            return None
        return {partition: start[partition] + -(-lag * self.size // total) for partition, lag in behind.items()}

"""Backlog of a connector: the records that wait for its tasks on one worker, and whether they become more."""

from __future__ import annotations

import shlex
from collections import deque
from dataclasses import dataclass, field

from penstock.core.attention.rows import NextStep, Row

WINDOW_MS = 15 * 60_000
"""Time over which a backlog is compared. Each third of it must have a higher minimum than the one before."""
STEP_MS = 60_000
"""Interval for which only the lowest backlog is kept: between two commits each backlog grows."""
MIN_GROWTH, MIN_SHARE = 1_000, 0.1
"""Growth within the window that makes a row: records, and the share of the backlog at its begin."""
MIN_STEP = 0.2
"""The share of the growth from each third to the next: a single step, as when partitions are taken over, is none."""


@dataclass(slots=True)
class Backlog:
    """``report`` is called with reports of a task that has taken records since the one before: while it takes none, as
    within a batch of a query, each backlog grows. ``forget`` is called when a task has ended here.
    """

    _of_task: dict[int, int] = field(default_factory=dict)
    _lowest: deque[tuple[int, int]] = field(default_factory=deque)
    """The begin of each interval, and the lowest backlog of all tasks in it."""
    _since_ms: int | None = None
    """Time since which it grows; None if it does not."""

    def report(self, task: int, records: int, now_ms: int) -> None:
        if task not in self._of_task:
            self._restart()
        self._of_task[task] = records
        backlog = sum(self._of_task.values())
        if not self._lowest or now_ms - self._lowest[-1][0] >= STEP_MS:
            self._lowest.append((now_ms, backlog))
        else:
            began, lowest = self._lowest[-1]
            self._lowest[-1] = (began, min(lowest, backlog))
        while len(self._lowest) > 1 and self._lowest[1][0] <= now_ms - WINDOW_MS:
            self._lowest.popleft()

    def forget(self, task: int) -> None:
        """Begin again with the tasks that are left."""
        if self._of_task.pop(task, None) is not None:
            self._restart()

    def row(self, name: str, now_ms: int) -> Row | None:
        """Return the row of the connector of this name if its backlog grows."""
        growth = self._growth(now_ms)
        if growth is None:
            self._since_ms = None
            return None
        began, waiting, more = growth
        if self._since_ms is None:
            self._since_ms = began
        why = (
            f"{waiting:,} records wait, {more:,} more than {(now_ms - began) // 60_000} minutes ago: they "
            "arrive faster than the tasks take them"
        )
        step = NextStep(
            "See which stage is the slowest; use more tasks, larger batches or a faster target",
            f"penstock status {shlex.quote(name)}",
            "overview",
        )
        return Row("behind", why, step, name, tuple(sorted(self._of_task)), since_ms=self._since_ms)

    def _growth(self, now_ms: int) -> tuple[int, int, int] | None:
        """Return since when, how many records wait, and how many more these are; None if it does not grow."""
        if not self._lowest:
            return None
        began, (last, waiting) = self._lowest[0][0], self._lowest[-1]
        if now_ms - began < WINDOW_MS or now_ms - last > WINDOW_MS // 3:
            return None
        thirds: list[list[int]] = [[], [], []]
        for at, lowest in self._lowest:
            thirds[min(2, (at - began) * 3 // (now_ms - began))].append(lowest)
        if not all(thirds):
            return None
        low, middle, high = map(min, thirds)
        grown = high - low
        if grown < max(MIN_GROWTH, MIN_SHARE * low) or min(middle - low, high - middle) < MIN_STEP * grown:
            return None
        return None if waiting < thirds[2][0] else (began, waiting, waiting - low)

    def _restart(self) -> None:
        self._lowest.clear()
        self._since_ms = None

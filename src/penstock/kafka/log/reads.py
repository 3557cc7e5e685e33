"""How far a log has been read, and who waits for it to get further.

Nothing here knows Kafka, threads or time; any thread may call, and callbacks are called outside of the lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

OnDone = Callable[[Exception | None], None]
"""Called once with None or with what went wrong, on another thread or at once; must return at once."""

Ends = Mapping[int, int]
"""For each partition the offset behind the last record that is meant."""


class _Wait(NamedTuple):
    ends: Ends
    done: OnDone


class Reads:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._positions: dict[int, int] = {}
        self._marked: dict[int, int] = {}
        self._waits: list[_Wait] = []
        self._over: Exception | None = None

    def begin(self, starts: Ends) -> list[OnDone]:
        """Reading begins (anew) here; those who still wait are given back, since their ends mean nothing now."""
        with self._lock:
            self._positions, self._marked = dict(starts), {}
            waits, self._waits = self._waits, []
        return [wait.done for wait in waits]

    def fail(self, error: Exception) -> None:
        """Nothing more will be read: whoever waits is told, and whoever will ask."""
        with self._lock:
            self._over = error
            waits, self._waits = self._waits, []
        for wait in waits:
            wait.done(error)

    def passed(self, positions: Ends) -> None:
        """Everything before these positions has been delivered."""
        with self._lock:
            self._positions.update(positions)
            ready = [wait for wait in self._waits if self._has_passed(wait.ends)]
            if ready:
                self._waits = [wait for wait in self._waits if wait not in ready]
        for wait in ready:
            wait.done(None)

    def wait_for(self, ends: Ends, done: OnDone) -> None:
        """Done when everything before these ends has been delivered, which may be now."""
        with self._lock:
            over, here = self._over, self._has_passed(ends)
            if not here and over is None:
                self._waits.append(_Wait(ends, done))
                return
        done(None if here else over)

    @property
    def waited_for(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waits)

    def mark(self, ends: Ends) -> None:
        """A transaction of this log's own ended with these records, so that a marker follows each."""
        with self._lock:
            self._marked.update(ends)

    def positions(self) -> dict[int, int]:
        with self._lock:
            return dict(self._positions)

    def without_markers(self, ends: Ends, before: Ends) -> dict[int, int]:
        """The ends that are worth waiting for; ``before`` are positions taken before the ends were asked for.

        A committed record that has been delivered was followed by its transaction's marker then already. So if just one
        entry lies behind the last record of an own transaction, it is that marker, which is never delivered: a
        consumer learns of it only from its next, empty fetch.
        """
        with self._lock:
            return {
                partition: end - 1 if end - 1 == before.get(partition) == self._marked.get(partition) else end
                for partition, end in ends.items()
            }

    def _has_passed(self, ends: Ends) -> bool:
        return all(self._positions.get(partition, 0) >= end for partition, end in ends.items())

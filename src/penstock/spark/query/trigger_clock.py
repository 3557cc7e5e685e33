"""Detection of a time of day that was set back, by which Spark waits for the next batch of a query."""

from __future__ import annotations

import time

TOLERATED_SECONDS = 1.0
MAX_READING_SECONDS = 0.1
"""The time that reading both clocks may take; the process may have been stopped in between."""


class TriggerClock:
    """The clock of a query that Spark begins a batch of every ``interval`` seconds.

    Spark compares the end of the interval with the time of day: when that is set back by an hour, it waits for an hour
    more. It waits for nothing if the interval is 0.
    """

    def __init__(self, interval: float) -> None:
        self._waits, self._ahead = interval > 0, _ahead()

    def set_back(self) -> float:
        """Return by how many seconds the time of day was set back since the last call; 0 if Spark does not wait for it.

        Called at short intervals, as long as the query runs.
        """
        before, self._ahead = self._ahead, _ahead()
        back = before - self._ahead
        return back if self._waits and back > TOLERATED_SECONDS else 0.0


def _ahead() -> float:
    """Return how far the time of day is ahead of the clock that nobody sets."""
    while True:
        before = time.monotonic()
        now = time.time()
        if (after := time.monotonic()) - before <= MAX_READING_SECONDS:
            return now - after

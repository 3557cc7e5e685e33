"""Silence of a source: it has polled no records for much longer than it usually does."""

from __future__ import annotations

import shlex
from collections import deque
from dataclasses import dataclass, field

from penstock.core.attention.rows import NextStep, Row, instant

MIN_KNOWN_MS = 24 * 60 * 60_000
MIN_PAUSES = 20
"""Time, and pauses between records, that must have been observed before anything is called unusual."""
MIN_SILENT_MS = 10 * 60_000
FACTOR = 4
"""Multiple of the usual longest pause from which on a source is silent."""
DAY_MS = 24 * 60 * 60_000
DAYS = 15
"""Days whose pauses are remembered: two weekends, with the records before and after them."""


@dataclass(slots=True)
class Silence:
    """Pauses of a source's tasks on one worker. The source has paused while none of its tasks has polled records.

    Usual is the second longest pause of the last days: one outage does not make outages usual, but a pause of each
    night or weekend is, once it has occurred twice.
    """

    began_ms: int
    _last_ms: int | None = None
    """Time of the last records, or from which on the source could have polled some; None before the first ones."""
    _pauses: int = 0
    _longest: deque[tuple[int, int, int]] = field(default_factory=deque)
    """For each day with records, its number and its two longest pauses."""

    def polled(self, now_ms: int) -> None:
        """Note that records have been polled."""
        if self._last_ms is not None:
            self._pauses += 1
            self._remember(now_ms - self._last_ms, now_ms // DAY_MS)
        self._last_ms = now_ms

    def interrupted(self, now_ms: int) -> None:
        """Note that the source has been paused, stopped or restarted: the time before is no pause of its own."""
        if self._last_ms is not None:
            self._last_ms = now_ms

    def has_polled_since(self, time_ms: int) -> bool:
        return self._last_ms is not None and self._last_ms >= time_ms

    def row(self, name: str, tasks: tuple[int, ...], now_ms: int) -> Row | None:
        """Return the row of the connector of this name, and of its tasks on this worker, if it is silent."""
        if self._last_ms is None or self._pauses < MIN_PAUSES or self._last_ms - self.began_ms < MIN_KNOWN_MS:
            return None
        usual, silent = self.usual_ms(), now_ms - self._last_ms
        if silent < max(MIN_SILENT_MS, FACTOR * usual):
            return None
        why = (
            f"It has polled no records since {instant(self._last_ms)}; its longest usual pause is "
            f"{_duration(usual)}. It is RUNNING and reports no error"
        )
        step = NextStep(
            "See whether its origin has new data. If the pause is usual, set penstock.attention.muted=silent",
            f"penstock status {shlex.quote(name)}",
            "overview",
        )
        return Row("silent", why, step, name, tasks, since_ms=self._last_ms)

    def usual_ms(self) -> int:
        """Return the second longest pause of the days that are remembered."""
        pauses = sorted(pause for _, *two in self._longest for pause in two)
        return pauses[-2] if len(pauses) > 1 else 0

    def _remember(self, pause: int, day: int) -> None:
        while self._longest and self._longest[0][0] <= day - DAYS:
            self._longest.popleft()
        if not self._longest or self._longest[-1][0] != day:
            self._longest.append((day, pause, 0))
            return
        _, *two = self._longest[-1]
        second, first = sorted((*two, pause))[-2:]
        self._longest[-1] = (day, first, second)


def _duration(ms: int) -> str:
    seconds = max(ms // 1000, 1)
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} seconds" if seconds > 1 else "1 second"

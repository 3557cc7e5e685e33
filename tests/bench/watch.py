"""Measurement of growth."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.connect import PATIENCE, CaseError
from bench.processors import Meter

_CHECK_SECONDS = 1.0


class Watch:
    """Measures from its creation until all records have arrived. ``check`` is called now and then, and raises if they
    cannot arrive any more. ``meter`` measures while records arrive.
    """

    def __init__(self, wanted: int, check: Callable[[], None], meter: Meter | None = None) -> None:
        self._wanted, self._check, self._meter = wanted, check, meter
        self._begin = self._grown = self._checked = self._last = time.perf_counter()
        self._first: tuple[float, int] | None = None
        self._count = 0

    def sees(self, count: int) -> bool:
        """Return whether ``count``, the present number, is all. Raises CaseError if none has arrived for too long."""
        now = self._last = time.perf_counter()
        if count != self._count:
            self._count, self._grown = count, now
        if count and self._first is None:
            self._first = (now, count)
            if self._meter is not None:
                self._meter.begin()
        if count >= self._wanted:
            if self._meter is not None:
                self._meter.end()
            return True
        if now - self._checked > _CHECK_SECONDS:
            self._check()
            self._checked = now
        if now - self._grown > PATIENCE:
            raise CaseError(f"{count} of {self._wanted} records were there, and no more came within {PATIENCE:g} s")
        return False

    def check(self) -> None:
        """Check the wait for the rest, which is not measured. Raises CaseError if it takes too long."""
        self._check()
        if time.perf_counter() - self._last > PATIENCE:
            raise CaseError(f"The last of {self._wanted} records did not come within {PATIENCE:g} s")

    @property
    def seconds(self) -> float:
        """Total time, including the start."""
        return self._last - self._begin

    @property
    def rate(self) -> float:
        """Records per second since the first was visible."""
        assert self._first is not None
        return self.seen / max(self._last - self._first[0], 1e-3)

    @property
    def seen(self) -> int:
        """Return the number of records that arrived after the first look that found any."""
        assert self._first is not None
        return self._wanted - min(self._first[1], self._wanted)

"""How fast something grows."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.connect import PATIENCE, CaseError

_CHECK_SECONDS = 1.0


class Watch:
    """From when it is made until so many records are there. ``check`` is called now and then, and raises if they will
    never be.
    """

    def __init__(self, wanted: int, check: Callable[[], None]) -> None:
        self._wanted, self._check = wanted, check
        self._begin = self._grown = self._checked = self._last = time.perf_counter()
        self._first: tuple[float, int] | None = None
        self._count = 0

    def sees(self, count: int) -> bool:
        """Called with what there is now; whether that is all. Raises CaseError if nothing has come for too long."""
        now = self._last = time.perf_counter()
        if count != self._count:
            self._count, self._grown = count, now
        if count and self._first is None:
            self._first = (now, count)
        if count >= self._wanted:
            return True
        if now - self._checked > _CHECK_SECONDS:
            self._check()
            self._checked = now
        if now - self._grown > PATIENCE:
            raise CaseError(f"{count} of {self._wanted} records were there, and no more came within {PATIENCE:g} s")
        return False

    @property
    def seconds(self) -> float:
        """All of it, with what had to start first."""
        return self._last - self._begin

    @property
    def rate(self) -> float:
        """Records a second, from when the first could be seen."""
        assert self._first is not None
        start, before = self._first
        return (self._wanted - min(before, self._wanted)) / max(self._last - start, 1e-3)

"""A cluster in which a test holds back what is to happen later."""

from __future__ import annotations

from typing import Any

from simulation.cluster import Cluster


class _HeldBack(Exception):
    """Nothing else is under way."""


class Ordered(Cluster):
    """Everything goes on but what is held back: channels by the names that they begin with."""

    def __init__(self, **settings: Any) -> None:
        super().__init__([].append, self._next, **settings)
        self.held_back: set[str] = set()

    def _next(self, channels: list[str]) -> int:
        for i, channel in enumerate(channels):
            if not channel.startswith(tuple(self.held_back)):
                return i
        raise _HeldBack

    def go_on(self) -> None:
        try:
            self.settle()
        except _HeldBack:
            pass

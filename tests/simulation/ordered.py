"""Cluster in which a test holds channels back."""

from __future__ import annotations

from typing import Any

from simulation.cluster import Cluster


class _HeldBack(Exception):
    """Return whether nothing is under way except on channels that are held back."""


class Ordered(Cluster):
    """Cluster in which all channels advance in order, except those whose names begin with a text of ``held_back``."""

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

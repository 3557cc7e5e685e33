"""Times at which each of several senders made progress, from measures that grow while they work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

OFTEN = 0.5
"""Seconds between two samples."""

Measure = Callable[[], float | None]
"""Returns a number that grows with the work done, or None if it is unknown at the moment."""


class ProgressWatch:
    """Samples measures. ``times``: the times at which each had grown, in seconds of ``time.time``."""

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        self.times: dict[str, list[float]] = {name: [] for name in measures}
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._watch, args=each, name="progress") for each in measures.items()]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _watch(self, name: str, measure: Measure) -> None:
        last = 0.0
        while not self._ended.wait(OFTEN):
            if (now := measure()) is not None and now != last:
                last = now
                self.times[name].append(time.time())

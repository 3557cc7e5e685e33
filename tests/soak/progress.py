"""When each of several things moved on: from measures that grow for as long as it works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

OFTEN = 0.5
"""Seconds from one look to the next."""

Measure = Callable[[], float | None]
"""Grows with the work that is done; None if that can't be found out now."""


class ProgressWatch:
    """``times``: for each, when it was seen to have moved on, in seconds of ``time.time``."""

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

"""What a process takes over a long time: its memory, its file descriptors and its threads."""

from __future__ import annotations

import statistics
import threading
from typing import NamedTuple

import psutil

OFTEN = 5.0
"""Seconds from one look to the next."""
MOST = {"memory": 1.25, "file descriptors": 1.25, "threads": 1.25}
"""How much more may be taken in the last third of the time than in the second; in the first it is still warming up."""
LEAST = 30
"""Looks without which nothing can be said."""


class Sample(NamedTuple):
    memory: int
    """In MB."""
    file_descriptors: int
    threads: int


class Resources:
    """Watches a process from ``start`` to ``stop``, or until it ends."""

    def __init__(self, pid: int) -> None:
        self.samples: list[Sample] = []
        self._process = psutil.Process(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="resources")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(OFTEN):
            try:
                with self._process.oneshot():
                    memory = self._process.memory_info().rss >> 20
                    self.samples.append(Sample(memory, self._process.num_fds(), self._process.num_threads()))
            except psutil.NoSuchProcess:
                return


def thirds(samples: list[Sample]) -> dict[str, tuple[float, float, float]]:
    """Of each resource, what was taken in the first, the second and the last third of the time: medians."""
    size = len(samples) // 3
    parts = (samples[:size], samples[size : 2 * size], samples[-size:])
    return {
        name: tuple(statistics.median(sample[i] for sample in part) for part in parts)  # type: ignore[misc]
        for i, name in enumerate(MOST)
    }


def described(samples: list[Sample]) -> dict[str, object]:
    """Lines for a report; none if there are too few samples."""
    if len(samples) < LEAST:
        return {}
    found = thirds(samples).items()
    return {f"{name} of the spared worker": " → ".join(f"{each:g}" for each in values) for name, values in found}


def growth(samples: list[Sample]) -> list[str]:
    """A sentence on each resource of which more and more was taken."""
    if len(samples) < LEAST:
        return []
    return [
        f"the {name} of a worker grew from {second:g} to {last:g}"
        for name, (_, second, last) in thirds(samples).items()
        if last > second * MOST[name]
    ]

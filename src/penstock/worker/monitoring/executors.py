"""Executors that lack something that tasks need, for the attention list."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from penstock.core.attention.rows import NextStep, Row
from penstock.core.model.events import LoopEvent
from penstock.core.model.tasks import SparkDied, SparkReady

STEP = NextStep("Give all executors the same environment; until then tasks may fail there", None, "workers")


class Executors:
    """``observe`` is called by the worker's loop with every event; ``rows`` from any thread."""

    def __init__(self, worker: str, clock: Callable[[], float] = time.time) -> None:
        """``worker``: the worker's id."""
        self._worker, self._clock = worker, clock
        self._unfit: dict[bool, tuple[int, tuple[str, ...]]] = {}
        """When some executors were found unfit and what they lack, by whether the application is that for queries."""

    def observe(self, event: LoopEvent) -> None:
        match event:
            case SparkReady(queries=queries, unfit=unfit):
                self._unfit[queries] = (int(self._clock() * 1000), unfit)
            case SparkDied(queries=queries):
                self._unfit.pop(queries, None)

    def rows(self) -> Iterator[Row]:
        for since_ms, unfit in list(self._unfit.values()):
            for sentence in unfit:
                yield Row("executors", sentence.rstrip("."), STEP, worker=self._worker, since_ms=since_ms)

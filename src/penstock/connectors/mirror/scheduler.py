"""One thread that runs a mirror connector's background jobs, periodically.

Errors of a job are logged and don't affect the others. Java: ``Scheduler``.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

Job = Callable[[], None]


class Scheduler:
    """A thread that runs jobs; ``close`` it at the end. Any thread may call every method."""

    def __init__(self, name: str, timeout: float) -> None:
        """``timeout``: how many seconds a job should take at most, and ``execute`` and ``close`` wait for one."""
        self._name, self._timeout = name, timeout
        self._jobs: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=f"mirror-{name}", daemon=True)
        self._thread.start()

    def execute(self, job: Job, description: str) -> None:
        """Run a job now, after the jobs that are due, and wait for it, for ``timeout`` at most."""
        done = threading.Event()

        def once(due: float) -> None:
            try:
                self._run(job, description)
            finally:
                done.set()

        self._at(time.monotonic(), once)
        if not done.wait(self._timeout):
            log.error("%s timed out running task: %s", self._name, description)

    def repeat(self, job: Job, interval: float | None, description: str, *, at_once: bool) -> None:
        """Run a job every ``interval`` seconds, the first time now or after one interval; None means never."""
        if interval is None:
            return

        def again(due: float) -> None:
            self._run(job, description)
            self._at(max(due + interval, time.monotonic() if interval else time.monotonic() + 0.001), again)

        self._at(time.monotonic() + (0 if at_once else interval), again)

    def close(self) -> None:
        """Run no more jobs; wait for the one that is running."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join(self._timeout)
            if self._thread.is_alive():
                log.error("%s timed out during shutdown of internal scheduler.", self._name)

    def _at(self, due: float, job: Callable[[float], None]) -> None:
        with self._changed:
            heapq.heappush(self._jobs, (due, next(self._numbers), job))
            self._changed.notify()

    def _work(self) -> None:
        while (found := self._next()) is not None:
            found[2](found[0])

    def _next(self) -> tuple[float, int, Callable[[float], None]] | None:
        with self._changed:
            while not self._closed:
                left = self._jobs[0][0] - time.monotonic() if self._jobs else 3600.0
                if left <= 0:
                    return heapq.heappop(self._jobs)
                self._changed.wait(min(left, 3600.0))
        return None

    def _run(self, job: Job, description: str) -> None:
        started = time.monotonic()
        try:
            job()
        except Exception:
            log.exception("%s caught exception in scheduled task: %s", self._name, description)
            return
        took = time.monotonic() - started
        log.debug("%s took %d ms", description, took * 1000)
        if took > self._timeout:
            log.warning("%s took too long (%d ms) running task: %s", self._name, took * 1000, description)

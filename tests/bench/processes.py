"""Processes of this machine: the listener of a port, and the use of resources by a process and its descendants."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Self

import psutil

from support.process_tree import descendants


def listening(port: int) -> int | None:
    """Return the PID of the process that listens on this port; None if there is none that may be inspected."""
    found = psutil.net_connections("tcp")
    return next((c.pid for c in found if c.status == psutil.CONN_LISTEN and c.laddr.port == port and c.pid), None)


def megabytes(pid: int) -> float:
    """Return the memory of a process and its descendants. Shared memory is divided among the processes that share it;
    reading that takes some milliseconds per process.
    """
    memory = 0.0
    for process in (psutil.Process(pid), *descendants(pid)):
        with suppress(psutil.Error):
            memory += process.memory_full_info().pss / 2**20
    return memory


def busy(pid: int, seconds: float) -> float:
    """Measure the processor time of a process and its descendants for ``seconds``, in percent of a processor."""
    before, begun = _processor_seconds(pid), time.perf_counter()
    time.sleep(seconds)
    return (_processor_seconds(pid) - before) / (time.perf_counter() - begun) * 100


def _processor_seconds(pid: int) -> float:
    taken = 0.0
    for process in (psutil.Process(pid), *descendants(pid)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            taken += times.user + times.system
    return taken


class Peak:
    """Peak memory of a process and its descendants during the context."""

    def __init__(self, pid: int, every: float = 0.5) -> None:
        self.megabytes = 0.0
        self._pid, self._every = pid, every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.megabytes = max(self.megabytes, megabytes(self._pid))
            if self._over.wait(self._every):
                return

"""Processes of this machine: who listens on a port, what a process and all below it use."""

from __future__ import annotations

import threading
from typing import Self

import psutil

from support.process_tree import descendants


def listening(port: int) -> int | None:
    """The process that listens on this port; None if there is none that may be looked into."""
    found = psutil.net_connections("tcp")
    return next((c.pid for c in found if c.status == psutil.CONN_LISTEN and c.laddr.port == port and c.pid), None)


def usage(pid: int) -> tuple[float, float]:
    """Megabytes and processor seconds of a process and all below it. Memory that processes share is divided among
    them.
    """
    memory = cpu = 0.0
    for process in (psutil.Process(pid), *descendants(pid)):
        try:
            shares, times = process.memory_full_info().pss, process.cpu_times()
        except psutil.Error:
            continue
        memory += shares / 2**20
        cpu += times.user + times.system
    return memory, cpu


class Peak:
    """The most memory that a process and all below it had at a time while the context lasted."""

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
            self.megabytes = max(self.megabytes, usage(self._pid)[0])
            if self._over.wait(self._every):
                return

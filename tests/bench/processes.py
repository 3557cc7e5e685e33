"""Processes of this machine, from ``/proc``: who listens on a port, what a process and all below it use."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Self

from workers import descendants

_LISTENS = "0A"


def listening(port: int) -> int | None:
    """The process that listens on this port; None if there is none that may be looked into."""
    sockets = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _inodes(table, port)}
    if not sockets:
        return None
    for process in sorted(int(entry.name) for entry in Path("/proc").glob("[0-9]*")):
        try:
            if any(os.readlink(file) in sockets for file in Path(f"/proc/{process}/fd").iterdir()):
                return process
        except OSError:
            continue
    return None


def _inodes(table: str, port: int) -> list[str]:
    try:
        rows = [row.split() for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port]


def usage(pid: int) -> tuple[float, float]:
    """Megabytes and processor seconds of a process and all below it. Memory that processes share is divided among
    them.
    """
    memory = cpu = 0.0
    for member in (pid, *descendants(pid)):
        folder = Path(f"/proc/{member}")
        try:
            shares = (folder / "smaps_rollup").read_text().splitlines()
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        memory += next((int(row.split()[1]) for row in shares if row.startswith("Pss:")), 0) / 1024
        cpu += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
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

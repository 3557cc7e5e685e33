"""Ends parts of a worker by SIGKILL, as a crash or a lack of memory would, and finds their processes for it.

The processes that work for a worker are its descendants: Spark's driver, Spark's Java, and one process for every task,
which is told by the file that it has open.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from penstock.demo.problem import DemoError


class Kill(StrEnum):
    """What is to be killed."""

    WORKER = "worker"
    DRIVER = "driver"
    TASK = "task"


def driver(worker: int) -> int:
    """The process of Spark's driver. Raises DemoError if there is none."""
    for pid in descendants(worker):
        with suppress(OSError):
            if b"penstock.spark.driver" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                return pid
    raise DemoError(f"The worker (process {worker}) has no process with Spark's driver now.")


def task(worker: int, file: Path) -> int:
    """The process of the task that reads or writes ``file``. Raises DemoError if there is none."""
    for pid in descendants(worker):
        with suppress(OSError):
            if any(os.readlink(fd) == str(file.resolve()) for fd in Path(f"/proc/{pid}/fd").iterdir()):
                return pid
    raise DemoError(f"No process of the worker (process {worker}) has {file} open now.")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """The children of a process, their children, and so on. Raises DemoError where the system does not tell."""
    if not Path("/proc/self/stat").exists():
        raise DemoError("Processes to kill are found in /proc, which this system does not have: leave out --kill.")
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            # The name of the program, in parentheses, may hold anything; what follows it may not.
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found, unvisited = [], [pid]
    while unvisited:
        new = children.get(unvisited.pop(), [])
        found += new
        unvisited += new
    return found

"""Exit statuses of the processes of tasks, and whether they ended by themselves.

PySpark's daemon, the parent of every task's process, ignores SIGCHLD, so that Linux forgets exit statuses. Penstock's
daemon (``daemon.py``) waits for its children instead, and leaves each status in a private folder, in a file named by
the process id, where the worker reads it. Only on the worker's own machine; executors of a cluster are elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from penstock.scratch import Scratch

FOLDER = "PENSTOCK_EXIT_STATUSES"
"""The variable that names the folder to the daemon."""

CONTACT_LOST = 113
"""Exit code of a process that ends because its lease has expired: its worker was frozen or cut off."""

_CRASHES = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"})
"""Signals that a process gets for what it has done."""
_EXECUTOR_LOST = ("ExecutorLostFailure", "ecommission")
_INTERVAL = 0.05
_LATE = 10.0
"""Seconds to wait for a status that no run needs."""


class ExitStatuses:
    """The worker's side of the folder of exit statuses, which exists until ``close``."""

    def __init__(self) -> None:
        self._scratch = Scratch("exits")
        self.folder = self._scratch.path
        self._taken: dict[int, int] = {}
        """Several tasks may have had the same process."""
        self._expected: set[asyncio.Task[int | None]] = set()

    async def take(self, pid: int, timeout: float = 0.0) -> int | None:
        """Return the wait status of a process that has ended, as ``os.waitpid`` returns it.

        None if there is none within ``timeout`` seconds: its parent may have ended, too.
        """
        deadline = asyncio.get_running_loop().time() + timeout
        file = self.folder / str(pid)
        while True:
            if pid in self._taken:
                return self._taken[pid]
            with suppress(OSError, ValueError):
                self._taken[pid] = int(file.read_text())
                file.unlink()
                continue
            if asyncio.get_running_loop().time() >= deadline:
                return None
            await asyncio.sleep(_INTERVAL)

    def expect(self, pid: int) -> None:
        """Take the status of a process that has ended as soon as it is there, so that no file is left.

        It is there a moment after the end, when the parent has seen that.
        """
        taking = asyncio.get_running_loop().create_task(self.take(pid, _LATE))
        self._expected.add(taking)
        taking.add_done_callback(self._expected.discard)

    def forget(self, pid: int) -> None:
        """Discard the status of an earlier process with this id. Called when a process begins a task."""
        self._taken.pop(pid, None)
        (self.folder / str(pid)).unlink(missing_ok=True)

    def close(self) -> None:
        self._scratch.close()


def report(folder: Path, pid: int, status: int) -> None:
    """Leave the wait status of a process that has ended in the folder. Called by the daemon. Raises OSError."""
    unfinished = folder / f".{pid}"
    unfinished.write_text(str(status))
    unfinished.rename(folder / str(pid))


class OutOfMemoryKills:
    """Number of processes that the kernel has killed for lack of memory.

    Those of the worker's cgroup, or of the whole machine where the cgroup does not count them.
    """

    def __init__(self) -> None:
        self._files = [*_cgroup_files(), Path("/proc/vmstat")]

    def count(self) -> int:
        for file in self._files:
            with suppress(OSError, ValueError, StopIteration):
                lines = (line.split() for line in file.read_text().splitlines())
                return next(int(value) for name, value in lines if name == "oom_kill")
        return 0


def _cgroup_files() -> Iterator[Path]:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                yield Path(f"/sys/fs/cgroup/{path}/memory.events")
            elif "memory" in controllers.split(","):
                yield Path(f"/sys/fs/cgroup/memory/{path}/memory.oom_control")


def ending(status: int | None, out_of_memory: bool) -> tuple[str, bool]:
    """Describe how a process ended that sent nothing about its end, and tell whether it ended by itself.

    ``status``: its wait status, None if unknown; ``out_of_memory``: the kernel has just killed something for lack of
    memory.
    """
    if status is None:
        return "it was killed, or it crashed", False
    code = os.waitstatus_to_exitcode(status)
    if code == CONTACT_LOST:
        return "it lost contact with its worker", False
    if code >= 0:
        return f"it exited with code {code}", True
    name = _name(-code)
    if name in _CRASHES:
        return f"it crashed with {name}", True
    if name == "SIGKILL" and out_of_memory:
        return "the kernel killed it for lack of memory", True
    return f"it was killed by {name}", False


def lost_with_executor(error: str | None) -> bool:
    """Return whether this error of a Spark job says that an executor was lost."""
    return error is not None and any(word in error for word in _EXECUTOR_LOST)


def crashed_on_executor(error: str | None) -> bool:
    """Return whether this error of a Spark job says that the Python process ended, and not its executor."""
    return error is not None and "Python worker exited unexpectedly" in error and not lost_with_executor(error)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

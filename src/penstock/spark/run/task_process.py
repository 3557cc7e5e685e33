"""The process of an admitted task where it can be seen: on this machine, and not Spark's driver."""

from __future__ import annotations

from penstock.spark.run.process import Process
from penstock.spark.task_exit import ExitStatuses, OutOfMemoryKills, ending

SETTLING = 2.0
"""Seconds that Spark gets to say why a process is gone, and a process to be gone after its last word."""


class TaskProcess:
    """None of it is seen until ``admitted``; then it is killed and waited for through this object alone."""

    def __init__(self, exits: ExitStatuses | None, out_of_memory: OutOfMemoryKills) -> None:
        """``exits``: where tasks run on this machine."""
        self._exits, self._out_of_memory = exits, out_of_memory
        self._process: Process | None = None
        self._kills = (0, 0)
        """The kernel's kills for lack of memory when the last two metrics came: a kill may be counted before the
        last."""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def admitted(self, pid: int) -> None:
        self._process = Process.open(pid)
        self._kills = (self._out_of_memory.count(),) * 2
        if self._exits is not None:
            self._exits.forget(pid)

    def measured(self) -> None:
        """Called when metrics came: the process was alive a moment ago."""
        self._kills = (self._kills[1], self._out_of_memory.count())

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def left(self) -> None:
        """Called last, when it goes on with other tasks."""
        if self._process is not None:
            self._process.let_go()
            self._process = None

    async def over(self, patience: float, lease: float) -> bool:
        """Wait for its end, by force after ``patience`` seconds, or for the end of its lease. Whether it is seen."""
        if self._process is None:
            return False
        if not await self._process.ended(patience):
            self._process.kill()
            await self._process.ended(lease)
        if self._exits is not None:
            self._exits.expect(self._process.pid)
        return True

    async def ended_how(self) -> tuple[str, bool] | None:
        """How it ended that said nothing before, and whether by itself. None where exit statuses are not seen."""
        if self._exits is None:
            return None
        status = None
        if self._process is not None and await self._process.ended(SETTLING):
            status = await self._exits.take(self._process.pid, SETTLING)
        return ending(status, self._out_of_memory.count() > self._kills[0])

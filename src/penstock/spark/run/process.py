"""Processes of this machine that the worker may have to kill, and what is left of a task when it has.

A killed sink task leaves the member of its consumer group behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

from penstock.kafka.group.member_log import MemberLog
from penstock.kafka.group.removal import MemberRemoval, Successor
from penstock.pipeline.sink.member import consumer_settings
from penstock.pipeline.task import TaskSpec
from penstock.spark.messages.task import GroupMemberReport
from penstock.spark.task_exit import ExitStatuses, OutOfMemoryKills, ending

SETTLING = 2.0
"""Seconds for Spark to report why a process has ended, and for a process to end after its last message."""


class Process:
    """A process of this machine, held by a descriptor: its number may belong to another by the time it is killed."""

    def __init__(self, pid: int) -> None:
        """Open the process. Raises ProcessLookupError if there is none."""
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(self._descriptor, self._end)

    @classmethod
    def open(cls, pid: int) -> Process | None:
        """Open the process, or return None where that is impossible: it has ended, or this is not Linux."""
        try:
            return cls(pid)
        except (AttributeError, OSError):
            return None

    async def ended(self, timeout: float) -> bool:
        await asyncio.wait({self._ended}, timeout=timeout)
        return self._ended.done()

    def kill(self) -> None:
        if not self._ended.done():
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def let_go(self) -> None:
        """Close the descriptor. Called last, when the end of the process does not matter any more."""
        if not self._ended.done():
            self._end()

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._ended.set_result(None)


class TaskProcess:
    """The process of a run where it can be seen: on this machine, and not Spark's driver.

    Nothing is seen until ``admitted``; then it is killed and waited for through this object alone.
    """

    def __init__(self, exits: ExitStatuses | None, out_of_memory: OutOfMemoryKills) -> None:
        """``exits``: where tasks run on this machine."""
        self._exits, self._out_of_memory = exits, out_of_memory
        self._process: Process | None = None
        self._kills = (0, 0)
        """Kills for lack of memory at the last two metrics: a kill may be counted before the last metrics arrive."""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def admitted(self, pid: int) -> None:
        self._process = Process.open(pid)
        self._kills = (self._out_of_memory.count(),) * 2
        if self._exits is not None:
            self._exits.forget(pid)

    def measured(self) -> None:
        """Note that the process was alive a moment ago. Called when metrics arrive."""
        self._kills = (self._kills[1], self._out_of_memory.count())

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def left(self) -> None:
        """Stop watching the process. Called last, when it continues with other tasks."""
        if self._process is not None:
            self._process.let_go()
            self._process = None

    async def over(self, patience: float, lease: float) -> bool:
        """Wait for the end of the process, and kill it after ``patience`` seconds.

        Returns False at once if the process can't be seen.
        """
        if self._process is None:
            return False
        if not await self._process.ended(patience):
            self._process.kill()
            await self._process.ended(lease)
        if self._exits is not None:
            self._exits.expect(self._process.pid)
        return True

    async def ended_how(self) -> tuple[str, bool] | None:
        """Describe how the process ended, and tell whether by itself; None where exit statuses can't be seen."""
        if self._exits is None:
            return None
        status = None
        if self._process is not None and await self._process.ended(SETTLING):
            status = await self._exits.take(self._process.pid, SETTLING)
        return ending(status, self._out_of_memory.count() > self._kills[0])


class RunGroupMember:
    """The member of a consumer group that a run of a sink task is, as the worker knows it.

    There is none until the run's process reports one; other tasks than hosted sinks have none.
    """

    def __init__(self, spec: TaskSpec, removal: MemberRemoval, members: MemberLog, lease: float) -> None:
        """``lease``: seconds after which no process of an earlier run works any more, wherever it is."""
        self._spec, self._removal, self._members = spec, removal, members
        self._earlier_ended = time.monotonic() + lease
        self._id = ""

    def heard(self, report: GroupMemberReport) -> None:
        connector, task = self._spec.connector, self._spec.task
        if report.id and report.id != self._id:
            self._members.add(connector, task, report.id)
        self._id = report.id
        if report.waits and time.monotonic() >= self._earlier_ended:
            successor = Successor(lambda: self._id, lambda: self._members.ids(connector, task))
            self._removal.replace(consumer_settings(self._spec), successor)

    def remove(self) -> None:
        """Remove the member from its group; return at once.

        Called when the run is certainly over and has not closed its consumer.
        """
        if self._id:
            self._removal.remove(consumer_settings(self._spec), self._id)

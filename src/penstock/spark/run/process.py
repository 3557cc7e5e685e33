"""A process of this machine that the worker may have to kill."""

from __future__ import annotations

import asyncio
import os
import signal


class Process:
    """A process of this machine, held by a descriptor: its number may belong to another by the time it is killed."""

    def __init__(self, pid: int) -> None:
        """Raises ProcessLookupError if there is none."""
        self.pid = pid
        self._descriptor = os.pidfd_open(pid)
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().add_reader(self._descriptor, self._end)

    @classmethod
    def open(cls, pid: int) -> Process | None:
        """None where a process can't be held: it is gone, or this is not Linux."""
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
        """Called last, by whom its end does not concern any more."""
        if not self._ended.done():
            self._end()

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._ended.set_result(None)

"""The thread that writes the log lines of tasks to the worker's log.

The event loop of all tasks answers their heartbeats, which must not wait for lines: a log may be slow, and plugins may
log a lot.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import traceback
from collections import Counter
from collections.abc import Callable

AT_ONCE = 64
"""Maximum number of writes between two confirmations."""
CLOSE_S = 5.0


class TaskLogWriter:
    """Writes in the order of the calls. All methods but ``close`` return at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """``loop``: in which writes are confirmed."""
        self._loop = loop
        self._queue: queue.SimpleQueue[tuple[Callable[[], None], Callable[[int], None] | None] | None]
        self._queue = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="task-logs", daemon=True)
        self._thread.start()

    def write(self, write: Callable[[], None], written: Callable[[int], None] | None = None) -> None:
        """Have a function called that logs lines; afterwards ``written`` is called with the number of its writes."""
        self._queue.put((write, written))

    def close(self) -> None:
        """Write what is left; waits a few seconds for a log that is slow."""
        self._queue.put(None)
        self._thread.join(CLOSE_S)

    def _work(self) -> None:
        confirmed: Counter[Callable[[int], None]] = Counter()
        while (each := self._queue.get()) is not None:
            write, written = each
            try:
                write()
            except Exception:  # the log is no place to report that it does not work
                traceback.print_exc()
            if written is not None:
                confirmed[written] += 1
            if self._queue.empty() or confirmed.total() >= AT_ONCE:
                for confirm, count in confirmed.items():
                    with contextlib.suppress(RuntimeError):  # the loop has ended
                        self._loop.call_soon_threadsafe(confirm, count)
                confirmed.clear()

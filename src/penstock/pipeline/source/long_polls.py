"""Commits while a task waits in ``poll``, by a thread of their own.

Java: ``SourceTaskOffsetCommitter``, whose thread commits the offsets of all tasks of a worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context

GRACE_S = 1.0
"""Seconds by which a commit is late before it is made during a poll: plugins whose polls are short are called by one
thread alone.
"""
MAX_WAIT_S = 3600.0
"""Maximum of one wait: ``offset.flush.interval.ms`` may be more than a thread can wait for."""


class LongPolls:
    """Lets another thread commit while the loop's thread polls, and never otherwise.

    The loop's thread calls all methods. Commits that become due between polls are made by that thread itself.
    """

    def __init__(self, due: Callable[[], float], commit: Callable[[], object]) -> None:
        """``due`` returns when the next commit is due, by ``time.monotonic``; any thread may call it. ``commit`` makes
        one and does not raise.
        """
        self._next, self._commit = due, commit
        self._turn = threading.Lock()
        """Held by the thread that may use the task's producer and offsets."""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Around the whole loop."""
        with self._turn:
            try:
                yield
            finally:
                self._ended.set()

    @contextmanager
    def polling(self) -> Iterator[None]:
        """Around one poll. Waits at its end for a commit that goes on."""
        if self._thread is None:
            # What it logs and opens is the task's, as in the present thread.
            self._thread = threading.Thread(
                target=copy_context().run, args=(self._work,), name="long-polls", daemon=True
            )
            self._thread.start()
        self._turn.release()
        try:
            yield
        finally:
            self._turn.acquire()

    def _work(self) -> None:
        while not self._ended.wait(min(max(0.0, self._late_in()), MAX_WAIT_S)):
            with self._turn:
                if not self._ended.is_set() and self._late_in() <= 0.0:
                    self._commit()

    def _late_in(self) -> float:
        """Return after how many seconds the next commit is late."""
        return self._next() + GRACE_S - time.monotonic()

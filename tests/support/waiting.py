"""Waiting for what answers by a callback, and for what comes about by itself."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

SECONDS = 30


def answer(start: Callable[..., None], *arguments: Any, **options: Any) -> Any:
    """Call ``start`` with a callback behind these arguments; the result it gives, or the error, which is raised."""
    answers: queue.Queue[tuple[Any, ...]] = queue.Queue()
    start(*arguments, lambda *given: answers.put(given), **options)
    *result, error = answers.get(timeout=SECONDS)
    if error is not None:
        raise error
    return result[0] if result else None


def until(holds: Callable[[], Any], what: str, seconds: float) -> Any:
    """What ``holds`` answers as soon as it is true; an AssertionError naming ``what`` if that takes too long."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return found


class Inbox:
    """A callback that keeps what it was called with, for tests to wait for."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Any] = queue.Queue()

    def __call__(self, *given: Any) -> None:
        self._queue.put(given[0] if given else None)

    def next(self) -> Any:
        return self._queue.get(timeout=SECONDS)

    def records(self, count: int) -> list[Any]:
        """So many items of the lists that came, in order."""
        found: list[Any] = []
        while len(found) < count:
            found += self.next()
        assert len(found) == count
        return found

    def empty(self) -> bool:
        return self._queue.empty()

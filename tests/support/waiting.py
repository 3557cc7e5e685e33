"""Waiting for callbacks, and for conditions to become true."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

SECONDS = 900
"""Seconds after which a test gives up a wait: a bound for what hangs, not for how long something may take on a slow
machine. Waits go on at once when they are over.
"""
SELDOM = 0.25


def answer(start: Callable[..., None], *arguments: Any, **options: Any) -> Any:
    """Call ``start`` with a callback after these arguments. Returns its result, or raises its error."""
    answers: queue.Queue[tuple[Any, ...]] = queue.Queue()
    start(*arguments, lambda *given: answers.put(given), **options)
    *result, error = answers.get(timeout=SECONDS)
    if error is not None:
        raise error
    return result[0] if result else None


def until(holds: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
    """The first true value that ``holds`` returns. Raises AssertionError naming ``what`` if that takes too long."""
    began = time.monotonic()
    while not (found := holds()):
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds} s: {what}"
        time.sleep(pause(waited))
    return found


def pause(waited: float) -> float:
    """Seconds until the next look: the longer it has taken already, since looking keeps the processor from what is
    waited for.
    """
    return min(0.02 + waited / 40, SELDOM)


class Inbox:
    """A callback that queues its arguments, for tests to wait for."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Any] = queue.Queue()

    def __call__(self, *given: Any) -> None:
        self._queue.put(given[0] if given else None)

    def next(self) -> Any:
        return self._queue.get(timeout=SECONDS)

    def records(self, count: int) -> list[Any]:
        """This number of items of the lists that came, in order."""
        found: list[Any] = []
        while len(found) < count:
            found += self.next()
        assert len(found) == count
        return found

    def empty(self) -> bool:
        return self._queue.empty()

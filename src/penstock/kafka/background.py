"""Running work that blocks on threads of its own, for callers that must not block; and waiting, for those that may, and
until when.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeVar

from penstock.kafka.admin import NoAnswerError

T = TypeVar("T")

OnAnswer = Callable[[T | None, Exception | None], None]
"""Called once, with a result and None or with None and an error, on another thread; must return at once."""


def in_background(name: str, work: Callable[[], T], on_done: OnAnswer[T]) -> None:
    """Do the work on a thread of this name and call back with its result or error."""

    def run() -> None:
        try:
            result = work()
        except Exception as e:
            on_done(None, e)
        else:
            on_done(result, None)

    threading.Thread(target=run, name=name, daemon=True).start()


def await_done(start: Callable[[Callable[[Exception | None], None]], None], what: str, timeout: float = 90.0) -> None:
    """Start something that calls back and wait for it; raises its error, or NoAnswerError when time is up (seconds)."""
    finished, failures = threading.Event(), list[Exception]()

    def done(error: Exception | None) -> None:
        if error is not None:
            failures.append(error)
        finished.set()

    start(done)
    if not finished.wait(timeout):
        raise NoAnswerError(f"Timed out while trying to {what}")
    if failures:
        raise failures[0]


@dataclass(frozen=True, slots=True)
class Deadline:
    """After it the change has been answered with an error, and the client may have continued."""

    at: float = math.inf
    """When the deadline is, by the monotonic clock."""

    @classmethod
    def after(cls, seconds: float) -> Self:
        return cls(time.monotonic() + seconds)

    def check(self) -> None:
        """Called before each write or fencing. Raises TimeoutError if it is too late for that."""
        if time.monotonic() >= self.at:
            raise TimeoutError("Nothing is changed any more: the request for it has been given up.")

    def within(self, seconds: float) -> float:
        """Return these seconds, or those left until the deadline if fewer. Raises as ``check`` does."""
        self.check()
        return min(seconds, self.at - time.monotonic())


NO_DEADLINE = Deadline()

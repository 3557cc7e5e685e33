"""Waiting for callbacks, and for conditions to become true."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

SECONDS = 900
"""Seconds after which a test gives up a wait: a bound for what hangs, not for how long something may take on a slow
machine. Waits go on at once when they are over.
"""
SELDOM = 0.25
_died: list[str] = []
"""The threads of the test that have ended by an exception."""


def watch_threads() -> None:
    """Note threads that end by an exception from now on: what a test waits for may never come, and the test fails in
    any case. Called once, when pytest has set its own hook.
    """
    report = threading.excepthook

    def note(args: threading.ExceptHookArgs) -> None:
        _died.append(f"{args.thread.name if args.thread else 'a thread'} has ended by {args.exc_value!r}")
        report(args)

    threading.excepthook = note


def forget_threads() -> None:
    """Called before each test."""
    _died.clear()


def check_threads() -> None:
    """Raises AssertionError if a thread has ended by an exception."""
    assert not _died, _died[0]


def received(items: queue.Queue[Any], seconds: float = SECONDS) -> Any:
    """Return the next item of a queue. Raises queue.Empty if that takes too long, AssertionError if a thread has ended
    by an exception.
    """
    give_up = time.monotonic() + seconds
    while True:
        try:
            return items.get(timeout=min(SELDOM, max(give_up - time.monotonic(), 0.001)))
        except queue.Empty:
            check_threads()
            if time.monotonic() >= give_up:
                raise


def answer(start: Callable[..., None], *arguments: Any, **options: Any) -> Any:
    """Call ``start`` with a callback after these arguments. Returns its result, or raises its error."""
    answers: queue.Queue[tuple[Any, ...]] = queue.Queue()
    start(*arguments, lambda *given: answers.put(given), **options)
    *result, error = received(answers)
    if error is not None:
        raise error
    return result[0] if result else None


def until(holds: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
    """Return the first true value of ``holds``. Raises AssertionError naming ``what`` if that takes too long, and if a
    thread has ended by an exception.
    """
    began = time.monotonic()
    while not (found := holds()):
        check_threads()
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
        return received(self._queue)

    def records(self, count: int) -> list[Any]:
        """This number of items of the lists that came, in order."""
        found: list[Any] = []
        while len(found) < count:
            found += self.next()
        assert len(found) == count
        return found

    def empty(self) -> bool:
        return self._queue.empty()

"""Daemon threads for calls into code that may never return: a plugin's, above all.

Nothing here has a pool that everybody shares, or is waited for when the process ends: a call that never returns takes
nothing from the calls of others.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")

_Call = tuple[Future[Any], Callable[[], Any]]


class Threads(Executor):
    """Executor with one thread for each call."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        _start(lambda: _run(future, lambda: call(*args, **kwargs)))
        return future


class ConnectorThreads:
    """At most ``limit`` threads for each connector; its further calls wait, in order, until one has returned or is
    abandoned.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._running: dict[str, set[Future[Any]]] = {}
        self._waiting: dict[str, deque[_Call]] = {}

    def submit(self, connector: str, call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            running = self._running.setdefault(connector, set())
            if len(running) == self._limit:
                self._waiting.setdefault(connector, deque()).append((future, call))
                return future
            running.add(future)
        _start(lambda: self._work(connector, (future, call)))
        return future

    def abandon(self, connector: str, future: Future[Any]) -> None:
        """Give up a call. If it has begun, its thread no longer counts: it may never return."""
        if not future.cancel() and (following := self._after(connector, future)) is not None:
            _start(lambda: self._work(connector, following))

    def _work(self, connector: str, call: _Call) -> None:
        following: _Call | None = call
        while following is not None:
            _run(*following)
            following = self._after(connector, following[0])

    def _after(self, connector: str, future: Future[Any]) -> _Call | None:
        """Return the next call for the place of this one; None if there is none, or the place has been given away."""
        with self._lock:
            running = self._running.get(connector, set())
            if future not in running:
                return None
            running.remove(future)
            if waiting := self._waiting.get(connector):
                following = waiting.popleft()
                running.add(following[0])
                return following
            self._waiting.pop(connector, None)
            if not running:
                del self._running[connector]
            return None


def in_thread(call: Callable[[], T]) -> asyncio.Future[T]:
    """Run a call in a thread of its own; return its future in the running loop."""
    return asyncio.wrap_future(Threads().submit(call))


def _start(target: Callable[[], None]) -> None:
    threading.Thread(target=target, name="background", daemon=True).start()


def _run(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():  # from now on it can't be cancelled: it would take no result
        return
    try:
        result = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)

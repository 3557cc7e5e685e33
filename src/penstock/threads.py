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


class Threads(Executor):
    """One thread for each call."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        _start(lambda: _run(future, lambda: call(*args, **kwargs)))
        return future


class ConnectorThreads:
    """At most ``limit`` threads for each connector; its further calls wait, in order, until one has returned."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._running: dict[str, int] = {}
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def submit(self, connector: str, call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            running = self._running.get(connector, 0)
            if running == self._limit:
                self._waiting.setdefault(connector, deque()).append(lambda: _run(future, call))
                return future
            self._running[connector] = running + 1
        _start(lambda: self._work(connector, lambda: _run(future, call)))
        return future

    def _work(self, connector: str, call: Callable[[], None]) -> None:
        following: Callable[[], None] | None = call
        while following is not None:
            following()
            following = self._next(connector)

    def _next(self, connector: str) -> Callable[[], None] | None:
        with self._lock:
            if waiting := self._waiting.get(connector):
                return waiting.popleft()
            self._waiting.pop(connector, None)
            self._running[connector] -= 1
            if not self._running[connector]:
                del self._running[connector]
            return None


def in_thread(call: Callable[[], T]) -> asyncio.Future[T]:
    """One call in a thread of its own, for the running loop."""
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

"""The calls of plugins that a task is in: how one that does not return is seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Elsewhere = Callable[[], float | None]
"""Since when a call goes on in another process, by ``time.monotonic``; None if none does."""


@dataclass(slots=True)
class PluginCall:
    method: str
    since: float
    """The time of its beginning, by ``time.monotonic``."""
    thread: int | None
    """The thread of the call; None: it is in another process."""
    reported: bool = False


@dataclass(slots=True)
class PluginCalls:
    """The methods of its plugin that a task is in, by thread: how a stalled task is seen.

    The loops enter each ``poll``, ``put``, ``start``, ``stop``, ``commit``, step of a transform or converter, or batch
    of a query: once per batch, never per record.
    """

    _calls: dict[int, PluginCall] = field(default_factory=dict)
    _elsewhere: dict[str, Elsewhere] = field(default_factory=dict)
    _reported: dict[str, float] = field(default_factory=dict)
    """Calls elsewhere, by their methods: since when each was when it was reported."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    on_return: Callable[[], None] = lambda: None
    """Called when a call that was reported as stalled returns: by its thread, or if it is elsewhere by ``report``."""

    @contextmanager
    def entered(self, method: str) -> Iterator[None]:
        """Around one call of this method. Calls within calls count as the outer one."""
        thread = threading.get_ident()
        if thread in self._calls:
            yield
            return
        self._calls[thread] = PluginCall(method, time.monotonic(), thread)
        try:
            yield
        finally:
            self._returned(thread)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Within a call: waiting for brokers, which is no part of it. Afterwards the call counts as a new one."""
        thread = threading.get_ident()
        call = self._returned(thread)
        try:
            yield
        finally:
            if call is not None:
                self._calls[thread] = PluginCall(call.method, time.monotonic(), thread)

    def _returned(self, thread: int) -> PluginCall | None:
        with self._lock:
            call = self._calls.pop(thread, None)
            if call is not None and call.reported:
                self._take_back()
            return call

    def _take_back(self) -> None:
        """A call has returned; what else was reported and has not is reported again."""
        self.on_return()
        self._reported.clear()
        for call in list(self._calls.values()):
            call.reported = False

    def watch(self, method: str, since: Elsewhere) -> None:
        """Report also calls of this method that no thread here waits for."""
        with self._lock:
            self._elsewhere[method] = since

    def report(self, seconds: float, how: Callable[[PluginCall], None]) -> None:
        """Call ``how`` with each call that has not returned for so long, once; one here does not return meanwhile."""
        with self._lock:
            for method, since in self._elsewhere.items():
                began = since()
                if method in self._reported and began != self._reported[method]:
                    self._take_back()
                if began is not None and method not in self._reported and time.monotonic() - began >= seconds:
                    self._reported[method] = began
                    how(PluginCall(method, began, None))
            for call in list(self._calls.values()):
                if not call.reported and time.monotonic() - call.since >= seconds:
                    call.reported = True
                    how(call)

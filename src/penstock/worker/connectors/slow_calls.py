"""The call of a connector's code that is under way; a slow call is logged with its stack, and reported."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.observe import log_context
from penstock.pipeline.trace import stack

log = logging.getLogger(__name__)

LONG_S = 10.0
"""Seconds after which a call of a connector's method is reported as slow."""


@dataclass(slots=True)
class _Call:
    """A plugin call that has not returned yet."""

    what: str
    since: float
    thread: int
    reported: bool = False

    def described(self) -> str:
        seconds = time.monotonic() - self.since
        return f"{self.what} has not returned for {seconds:.0f} s. It is at\n{stack(self.thread)}"


class SlowCalls:
    """Slow calls of one run, whose thread makes one call at a time; ``look`` and ``where`` are for other threads."""

    def __init__(self, connector: str, tell: Callable[[str | None], None]) -> None:
        """``tell`` is called with a description of a call that takes long, once, and with None when it is over."""
        self._connector, self._tell = connector, tell
        self._call: _Call | None = None
        self._lock = threading.Lock()

    @contextmanager
    def within(self, what: str) -> Iterator[None]:
        with self._lock:
            self._call = _Call(what, time.monotonic(), threading.get_ident())
        try:
            yield
        finally:
            with self._lock:
                reported = self._call is not None and self._call.reported
                self._call = None
                if reported:
                    self._tell(None)

    def look(self) -> None:
        """Report a call that takes long, once."""
        with self._lock:
            call = self._call
            if call is None or call.reported or time.monotonic() - call.since < LONG_S:
                return
            call.reported, described = True, call.described()
            self._tell(described)
        with log_context(self._connector):
            log.warning("%s", described)

    def where(self) -> str:
        """Return the call that is under way, as the rest of a message; empty if there is none."""
        with self._lock:
            return "" if self._call is None else f": {self._call.described()}"

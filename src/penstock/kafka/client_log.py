"""Limits log lines of librdkafka, a hundred a second for each client while a broker refuses connections."""

from __future__ import annotations

import logging
import re
import time

_FAILURE = re.compile(r"FAIL \[[^\]]*\]")
"""Followed by the thread, the broker and the reason; in brackets is the client."""

_SECONDS = 30.0
_KNOWN = 1000
"""Number of clients whose last line is remembered."""


class RepeatedFailures(logging.Filter):
    """Passes one line about failed connections of each client in half a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._passed: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        found = _FAILURE.match(record.getMessage())
        if found is None:
            return True
        now = time.monotonic()
        if now - self._passed.get(found[0], -_SECONDS) < _SECONDS:
            return False
        if len(self._passed) >= _KNOWN:
            self._passed.clear()
        self._passed[found[0]] = now
        return True

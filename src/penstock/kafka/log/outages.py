"""When brokers can't be reached: attempts further and further apart, one sentence when it begins and one when it ends.

Nobody has to do anything about it here, but somebody will want to know; so the worker is told too, and shows it.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaError as BrokerError

log = logging.getLogger(__name__)

RETRIES = (0.05, 0.1, 0.2, 0.4, 1.0)
"""Seconds between attempts; brokers need a moment to know a topic that was just made."""

_HINTS = (BrokerError._TRANSPORT, BrokerError._RESOLVE, BrokerError._AUTHENTICATION, BrokerError._SSL)
_FRESH = 10.0
_DETAILS = re.compile(r" \(after \d+ms in state .*\)$")


class Outages:
    """What the subjects of one worker wait for. Used by any thread."""

    def __init__(self, tell: Callable[[str | None], None] = lambda sentence: None) -> None:
        """``tell`` is given a sentence when outage begins, and None when all of it is over; must return at once."""
        self._tell = tell
        self._lock = threading.Lock()
        self._subjects: set[str] = set()

    def begin(self, subject: str, reason: str) -> None:
        with self._lock:
            first = not self._subjects
            self._subjects.add(subject)
        sentence = f"{subject} has to wait: {reason}. It goes on by itself."
        log.log(logging.WARNING if first else logging.DEBUG, "%s", sentence)
        if first:
            self._tell(sentence)

    def end(self, subject: str, goes_on: bool = True) -> None:
        with self._lock:
            over = self._subjects == {subject}
            self._subjects.discard(subject)
        if over:
            if goes_on:
                log.info("%s goes on", subject)
            self._tell(None)


class Outage:
    """That of one subject, such as "Reading topic `x`"."""

    def __init__(self, subject: str, closing: threading.Event, outages: Outages) -> None:
        self._subject, self._closing, self._troubles = subject, closing, outages
        self._hint, self._hinted = "", 0.0
        self._down = self.present = False

    def heard(self, error: BrokerError) -> None:
        """``error_cb`` of a client: its reasons say more than that time is up, as which most operations end."""
        if error.code() in _HINTS:
            self._hint, self._hinted = _DETAILS.sub("", error.str()), time.monotonic()
        elif error.code() == BrokerError._ALL_BROKERS_DOWN:
            self._down = True
        if self._down and self._hinted:
            self.begin(error.str())

    def pause(self, attempt: int, reason: str, tell: bool = False) -> int:
        """Wait after this failed attempt, the first is 0; the number of the next. Without ``tell`` the first few are
        nothing to speak of.
        """
        if tell or attempt >= len(RETRIES) - 1:
            self.begin(reason)
        self._closing.wait(RETRIES[min(attempt, len(RETRIES) - 1)])
        return attempt + 1

    def begin(self, reason: str) -> None:
        if not self.present:
            self.present = True
            self._troubles.begin(self._subject, self._hint if time.monotonic() - self._hinted < _FRESH else reason)

    def end(self, goes_on: bool = True) -> None:
        self._down = False
        if self.present:
            self.present, self._hinted = False, 0.0
            self._troubles.end(self._subject, goes_on)

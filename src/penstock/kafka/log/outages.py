"""Outages of brokers: attempts with growing delays, a log line when an outage begins and one when it ends.

The worker is notified as well, and shows the outage as its health.
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
"""Seconds between attempts; brokers need a moment to know a topic that was just created."""

RETRYING = ". Retrying automatically."
"""The end of the sentence about an outage."""

_HINTS = (BrokerError._TRANSPORT, BrokerError._RESOLVE, BrokerError._AUTHENTICATION, BrokerError._SSL)
_FRESH = 10.0
_DETAILS = re.compile(r" \(after \d+ms in state .*\)$")


class Outages:
    """The outages of all clients of one worker. Used by any thread."""

    def __init__(self, on_change: Callable[[str | None], None] = lambda reason: None) -> None:
        """``on_change`` gets a sentence when a first outage begins, None when the last is over; must return at once."""
        self._on_change = on_change
        self._lock = threading.Lock()
        self._subjects: set[str] = set()

    def begin(self, subject: str, reason: str) -> None:
        with self._lock:
            first = not self._subjects
            self._subjects.add(subject)
        sentence = f"{subject} has to wait: {reason}{RETRYING}"
        log.log(logging.WARNING if first else logging.DEBUG, "%s", sentence)
        if first:
            self._on_change(sentence)

    def end(self, subject: str, resumed: bool = True) -> None:
        with self._lock:
            over = self._subjects == {subject}
            self._subjects.discard(subject)
        if over:
            if resumed:
                log.info("%s has resumed", subject)
            self._on_change(None)


class Outage:
    """The outage of one subject, such as "Reading topic `x`"."""

    def __init__(self, subject: str, closing: threading.Event, outages: Outages) -> None:
        self._subject, self._closing, self._outages = subject, closing, outages
        self._hint, self._hinted = "", 0.0
        self._down = self.present = False

    def heard(self, error: BrokerError) -> None:
        """``error_cb`` of a client: its reasons say more than the timeouts with which most operations end."""
        if error.code() in _HINTS:
            self._hint, self._hinted = _DETAILS.sub("", error.str()), time.monotonic()
        elif error.code() == BrokerError._ALL_BROKERS_DOWN:
            self._down = True
        if self._down and self._hinted:
            self.begin(error.str())

    def pause(self, attempt: int, reason: str, report: bool = False) -> int:
        """Wait after this failed attempt, the first of which is 0; the result is the number of the next.

        Without ``report`` the first few attempts are not reported as an outage.
        """
        if report or attempt >= len(RETRIES) - 1:
            self.begin(reason)
        self._closing.wait(RETRIES[min(attempt, len(RETRIES) - 1)])
        return attempt + 1

    def begin(self, reason: str) -> None:
        if not self.present:
            self.present = True
            self._outages.begin(self._subject, self._hint if time.monotonic() - self._hinted < _FRESH else reason)

    def end(self, resumed: bool = True) -> None:
        self._down = False
        if self.present:
            self.present, self._hinted = False, 0.0
            self._outages.end(self._subject, resumed)

"""Log lines on their way to another process, which confirms those that it has written.

Nothing waits for lines: when they are more than the other process can take, the oldest are dropped, and counted, so
that the last ones arrive.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

L = TypeVar("L")

MAX_TEXT = 1 << 18
"""Maximum characters of a line; of a longer one the beginning is sent."""
MAX_UNCONFIRMED = 1 << 18
"""Maximum size of what has been sent and not been confirmed: few enough for the buffers of a socket."""
MAX_MESSAGE = 1 << 16
MAX_WAITING = 1 << 22
"""Maximum size of the lines that wait; when it is exceeded, the older half of them is dropped."""
DROPPED = "penstock_lines_dropped"
"""Attribute of a record of ``logging`` that stands for so many lines that have been dropped."""
FINISH_S = 2.0
OVERHEAD = 128
"""The size of a line beside its text."""


class LineBuffer(Generic[L]):
    """Lines to be sent. Any thread may call it.

    The thread that adds a line sends it at once, as long as little is unconfirmed: it has left this process even if
    that ends the next moment. Otherwise lines wait, and are sent together by a thread of their own.
    """

    def __init__(self, send: Callable[[list[L], int], None]) -> None:
        """``send`` gets lines in order, and the number of lines dropped after them; called by one thread at a time."""
        self._send = send
        self._changed = threading.Condition()  # a finalizer that logs may run in the thread that holds it
        self._waiting: deque[tuple[L | None, int]] = deque()
        """Lines with their sizes; without a line the number of lines dropped there."""
        self._waiting_size = 0
        self._unconfirmed: deque[int] = deque()
        """The sizes of the messages that have been sent and not been confirmed."""
        self._unconfirmed_size = 0
        self._sending = self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, line: L, length: int) -> None:
        """Send a line, now or later, or drop it. ``length``: the characters of its text."""
        size = length + OVERHEAD
        with self._changed:
            if self._closed:
                return
            self._waiting.append((line, size))
            self._waiting_size += size
            if self._waiting_size > MAX_WAITING:
                self._drop_oldest(MAX_WAITING // 2)
        self._send_some()
        with self._changed:
            if self._waiting and self._thread is None:
                self._thread = threading.Thread(target=self._send_later, name="log-lines", daemon=True)
                self._thread.start()

    def dropped(self, count: int) -> None:
        """Note that lines have been dropped before they could be added."""
        with self._changed:
            if self._waiting and self._waiting[-1][0] is None:
                count += self._waiting.pop()[1]
            self._waiting.append((None, count))
        self._send_some()

    def confirm(self, messages: int) -> None:
        """Note that the other process has written the lines of so many messages. Returns at once."""
        with self._changed:
            for _ in range(min(messages, len(self._unconfirmed))):
                self._unconfirmed_size -= self._unconfirmed.popleft()
            self._changed.notify_all()

    def finish(self, seconds: float = 0.0) -> None:
        """Send all lines; those that can't be sent within ``seconds`` are dropped but for the last.

        These are sent without waiting for confirmations; the other process still reads.
        """
        if not self._are_sent(seconds):
            with self._changed:
                self._drop_oldest(MAX_MESSAGE)
                self._unconfirmed_size = -sys.maxsize
            self._are_sent(FINISH_S)

    def _are_sent(self, seconds: float) -> bool:
        self._send_some()
        with self._changed:
            return self._changed.wait_for(lambda: not (self._waiting or self._sending), seconds)

    def close(self) -> None:
        """Take and send no more lines."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    def _drop_oldest(self, size: int) -> None:
        """Drop lines until those that are left have this size, but for the last line."""
        count = 0
        while self._waiting_size > size and len(self._waiting) > 1:
            line, amount = self._waiting.popleft()
            if line is None:
                count += amount
            else:
                count += 1
                self._waiting_size -= amount
        if count:
            self._waiting.appendleft((None, count))

    def _send_later(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._is_ready)
                if self._closed:
                    return
            self._send_some()

    def _is_ready(self) -> bool:
        return self._closed or bool(self._waiting and not self._sending and self._unconfirmed_size < MAX_UNCONFIRMED)

    def _send_some(self) -> None:
        while (taken := self._take()) is not None:
            try:
                self._send(*taken)
            except Exception:  # a line can't be encoded: it must not end the plugin's thread that logs
                traceback.print_exc(file=sys.stderr)
                with self._changed:
                    self._unconfirmed_size -= self._unconfirmed.pop()
            finally:
                with self._changed:
                    self._sending = False
                    self._changed.notify_all()

    def _take(self) -> tuple[list[L], int] | None:
        """Take the lines of the next message, whose sender the present thread becomes; None if nothing can be sent."""
        with self._changed:
            if not self._is_ready() or self._closed:
                return None
            lines: list[L] = []
            size = dropped = 0
            while self._waiting and not dropped and (not lines or size + self._waiting[0][1] <= MAX_MESSAGE):
                line, amount = self._waiting.popleft()
                if line is None:
                    dropped = amount
                else:
                    lines.append(line)
                    size += amount
            self._waiting_size -= size
            self._unconfirmed.append(size)
            self._unconfirmed_size += size
            self._sending = True
            return lines, dropped


def beginning_of(text: str) -> str:
    """Return a text as a line may have it: that of a longer one ends with its length."""
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}... ({len(text)} characters)"


def number(value: object) -> int:
    """Return a number of a record of ``logging``, which a plugin may have made, as messages can have it."""
    return min(max(int(value or 0), 0), sys.maxsize)  # type: ignore[call-overload]


def time_of(record: logging.LogRecord) -> float:
    """Return when a line was logged, in seconds since 1970."""
    created = float(record.created)
    return created if math.isfinite(created) else time.time()


def log_dropped(count: int, name: str) -> None:
    """Log that ``name`` has logged so many lines more than could be taken."""
    log.warning("%d lines dropped: %s logs faster than its lines can be written", count, name, extra={DROPPED: count})

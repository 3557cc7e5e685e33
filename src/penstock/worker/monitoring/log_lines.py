"""The last log lines of each connector and its tasks on this worker, in memory, for ``penstock logs``."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from penstock.core.model.messages import GetLogs
from penstock.observe import add_context, level_name, redacted

MOST_CONNECTORS = 2000
LONGEST = 4000
"""Characters of a line, its stack trace included."""


class LogLines(logging.Handler):
    """Keeps the last ``lines`` of every connector; of connectors without end, those that logged last.

    Numbers begin with the time in milliseconds, so those after a restart of the worker are greater than those before.
    """

    def __init__(self, worker: str, lines: int, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._worker, self._lines = worker, lines
        self._kept: dict[str, deque[tuple[int, dict[str, Any]]]] = {}
        """With the number of each line's level: a plugin may have levels of its own."""
        self._number = int(clock() * 1000)
        self._reading = threading.Lock()
        self.addFilter(add_context)

    def start(self) -> None:
        if self._lines:
            logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        connector: str | None = getattr(record, "connector", None)
        if connector is None:
            return
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:23] + "Z",
            "level": level_name(record.levelno),
            "logger": record.name,
            "task": getattr(record, "task", None),
            "worker": self._worker,
            "message": redacted(text)[:LONGEST],
        }
        with self._reading:
            self._number += 1
            kept = self._kept.pop(connector, None) or deque[tuple[int, dict[str, Any]]](maxlen=self._lines)
            kept.append((record.levelno, {"number": self._number, **line}))
            self._kept[connector] = kept
            if len(self._kept) > MOST_CONNECTORS:
                del self._kept[next(iter(self._kept))]

    def close(self) -> None:
        logging.getLogger().removeHandler(self)
        super().close()

    def answer(self, request: GetLogs) -> dict[str, Any]:
        """The lines, oldest first, and ``next``: what to give as ``after`` for those that follow."""
        with self._reading:
            kept, number = list(self._kept.get(request.name, ())), self._number
        return {"lines": list(_wanted(kept, request))[-request.limit :] if request.limit else [], "next": number}


def _wanted(lines: Iterable[tuple[int, dict[str, Any]]], request: GetLogs) -> Iterable[dict[str, Any]]:
    for level, line in lines:
        if (
            line["number"] > request.after
            and level >= request.level
            and (request.task is None or line["task"] == request.task)
        ):
            yield line

"""What plugins log by slf4j or log4j, or print, as lines of Python's loggers of the same names."""

from __future__ import annotations

import logging
from typing import Any

_LEVELS = {
    100: logging.CRITICAL,
    200: logging.ERROR,
    300: logging.WARNING,
    400: logging.INFO,
    500: logging.DEBUG,
    600: 5,
}
"""Python's levels by those of log4j."""


def relay(line: dict[str, Any], _payload: memoryview) -> None:
    """Write one line of the JVM's log."""
    logger = logging.getLogger(line["logger"])
    level = _LEVELS.get(line["level"], logging.INFO)
    if not logger.isEnabledFor(level):
        return
    text = line["text"] if line["trace"] is None else f"{line['text']}\n{line['trace'].rstrip()}"
    record = logger.makeRecord(logger.name, level, "", 0, text, (), None)
    record.created, record.msecs = line["time"] / 1000, line["time"] % 1000
    record.threadName = line["thread"]
    logger.handle(record)

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


def levels() -> dict[str, str]:
    """The levels that have been set in this process, by logger, with log4j's names."""
    found = {"root": logging.getLogger()}
    found |= {n: each for n, each in logging.root.manager.loggerDict.items() if isinstance(each, logging.Logger)}
    return {name: level_name(each.level) for name, each in found.items() if each.level != logging.NOTSET}


def level_name(level: int) -> str:
    """log4j's name of a level of Python's."""
    if level > logging.CRITICAL:
        return "OFF"
    names = {value: name for name, value in _NAMES.items()}
    return names[max((each for each in names if each <= level), default=min(names))]


_NAMES = {"ALL": 0, "TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}

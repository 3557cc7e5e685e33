"""What is seen of a worker from outside: its log, and the levels of its loggers (Java: Loggers, KIP-495).

Levels carry Java's names. A level that is set counts for the logger and for every logger below it; names are those of
Python's loggers (``penstock.worker.loop``), and any other name may be given a level as well.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from typing import Any

TRACE = 5
OFF = logging.CRITICAL + 10
NUMBERS = {
    "ALL": 1,
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": OFF,
}
ROOT = "root"
LINE = "[%(asctime)s] %(levelname)s [%(threadName)s] %(message)s (%(name)s)"


def start_logging(level: int = logging.INFO) -> None:
    """Send log lines to the standard output, one line each with time, level, thread and logger."""
    logging.addLevelName(TRACE, "TRACE")
    logging.addLevelName(logging.WARNING, "WARN")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter(LINE))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in ("kafka", "py4j", "httpx", "httpcore", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


class LogLevels:
    """The levels that are set, by logger. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._modified: dict[str, int] = {}
        self._lock = threading.Lock()

    def all(self) -> dict[str, dict[str, Any]]:
        """Every logger that has a level of its own."""
        names = [n for n, x in logging.root.manager.loggerDict.items() if isinstance(x, logging.Logger) and x.level]
        return {name: self._shown(name) for name in sorted([ROOT, *names])}

    def get(self, name: str) -> dict[str, Any] | None:
        """None for a logger that nobody has used."""
        if name != ROOT and not isinstance(logging.root.manager.loggerDict.get(name), logging.Logger):
            return None
        return self._shown(name)

    def set(self, name: str, level: str) -> list[str]:
        """Set the level (one of ``NUMBERS``) of a logger and of all below it; answers with their names."""
        with self._lock:
            known = [n for n, x in logging.root.manager.loggerDict.items() if isinstance(x, logging.Logger)]
            below = known if name == ROOT else [n for n in known if n.startswith(f"{name}.")]
            changed = sorted({name, *below})
            now = int(time.time() * 1000)
            for each in changed:
                logger = _logger(each)
                if logger.level != NUMBERS[level]:
                    logger.setLevel(NUMBERS[level])
                    self._modified[each] = now
                self._modified.setdefault(each, now)
            return changed

    def _shown(self, name: str) -> dict[str, Any]:
        number = _logger(name).getEffectiveLevel()
        level = next((n for n, x in NUMBERS.items() if x == number), "INFO")
        return {"level": level, "last_modified": self._modified.get(name)}


def _logger(name: str) -> logging.Logger:
    return logging.getLogger() if name == ROOT else logging.getLogger(name)

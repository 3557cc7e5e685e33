"""Loggers as they were: levels belong to the process, and so would pass from one test to the next."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def levels_kept() -> Iterator[None]:
    """Restore every logger's level, and the root's handlers, after the block."""
    before = {name: x.level for name, x in logging.root.manager.loggerDict.items() if isinstance(x, logging.Logger)}
    root, handlers = logging.root.level, logging.root.handlers[:]
    try:
        yield
    finally:
        _set(logging.root, root)
        logging.root.handlers[:] = handlers
        for name, logger in logging.root.manager.loggerDict.items():
            if isinstance(logger, logging.Logger):
                _set(logger, before.get(name, logging.NOTSET))


def _set(logger: logging.Logger, level: int) -> None:
    """Set the level if it is another: each call of ``setLevel`` goes through all loggers."""
    if logger.level != level:
        logger.setLevel(level)

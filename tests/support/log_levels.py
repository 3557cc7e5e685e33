"""Loggers as they were: levels belong to the process, and so would pass from one test to the next."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def levels_kept() -> Iterator[None]:
    """Every logger has its own level back afterwards, and the root its handlers."""
    before = {name: x.level for name, x in logging.root.manager.loggerDict.items() if isinstance(x, logging.Logger)}
    root, handlers = logging.root.level, logging.root.handlers[:]
    try:
        yield
    finally:
        logging.root.setLevel(root)
        logging.root.handlers[:] = handlers
        for name, logger in logging.root.manager.loggerDict.items():
            if isinstance(logger, logging.Logger):
                logger.setLevel(before.get(name, logging.NOTSET))

"""Undoes what plugins change in the process that imports them, which is the worker's and has other plugins."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
"""Signals that end a worker."""


_ONE = threading.RLock()
"""Held during an import: a second one would take the changes of the first for what was there before."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Around an import, of which there is one at a time. ``logging.config`` replaces the handlers of the root logger,
    which know what secrets are, and disables all loggers that there are.
    """
    with _ONE:
        yield from _undisturbed()


def _undisturbed() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    enabled = [each for each in _loggers() if not each.disabled]
    main = threading.current_thread() is threading.main_thread()
    signals = {number: signal.getsignal(number) for number in _SIGNALS} if main else {}
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for each in enabled:
            each.disabled = False
        for number, handler in signals.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def _loggers() -> list[logging.Logger]:
    known = list(logging.root.manager.loggerDict.values())
    return [logging.getLogger(), *(each for each in known if isinstance(each, logging.Logger))]

"""Settings without effect of the connectors of this worker, for the attention list."""

from __future__ import annotations

import logging
import shlex
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from penstock.core.attention.rows import NextStep, Row

log = logging.getLogger(__name__)

NAMED = 5
"""Settings that a row names."""
MAX_LENGTH = 200
"""Characters of a name that a row shows. Longer ones are not in its command."""

Config = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Found:
    given: Config
    ignored: Sequence[str]
    since_ms: int
    """Time since which these settings are known to have no effect."""


class IgnoredSettings:
    """``starts`` is called when a connector has been checked and starts here; ``rows`` from any thread."""

    def __init__(
        self,
        ignored: Callable[[Config, Config], Sequence[str]],
        is_here: Callable[[], Collection[str]],
        config_of: Callable[[str], Config],
        threads: Executor,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``ignored`` finds the settings without effect in a configuration, resolved and as it was given; it is called
        on ``threads``, since plugins may block. ``is_here`` gives the connectors that run here, ``config_of`` the
        configuration of one as it was given.
        """
        self._ignored, self._is_here, self._config_of = ignored, is_here, config_of
        self._threads, self._clock = threads, clock
        self._lock = threading.Lock()
        self._found: dict[str, _Found] = {}

    def starts(self, name: str, resolved: Config) -> None:
        self._threads.submit(self._look, name, resolved, self._config_of(name))

    def rows(self) -> Iterator[Row]:
        here = self._is_here()
        with self._lock:
            self._found = {name: found for name, found in self._found.items() if name in here}
            known = sorted(self._found.items())
        for name, found in known:
            if found.ignored and self._config_of(name) == found.given:  # another one starts soon
                yield _row(name, found)

    def _look(self, name: str, resolved: Config, given: Config) -> None:
        try:
            ignored = self._ignored(resolved, given)
        except Exception:
            log.warning("The settings of connector %s can't be checked for those without effect", name, exc_info=True)
            ignored = ()
        with self._lock:
            before = self._found.get(name)
            same = before is not None and before.ignored == ignored
            since_ms = before.since_ms if before is not None and same else int(self._clock() * 1000)
            self._found[name] = _Found(given, ignored, since_ms)


def _row(name: str, found: _Found) -> Row:
    named = found.ignored[:NAMED]
    shown = ", ".join(key if len(key) <= MAX_LENGTH else f"{key[:MAX_LENGTH]}…" for key in named)
    more = len(found.ignored) - len(named)
    verb = "has" if len(found.ignored) == 1 else "have"
    why = (
        f"{shown}{f' and {more} more' if more > 0 else ''} {verb} no effect; validation says why, and what may be meant"
    )
    unset = [f"--unset={shlex.quote(key)}" for key in named if len(key) <= MAX_LENGTH]
    command = " ".join(["penstock patch", shlex.quote(name), *unset]) if unset else None
    step = NextStep("Correct the names, or remove the settings", command, "configuration")
    return Row("ignored", why, step, name, since_ms=found.since_ms)

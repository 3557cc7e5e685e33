"""The status of a task whose ``put`` or ``poll`` raises RetriableError again and again: it has the error's trace."""

from __future__ import annotations

import datetime as dt
import math
import time
from dataclasses import dataclass

from penstock.pipeline.task import TaskHost
from penstock.pipeline.trace import causes, headline, trace

SHOWN_AFTER = 30.0
"""Seconds after which a task that retries shows it, and for which its status stays as it is."""


@dataclass(slots=True)
class RetryStatus:
    """Reports to the host why a task retries, since when, and that it works again. Used by the thread of its loop."""

    host: TaskHost
    since: float | None = None
    """Time of the first failure, by ``time.monotonic``; None while the task works."""
    shown: str = ""
    """The error in the status; empty without one."""
    renewed: float = -math.inf

    def failed(self, error: BaseException, reports: bool = True) -> None:
        """Note a failure. ``reports``: false while the task is paused, which its status says."""
        now = time.monotonic()
        if self.since is None:
            self.since = now
        text = " caused by ".join(map(headline, causes(error)))
        if not reports or now - self.since < SHOWN_AFTER or now - self.renewed < SHOWN_AFTER or text == self.shown:
            return
        self.shown, self.renewed = text, now
        began = instant(time.time() - (now - self.since))
        self.host.running(f"Retrying automatically since {began}:\n{trace(error)}")

    def paused(self) -> None:
        """Note that the status is PAUSED; after the pause a task that still retries shows it again."""
        self.shown = ""

    def over(self, reports: bool = True) -> None:
        """Note that the task works."""
        shown, self.shown, self.since, self.renewed = self.shown, "", None, -math.inf
        if shown and reports:
            self.host.running()


def instant(seconds: float) -> str:
    """Return a time of ``time.time`` in UTC, to the second."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

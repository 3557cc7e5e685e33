"""Retries of a batch that could not be written; times in seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Protocol

from penstock.pipeline.errors import RETRY_DELAY_MIN, ErrorSettings
from penstock.pipeline.retry_status import instant

REPORT_SECONDS = 5.0
"""Interval of updates to a retrying task's status while its error stays the same."""


@dataclass(slots=True)
class RetryReport:
    """The words of a task that retries: cause, since when, and the next attempt, for its status and its log.

    Call ``failed`` with each failure and ``over`` with each success; both in the thread that retries.
    """

    cause: str = ""
    since: float = 0.0
    """Time of the first failure, by a clock that nobody sets."""
    reported: float = -math.inf
    logs: bool = False
    """Whether the last failure differs from the one before, and so is to be logged."""

    def failed(self, error: BaseException, delay: float, allowed_by: str | None) -> str | None:
        """Return the sentence for the status, or None if it says what matters already.

        ``delay``: seconds to the next attempt. ``allowed_by``: the setting that says how long; None: there is no limit.
        """
        cause, now, today = str(error), time.monotonic(), time.time()
        self.logs = cause != self.cause
        if not self.cause:
            self.since = now
        self.cause = cause
        if not self.logs and now - self.reported < REPORT_SECONDS:
            return None
        self.reported = now
        times = f"since {instant(today - (now - self.since))}, next at {instant(today + delay)}"
        limit = "" if allowed_by is None else f" for as long as {allowed_by} allows"
        return f"{cause.rstrip('.')}. Retrying{limit}, {times}"

    def over(self) -> float | None:
        """Return how long it has retried, in seconds, or None if there was no failure."""
        if not self.cause:
            return None
        seconds = time.monotonic() - self.since
        self.cause, self.reported, self.logs = "", -math.inf, False
        return seconds


class Retries(Protocol):
    """Call ``after`` with each failure and ``over`` with each success."""

    @property
    def allowed_by(self) -> str:
        """The setting that says how long."""

    @property
    def failing(self) -> bool:
        """Whether there have been failures since the last success."""

    def after(self, now: float) -> float | None:
        """Return the time to wait before the next attempt; None if there is none."""

    def over(self) -> bool:
        """Whether there had been failures."""


@dataclass(slots=True)
class BatchRetries:
    """By Connect's ``errors.retry.*``."""

    settings: ErrorSettings
    since: float | None = None
    """When the first of the failures in a row was."""
    attempt: int = 0
    allowed_by: str = "errors.retry.timeout"

    @property
    def failing(self) -> bool:
        return self.since is not None

    def after(self, now: float) -> float | None:
        if self.since is None:
            self.since = now
        limit = self.settings.retry_timeout
        left = math.inf if limit < 0 else self.since + limit - now
        if left <= 0:
            return None
        delay = RETRY_DELAY_MIN * 2.0 ** min(self.attempt, 30)
        self.attempt += 1
        return min(delay, self.settings.retry_delay_max, left)

    def over(self) -> bool:
        failed, self.since, self.attempt = self.since is not None, None, 0
        return failed


@dataclass(slots=True)
class CountedRetries:
    """By a number of them and a pause, as the JDBC sink's ``max.retries`` and ``retry.backoff.ms``."""

    most: int
    backoff: float
    attempt: int = 0
    allowed_by: str = "max.retries"

    @property
    def failing(self) -> bool:
        return self.attempt > 0

    def after(self, now: float) -> float | None:
        if self.attempt >= self.most:
            return None
        self.attempt += 1
        return self.backoff

    def over(self) -> bool:
        failed, self.attempt = self.attempt > 0, 0
        return failed

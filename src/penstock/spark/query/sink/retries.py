"""How long a batch that could not be written is tried again, as Connect's ``errors.retry.*`` say."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.pipeline.errors import RETRY_DELAY_MIN, ErrorSettings


@dataclass(slots=True)
class Retries:
    """``after`` each failure, ``over`` with the first success; times in seconds."""

    settings: ErrorSettings
    since: float | None = None
    """When the first of the failures in a row was."""
    attempt: int = 0

    def after(self, now: float) -> float | None:
        """How long to wait before the next try; None if there is to be none."""
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
        """Whether there had been failures."""
        failed, self.since, self.attempt = self.since is not None, None, 0
        return failed

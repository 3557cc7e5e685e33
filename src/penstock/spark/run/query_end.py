"""The end of a cancelled query, and how long the worker waits for it before it kills the query's Spark application.

All queries of the worker run in that application. A kill takes the others along, which then all start at the same time.
On a machine under load a query takes long to end because everything does; a kill would add the load of those starts,
and so cause the next one. Therefore a query that is not alone has a minute, and each kill doubles the time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Set as AbstractSet
from typing import Protocol

from penstock.spark.supervisor import JobEnd

log = logging.getLogger(__name__)

ALONE_SECONDS = 5.0
"""Seconds that a cancelled query has to end if its application runs no other query."""
AMONG_OTHERS_SECONDS = 60.0
"""Seconds that it has otherwise, before the first kill."""
MAX_SECONDS = 960.0
FORGOTTEN_SECONDS = 3600.0
"""Seconds after the last kill from which on kills do not count any more."""
LOOK_SECONDS = 1.0
"""Interval of looks. Looks are counted, not seconds: when this process was frozen itself, only one of them is late."""


class Application(Protocol):
    """A Spark application of queries."""

    @property
    def groups(self) -> AbstractSet[str]:
        """The job groups of the queries that have not ended."""

    def kill(self, reason: str) -> None: ...


class KillPatience:
    """The seconds that cancelled queries of one application have to end; it remembers the kills of the application."""

    def __init__(self) -> None:
        self._kills = 0
        self._last_kill = 0.0

    def seconds(self, others: int, now: float) -> float:
        """Return the time for a query while the application runs so many ``others``."""
        return min(AMONG_OTHERS_SECONDS * 2 ** self._remembered(now), MAX_SECONDS) if others else ALONE_SECONDS

    def killed(self, others: int, now: float) -> None:
        """Note a kill with so many ``others``; one of a query that is alone costs nothing."""
        if others:
            self._kills, self._last_kill = self._remembered(now) + 1, now

    def _remembered(self, now: float) -> int:
        return self._kills if now - self._last_kill < FORGOTTEN_SECONDS else 0


async def end_of_query(
    name: str, group: str, job: asyncio.Future[JobEnd], application: Application, patience: KillPatience
) -> None:
    """Wait until a cancelled query has ended; kill its application if that takes too long. ``job``: the query's."""
    loop = asyncio.get_running_loop()
    waited, said, killed = 0.0, False, False
    while not job.done():
        others = len(application.groups - {group})
        allowed = patience.seconds(others, loop.time())
        if waited >= allowed and not killed:
            killed = True
            patience.killed(others, loop.time())
            application.kill(f"Query {name} did not end when it was stopped.")
        elif waited >= ALONE_SECONDS and not said and not killed:
            said = True
            log.warning("Query %s has not ended %g s after it was cancelled. Its Spark application runs %d other "
                        "queries and is killed only if it takes %g s", name, waited, others, allowed)  # fmt: skip
        await asyncio.wait({job}, timeout=LOOK_SECONDS)
        waited += LOOK_SECONDS

"""The end of a cancelled query, and how long the worker waits for it before it kills the query's Spark application.

All queries of the worker run in that application. A kill takes the others along, which then all start at the same time.
On a machine under load a query takes long to end because everything does; a kill would add the load of those starts.
Therefore the worker waits longer for a query that is not alone, but never so long that it loses its membership of the
group: it must confirm within ``rebalance.timeout.ms`` that revoked tasks have ended. If the group revokes tasks while a
restart waits for a query, that query and those that are revoked have that time together.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Protocol

from penstock.spark.supervisor import JobEnd

log = logging.getLogger(__name__)

ALONE_SECONDS = 5.0
"""Seconds that a cancelled query has to end if its application runs no other query."""
AMONG_OTHERS_SECONDS = 60.0
"""Seconds that it has otherwise, at most; see ``seconds_among_others``."""
MARGIN_SECONDS = 10.0
"""Seconds of ``rebalance.timeout.ms`` that are left for the kill, and for what precedes and follows it."""
LOOK_SECONDS = 1.0
"""Interval of looks. One look counts for two intervals at most: when this process was frozen, only one is late."""


class Application(Protocol):
    """A Spark application of queries."""

    @property
    def groups(self) -> AbstractSet[str]:
        """The job groups of the queries that have not ended."""

    def kill(self, reason: str) -> None: ...


def seconds_among_others(graceful: float, rebalance_timeout: float) -> float:
    """Return the time for a cancelled query that is not alone, so that it ends within ``rebalance_timeout``.

    ``graceful``: the time between the request to stop and the cancellation.
    """
    return max(ALONE_SECONDS, min(AMONG_OTHERS_SECONDS, rebalance_timeout - graceful - MARGIN_SECONDS))


async def end_of_query(
    name: str,
    group: str,
    job: asyncio.Future[JobEnd],
    application: Application,
    ending: set[str],
    among_others: float,
    revocation_left: Callable[[], float] = lambda: math.inf,
) -> None:
    """Wait until a cancelled query has ended; kill its application if that takes too long. ``job``: the query's.

    ``ending``: the groups of such queries, which need not be spared; this one is added. ``among_others``: the seconds
    while the application runs queries that nobody has cancelled. ``revocation_left`` returns the seconds until the
    worker leaves its group, since what the group has revoked has not ended; a query has ``ALONE_SECONDS`` in any case.
    """
    ending.add(group)
    loop = asyncio.get_running_loop()
    waited, said, killed = 0.0, False, False
    while not job.done():
        others = len(application.groups - ending)
        allowed = among_others if others else ALONE_SECONDS
        late = waited >= ALONE_SECONDS and revocation_left() <= MARGIN_SECONDS
        if (waited >= allowed or late) and not killed:
            killed = True
            application.kill(f"Query {name} did not end when it was stopped.")
        elif waited >= ALONE_SECONDS and not said and not killed:
            said = True
            log.warning("Query %s has not ended %.0f s after it was cancelled. Its Spark application runs %d other "
                        "queries and is killed only if it takes %g s", name, waited, others, allowed)  # fmt: skip
        looked = loop.time()
        await asyncio.wait({job}, timeout=LOOK_SECONDS)
        waited += min(max(LOOK_SECONDS, loop.time() - looked), 2 * LOOK_SECONDS)

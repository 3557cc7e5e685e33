"""PostgreSQL: up to where nobody can commit an earlier row any more.

A number or a time is given to a row before its transaction commits. So what is seen at some moment is complete only
when all transactions that ran at that moment have ended. Which those are tell the locks on virtual transaction ids,
which every user may read; the ids of transactions (``xmin``) don't, since a transaction gets its own late.
"""

from __future__ import annotations

from penstock.spark.query.jdbc.source.database import Database

_RUNNING = """
SELECT l.virtualtransaction FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype IN ('virtualxid', 'transactionid') AND l.mode = 'ExclusiveLock'
AND l.pid IS DISTINCT FROM pg_backend_pid()
AND (a.datname IS NULL OR a.datname = current_database())
AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
"""


class Horizon:
    """Of one table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settled: int | None = None
        self._pending: tuple[int, frozenset[str]] | None = None

    def reach(self, seen: int) -> int | None:
        """How far it is safe to read; ``seen``: what was seen before this call. None if nothing is safe yet."""
        running = frozenset(self._database.texts(_RUNNING))
        if self._pending is not None and not self._pending[1] & running:
            self._settled, self._pending = self._pending[0], None
        if not running:
            self._settled = seen
        elif self._pending is None:
            self._pending = (seen, running)
        return self._settled

"""Where the transactions of a source task end: ``transaction.boundary`` (KIP-618).

Java: ``WorkerTransactionContext``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord


class Boundaries:
    """Where transactions end. Given to the task as its ``TransactionContext`` if the connector defines them."""

    def __init__(self, kind: str, interval: float) -> None:
        self.kind, self._interval = kind, interval
        self._last = time.monotonic()
        self._commit_batch = self._abort_batch = False
        self._commit_after: dict[int, SourceRecord] = {}
        self._abort_after: dict[int, SourceRecord] = {}

    # -- called by the task

    def commit_transaction(self, after: SourceRecord | None = None) -> None:
        if after is None:
            self._commit_batch = True
        else:
            self._commit_after[id(after)] = after

    def abort_transaction(self, after: SourceRecord | None = None) -> None:
        if after is None:
            self._abort_batch = True
        else:
            self._abort_after[id(after)] = after

    # -- called by the commit policy

    def restart(self) -> None:
        self._last = time.monotonic()

    def due(self, now: float) -> bool:
        """Whether an interval is over; begins the next one."""
        if self.kind != "interval" or now < self._last + self._interval:
            return False
        self._last = now
        return True

    def left(self, now: float) -> float:
        """Seconds to the end of the interval."""
        return self._last + self._interval - now if self.kind == "interval" else 3600.0

    def of_batch(self) -> str | None:
        """``commit`` or ``abort`` as asked for after the whole batch; asking takes the wish away."""
        commit, abort = self._commit_batch, self._abort_batch
        self._commit_batch = self._abort_batch = False
        if commit and abort:
            raise ConnectError("The task asked to commit and to abort the same transaction")
        return "abort" if abort else "commit" if commit else None

    def after_records(self, records: Sequence[SourceRecord]) -> list[tuple[int, str]]:
        """The places behind which a transaction ends, and how. Wishes for other records wait for these."""
        if not self._commit_after and not self._abort_after:
            return []
        found = []
        for i, record in enumerate(records, 1):
            commit = self._commit_after.pop(id(record), None) is not None
            abort = self._abort_after.pop(id(record), None) is not None
            if commit and abort:
                raise ConnectError(
                    f"The task asked to commit and to abort after the same record of topic {record.topic}"
                )
            if commit or abort:
                found.append((i, "abort" if abort else "commit"))
        return found

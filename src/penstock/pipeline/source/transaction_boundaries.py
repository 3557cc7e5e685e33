"""The ends of a source task's transactions: ``transaction.boundary`` (KIP-618).

Java: ``WorkerTransactionContext``.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Sequence

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord


class TransactionEnd(enum.Enum):
    """The end of a transaction, as the task wants it."""

    COMMIT = enum.auto()
    ABORT = enum.auto()


class TransactionBoundaries:
    """``kind`` is ``poll``, ``interval`` or ``connector``, ``interval`` in seconds.

    With ``connector`` this is the task's ``TransactionContext``; the task may call it from any of its threads.
    """

    def __init__(self, kind: str, interval: float) -> None:
        self.kind, self._interval = kind, interval
        self._last = time.monotonic()
        self._lock = threading.Lock()
        self._commit_batch = self._abort_batch = False
        self._commit_after: dict[int, SourceRecord] = {}
        self._abort_after: dict[int, SourceRecord] = {}
        self._batch: Batch | None = None
        self._ends: list[tuple[int, bool]] = []
        """The rows after which transactions end within that batch, and whether they are aborted."""

    # -- called by the task

    def commit_transaction(self, after: SourceRecord | None = None) -> None:
        with self._lock:
            if after is None:
                self._commit_batch = True
            else:
                self._commit_after[id(after)] = after

    def abort_transaction(self, after: SourceRecord | None = None) -> None:
        with self._lock:
            if after is None:
                self._abort_batch = True
            else:
                self._abort_after[id(after)] = after

    def end_after(self, batch: Batch, ends: Sequence[tuple[int, bool]]) -> None:
        """End transactions after these rows of a batch that ``poll`` gives next; True: abort. For tasks in the JVM."""
        with self._lock:
            self._batch, self._ends = batch, list(ends)

    # -- called by the commit policy

    def restart(self) -> None:
        """Begin an interval now."""
        self._last = time.monotonic()

    def due(self, now: float) -> bool:
        """Return whether an interval is over; begins the next one then."""
        if self.kind != "interval" or now < self._last + self._interval:
            return False
        self._last = now
        return True

    def remaining(self, now: float) -> float:
        """Return the seconds to the end of the interval."""
        return self._last + self._interval - now if self.kind == "interval" else 3600.0

    def take_batch_request(self) -> TransactionEnd | None:
        """Return how the task wants the transaction to end after the whole batch; each request is returned once."""
        with self._lock:
            commit, abort = self._commit_batch, self._abort_batch
            self._commit_batch = self._abort_batch = False
        return _end(commit, abort, "The task asked to commit and to abort the same transaction")

    def take_record_requests(self, polled: Sequence[SourceRecord] | Batch) -> list[tuple[int, TransactionEnd]]:
        """Return after how many of these records a transaction ends, and how.

        Requests for records that are not among them stay. Raises ConnectError for a request that names a record while
        the task polled a batch of columns, in which no record can be recognised.
        """
        with self._lock:
            if polled is self._batch:
                ends, self._batch, self._ends = self._ends, None, []
                return _ends(ends)
            if not self._commit_after and not self._abort_after:
                return []
            if isinstance(polled, Batch):
                raise ConnectError(
                    "The task asked to end a transaction after a certain record, but polled a Batch, whose rows are no "
                    "records that it could name. End the batch with that record and call commit_transaction or "
                    "abort_transaction without a record, or poll a list of records"
                )
            found = []
            for i, record in enumerate(polled, 1):
                commit = self._commit_after.pop(id(record), None) is not None
                abort = self._abort_after.pop(id(record), None) is not None
                both = f"The task asked to commit and to abort after the same record of topic {record.topic}"
                if (end := _end(commit, abort, both)) is not None:
                    found.append((i, end))
            return found


def _ends(rows: Sequence[tuple[int, bool]]) -> list[tuple[int, TransactionEnd]]:
    requested: dict[int, set[bool]] = {}
    for row, abort in rows:
        requested.setdefault(row, set()).add(abort)
    both = "The task asked to commit and to abort after the same record"
    ends = [(row + 1, _end(False in aborts, True in aborts, both)) for row, aborts in sorted(requested.items())]
    return [(after, end) for after, end in ends if end is not None]


def _end(commit: bool, abort: bool, both: str) -> TransactionEnd | None:
    if commit and abort:
        raise ConnectError(both)
    return TransactionEnd.ABORT if abort else TransactionEnd.COMMIT if commit else None

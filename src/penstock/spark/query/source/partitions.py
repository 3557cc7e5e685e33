"""The partitions of one batch, each of which Spark may send several times: its rows are taken once.

Spark starts a partition again when the process or the executor that sent it has gone away, whether all of its rows had
been taken or some. The rows of the next attempt that are the same as those taken already are left out. Where they
differ, as after a shuffle whose order has changed, the batch can't be completed: it has to come again as a whole.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.pipeline.task import TaskFencedError


class BatchLostError(TaskFencedError):
    """Not all rows of the batch could be taken, and others may have been: the task has to begin the batch again."""


@dataclass(slots=True)
class _Partition:
    busy: threading.Lock = field(default_factory=threading.Lock)
    """Held by the attempt whose rows are taken."""
    taken: list[bytes] = field(default_factory=list)
    """A digest of each Arrow batch."""
    rows: int = 0
    hang_up: Callable[[], None] = lambda: None
    """Ends the last attempt."""


class Partitions:
    """The partitions of a batch, for their threads. ``differing`` has a sentence for each that has changed."""

    def __init__(self) -> None:
        self.differing: list[str] = []
        self._partitions: dict[int, _Partition] = {}
        self._lock = threading.Lock()

    @property
    def rows(self) -> int:
        """The number of rows that have been taken."""
        with self._lock:
            return sum(each.rows for each in self._partitions.values())

    @contextmanager
    def attempt(self, number: int, hang_up: Callable[[], None]) -> Iterator[Attempt]:
        """One attempt to send this partition. An earlier one is ended by its ``hang_up``, and waited for."""
        with self._lock:
            partition = self._partitions.setdefault(number, _Partition())
            earlier, partition.hang_up = partition.hang_up, hang_up
        earlier()
        with partition.busy:
            if partition.hang_up is not hang_up:
                raise OSError(f"Spark has begun again with partition {number}")
            yield Attempt(self, number, partition)


class Attempt:
    def __init__(self, partitions: Partitions, number: int, partition: _Partition) -> None:
        self._partitions, self._number, self._partition = partitions, number, partition
        self._seen = self._rows = 0

    def is_new(self, batch: pa.RecordBatch) -> bool:
        """Return whether an Arrow batch is new, and count it. Raises OSError if an earlier attempt's differs."""
        digest, taken = hashlib.blake2b(batch.serialize(), digest_size=16).digest(), self._partition.taken
        known = self._seen < len(taken)
        if known and taken[self._seen] != digest:
            raise self._differs()
        self._seen += 1
        self._rows += batch.num_rows
        if not known:
            taken.append(digest)
            self._partition.rows += batch.num_rows
        return not known

    def ends(self, rows: int) -> bool:
        """Return at the end whether ``rows`` have come. Raises OSError if an earlier attempt had more."""
        if self._rows == rows and self._seen < len(self._partition.taken):
            raise self._differs()
        return self._rows == rows

    def _differs(self) -> OSError:
        self._partitions.differing.append(
            f"Spark has sent partition {self._number} twice, and its rows differ; the batch begins again"
        )
        return OSError(self._partitions.differing[-1])

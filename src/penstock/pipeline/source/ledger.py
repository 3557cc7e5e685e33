"""The records that have been sent, and which of them have been acknowledged: of each source partition, the offsets of
all records before the first that is not acknowledged may be committed. Java: ``SubmittedRecords``, there by record,
here by batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from penstock.api.batch import Batch, SourceOrigin
from penstock.kafka.offsets.records import canonical

_IN_FLIGHT, _ACKED, _TAKEN = range(3)

SourceOffsetPair = tuple[dict[str, Any], dict[str, Any]]


class SubmittedBatch:
    """A batch in flight, as it was polled. ``ack`` is called once for each row, when Kafka has the record, or its
    loss is tolerated, or it was dropped.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self._marks = bytearray(len(batch))
        self._names: list[bytes] = []

    @property
    def complete(self) -> bool:
        return not self._marks.count(_IN_FLIGHT)

    def ack(self, row: int) -> None:
        self._marks[row] = _ACKED

    def take(self, blocked: set[bytes], found: dict[bytes, SourceOffsetPair]) -> bool:
        """Add what may be committed to ``found``, and source partitions with unacknowledged records to ``blocked``.

        The result is whether nothing is left of the batch.
        """
        origin = self.batch.origin
        assert isinstance(origin, SourceOrigin)
        if not self._names:
            self._names = names_of(origin.partitions)
        if not blocked and self.complete and not self._marks.count(_TAKEN):
            rows: Sequence[int] = list({name: row for row, name in enumerate(self._names)}.values())
        else:
            rows = range(len(self._names))
        for row in rows:
            name = self._names[row]
            if self._marks[row] == _IN_FLIGHT:
                blocked.add(name)
            elif self._marks[row] == _ACKED and name not in blocked:
                found[name] = (origin.partitions[row], origin.offsets[row])
                self._marks[row] = _TAKEN
        return not blocked.intersection(self._names)


class UncarriedOffsets(SubmittedBatch):
    """Offsets that no record carries: all are taken at once, after those of all records before."""

    def __init__(self, origin: SourceOrigin) -> None:
        n = len(origin.partitions)
        super().__init__(Batch.of("", [None] * n, origin=origin))
        for row in range(n):
            self.ack(row)

    def take(self, blocked: set[bytes], found: dict[bytes, SourceOffsetPair]) -> bool:
        if not blocked:
            return super().take(blocked, found)
        origin = self.batch.origin
        assert isinstance(origin, SourceOrigin)
        blocked.update(names_of(origin.partitions))
        return False


class Ledger:
    """The batches in flight, in the order of sending."""

    def __init__(self) -> None:
        self._sent: deque[SubmittedBatch] = deque()

    def submit(self, submitted: SubmittedBatch) -> None:
        """Add a batch; called in the order of sending."""
        self._sent.append(submitted)

    def submit_acknowledged(self, origin: SourceOrigin) -> None:
        """Add source offsets that no record carries."""
        self._sent.append(UncarriedOffsets(origin))

    def committable(self) -> list[SourceOffsetPair]:
        """Return the last record of each partition before the first that is not acknowledged; each is returned once."""
        blocked: set[bytes] = set()
        found: dict[bytes, SourceOffsetPair] = {}
        self._sent = deque([each for each in self._sent if not each.take(blocked, found)])
        return list(found.values())

    def settled(self) -> list[SourceOffsetPair]:
        """Return what ``committable`` would return of the batches before the first that is not complete, and forget
        them. Called often, so that records are not kept until the next commit.
        """
        found: dict[bytes, SourceOffsetPair] = {}
        while self._sent and self._sent[0].complete:
            self._sent.popleft().take(set(), found)
        return list(found.values())


def names_of(partitions: Sequence[dict[str, Any]]) -> list[bytes]:
    """Return the canonical form of each source partition; records of one source partition mostly share one ``dict``."""
    names: dict[int, bytes] = {}
    for partition in partitions:
        if id(partition) not in names:
            names[id(partition)] = canonical(partition)
    return [names[id(partition)] for partition in partitions]

"""Offset syncs: pairs of matching offsets of a partition and its mirrored one, written from time to time.

Checkpoints are translated with them. A sync is written at once if the last one is too old, or if offsets are not
consecutive; otherwise the latest of a partition is written at the next commit. Java: ``OffsetSyncWriter``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.api.errors import KafkaError
from penstock.api.kafka import KafkaProducer
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.records import OffsetSync

log = logging.getLogger(__name__)

MAX_OUTSTANDING = 10


@dataclass(slots=True)
class SyncProgress:
    """The last offsets of a partition, and the downstream offset of its last sync."""

    most_lag: int
    upstream: int = -1
    downstream: int = -1
    synced: int = -1

    def advance(self, upstream: int, downstream: int) -> bool:
        """Note the next record; return whether a sync for it is due at once."""
        due = (
            self.synced == -1
            or downstream - (self.synced + 1) >= self.most_lag
            or upstream - self.upstream != 1
            or downstream < self.downstream
        )
        if due:
            self.synced = downstream
        self.upstream, self.downstream = upstream, downstream
        return due

    def due(self, upstream: Sequence[int], downstream: Sequence[int]) -> list[int]:
        """Note records, in order; return the rows of those for which a sync is due at once."""
        found, row, gapless = [], 0, _gapless(upstream) and _gapless(downstream)
        while row < len(upstream):
            if self.advance(upstream[row], downstream[row]):
                found.append(row)
            row += 1
            calm = min(self.synced + self.most_lag - self.downstream, len(upstream) - row)
            if gapless and calm > 0:  # only their lag may make one due
                row += calm
                self.upstream, self.downstream = upstream[row - 1], downstream[row - 1]
        return found


def _gapless(offsets: Sequence[int]) -> bool:
    return list(offsets) == list(range(offsets[0], offsets[0] + len(offsets))) if offsets else True


class OffsetSyncs:
    """Writes the syncs of one task. Its methods may be called from any thread."""

    def __init__(self, producer: KafkaProducer, topic: str, most_lag: int) -> None:
        self._producer, self._topic, self._most_lag = producer, topic, most_lag
        self._progress: dict[TopicPartition, SyncProgress] = {}
        self._delayed: dict[TopicPartition, OffsetSync] = {}
        self._pending: dict[TopicPartition, OffsetSync] = {}
        self._outstanding = 0
        self._lock = threading.RLock()

    def mirrored(self, topic_partition: TopicPartition, upstream: Sequence[int], downstream: Sequence[int]) -> None:
        """The records at these offsets of the source partition are at those of the mirrored one."""
        with self._lock:
            progress = self._progress.get(topic_partition)
            if progress is None:
                progress = self._progress[topic_partition] = SyncProgress(self._most_lag)
            for row in progress.due(upstream, downstream):
                self._delayed.pop(topic_partition, None)
                self._pending[topic_partition] = OffsetSync(topic_partition, upstream[row], downstream[row])
                self._send()
            if progress.downstream != progress.synced:
                self._delayed[topic_partition] = OffsetSync(topic_partition, progress.upstream, progress.downstream)
            if self._pending:  # of any partition, as when many were due with a commit
                self._send()

    def commit(self) -> None:
        """Write the delayed syncs."""
        with self._lock:
            self._pending |= self._delayed
            self._delayed.clear()
            self._send()

    def serve(self) -> None:
        """Write the syncs that waited for others to arrive; called often, so that no record is needed for that."""
        with self._lock:
            if self._pending:
                self._send()

    def flush(self) -> None:
        """Write everything, waiting a few seconds at most: the next run writes syncs for these partitions again."""
        end = time.monotonic() + 5
        while True:
            with self._lock:
                self._send()
            self._producer.flush(max(end - time.monotonic(), 0))
            if not self._pending or time.monotonic() >= end:
                return

    def _send(self) -> None:
        """Send as many as may be in flight; the others wait, and later syncs replace them."""
        self._producer.serve()
        while self._pending and self._outstanding < MAX_OUTSTANDING:
            topic_partition = next(iter(self._pending))
            sync = self._pending.pop(topic_partition)
            self._outstanding += 1
            self._producer.send(self._topic, sync.key(), sync.value(), 0, self._delivered)

    def _delivered(self, error: KafkaError | None) -> None:
        self._outstanding -= 1
        if error is not None:
            log.error("Failure sending offset sync: %s", error)

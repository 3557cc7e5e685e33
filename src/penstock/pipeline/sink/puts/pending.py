"""Converted records of a sink that its task has not taken yet."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition


@dataclass(slots=True)
class PendingBatch:
    records: Batch
    offsets: dict[TopicPartition, int]
    """Per partition the offset after the last record that was fetched, be it filtered or skipped since."""
    retry_at: float = 0.0
    """When to put them, of ``time.monotonic``."""
    retrying: bool = False
    """Whether the task has asked for the same records again; all partitions are paused until it takes them."""
    unconverted: bool = False
    """Whether the records are as they were fetched: their put converts them."""

    @classmethod
    def of(cls, raw: Batch, records: Batch, only: TopicPartition | None) -> PendingBatch:
        """``raw`` as it was fetched; ``only``: the partition of all records, if there is just one."""
        origin = raw.origin
        assert isinstance(origin, SinkOrigin)
        if only is not None:
            return cls(records, {only: origin.offsets[-1] + 1})
        topics, partitions, offsets = origin.topics, origin.partitions, origin.offsets
        if topics.count(topics[0]) == len(topics):
            ends = dict(zip(partitions, offsets, strict=True))
            return cls(records, {TopicPartition(topics[0], number): offset + 1 for number, offset in ends.items()})
        last = dict(zip(zip(topics, partitions, strict=True), offsets, strict=True))
        return cls(records, {TopicPartition(*partition): offset + 1 for partition, offset in last.items()})

    def first_offset(self, partition: TopicPartition) -> int | None:
        """The offset of the first record of this partition."""
        if not isinstance(origin := self.records.origin, SinkOrigin):
            return None
        rows = zip(origin.topics, origin.partitions, origin.offsets, strict=True)
        return next((offset for topic, number, offset in rows if (topic, number) == partition), None)

    def until_retry(self, now: float, most: float) -> float:
        """Seconds until they are to be put."""
        return min(max(self.retry_at - now, 0.0), most)

    def without(self, partitions: Set[TopicPartition]) -> PendingBatch | None:
        """The same without the records of these partitions; None if none were fetched of others. If all of those have
        been filtered or skipped there are no records, but offsets.
        """
        for partition in partitions:
            self.offsets.pop(partition, None)
        if not self.offsets:
            return None
        if isinstance(self.records.origin, SinkOrigin):
            _, kept = divided(self.records, partitions)
            self.records = self.records.select(kept)
        return self


def divided(batch: Batch, partitions: Set[TopicPartition]) -> tuple[list[int], list[int]]:
    """The rows of records of these partitions, and the others."""
    origin = batch.origin
    assert isinstance(origin, SinkOrigin)
    theirs: list[int] = []
    others: list[int] = []
    for i, partition in enumerate(zip(origin.topics, origin.partitions, strict=True)):
        (theirs if partition in partitions else others).append(i)
    return theirs, others

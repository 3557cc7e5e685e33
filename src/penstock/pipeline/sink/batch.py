"""Fetched records on their way to a sink task."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition

Partitions = frozenset[TopicPartition]
NO_PARTITIONS: Partitions = frozenset()


@dataclass(frozen=True, slots=True)
class FetchedBatch:
    """Records on their way from the consumer to the task."""

    records: Batch
    ends: Mapping[TopicPartition, int]
    """Per partition the offset after the last record that was fetched, even if it was filtered or skipped since."""
    converted: bool = False
    """Whether the records are for the task; otherwise they are as they were fetched."""

    @classmethod
    def of(cls, raw: Batch, only: TopicPartition | None = None) -> FetchedBatch:
        """Return the batch of records as they were fetched; ``only``: the partition of all records, if it is one."""
        origin = raw.origin
        assert isinstance(origin, SinkOrigin)
        if only is not None:
            return cls(raw, {only: origin.offsets[-1] + 1})
        topics, partitions, offsets = origin.topics, origin.partitions, origin.offsets
        if topics.count(topics[0]) == len(topics):
            ends = dict(zip(partitions, offsets, strict=True))
            return cls(raw, {TopicPartition(topics[0], number): offset + 1 for number, offset in ends.items()})
        last = dict(zip(zip(topics, partitions, strict=True), offsets, strict=True))
        return cls(raw, {TopicPartition(*partition): offset + 1 for partition, offset in last.items()})

    def __len__(self) -> int:
        return len(self.records)

    def first_offset(self, partition: TopicPartition) -> int | None:
        """Return the offset of the first record of this partition; None if there is none."""
        if not isinstance(origin := self.records.origin, SinkOrigin):
            return None
        rows = zip(origin.topics, origin.partitions, origin.offsets, strict=True)
        return next((offset for topic, number, offset in rows if (topic, number) == partition), None)

    def divided(self, partitions: Set[TopicPartition]) -> tuple[FetchedBatch | None, FetchedBatch | None]:
        """Return the part of these partitions and the part of the others; None for a part without any partition.

        A part whose records have all been filtered has no records, but offsets.
        """
        if self.ends.keys() <= partitions:
            return self, None
        if self.ends.keys().isdisjoint(partitions):
            return None, self
        theirs: list[int] = []
        others: list[int] = []
        if isinstance(origin := self.records.origin, SinkOrigin):
            for i, partition in enumerate(zip(origin.topics, origin.partitions, strict=True)):
                (theirs if partition in partitions else others).append(i)
        return self._part(theirs, self.ends.keys() & partitions), self._part(others, self.ends.keys() - partitions)

    def _part(self, rows: list[int], partitions: Set[TopicPartition]) -> FetchedBatch:
        ends = {partition: self.ends[partition] for partition in self.ends if partition in partitions}
        return FetchedBatch(self.records.select(rows), ends, self.converted)

"""Records of a sink as they were read, for its dead letters.

Java's ``InternalSinkRecord`` holds the record it was made of as long as a task holds it. Here fetches are kept
until all of their records are committed, up to ``MAX_BYTES``: a task mostly reports a record at once.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition
from penstock.pipeline.conversion import Conversion

log = logging.getLogger(__name__)

MAX_BYTES = 64 << 20
"""The maximum size of the fetches before the last one."""
_RECORD_BYTES = 400
"""The approximate size of a record without its key and value."""

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class _Fetch:
    raw: Batch
    ends: Offsets
    """The offset after the last record, per partition."""
    size: int

    def committed(self, offsets: Offsets) -> bool:
        """Return whether all records are committed; those of partitions that this task has lost do not count."""
        return all(offsets.get(partition, end) >= end for partition, end in self.ends.items())


@dataclass(slots=True)
class OriginalRecords:
    """Finds records as they were read: in the last fetch, else in those before it, else by converting them back.

    Any thread of the task may call ``original``.
    """

    raw: Batch | None = None
    """The last fetch."""
    conversion: Conversion | None = None
    keeps: bool = False
    """Whether fetches before the last one are kept."""
    _last: _Fetch | None = None
    _before: deque[_Fetch] = field(default_factory=deque)
    _size: int = 0
    _warned: bool = False

    def fetched(self, raw: Batch, ends: Offsets, committed: Offsets) -> None:
        """Called with each fetch; ``committed``: the offsets of the group."""
        if self.keeps:
            if self._last is not None:
                self._before.append(self._last)
                self._size += self._last.size
            self._last = _Fetch(raw, dict(ends), _size(raw))
        self.raw = raw
        while self._before and (self._size > MAX_BYTES or self._before[0].committed(committed)):
            self._size -= self._before.popleft().size

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the fetches with records of these partitions, whose offsets will come again with others."""
        self._before = deque(each for each in self._before if each.ends.keys().isdisjoint(partitions))
        self._size = sum(each.size for each in self._before)
        if self._last is not None and not self._last.ends.keys().isdisjoint(partitions):
            self._last = self.raw = None

    def original(self, record: Batch) -> Batch:
        """Return the record as it was read. Both have one row."""
        if isinstance(origin := record.origin, SinkOrigin):
            partition, offset = TopicPartition(origin.topics[0], origin.partitions[0]), origin.offsets[0]
            if (found := self.find(partition, offset)) is not None:
                return found
        return self._converted(record)

    def find(self, partition: TopicPartition, offset: int) -> Batch | None:
        """Return the record that was read there, if it is still known."""
        if self.raw is not None and (found := _found(self.raw, partition, offset)) is not None:
            return found
        for fetch in tuple(self._before):
            if fetch.ends.get(partition, -1) > offset and (found := _found(fetch.raw, partition, offset)) is not None:
                return found
        return None

    def _converted(self, record: Batch) -> Batch:
        if self.keeps and not self._warned:
            self._warned = True
            log.warning(
                "A record was reported when it was no longer known as it was read, after its offset was committed or "
                "%d MiB later: its dead letter is what the converters make of the reported record",
                MAX_BYTES >> 20,
            )
        assert self.conversion is not None
        for step in self.conversion.from_connect():
            record = step.apply(record)
        return record


def _found(raw: Batch, partition: TopicPartition, offset: int) -> Batch | None:
    origin = raw.origin
    if not isinstance(origin, SinkOrigin) or offset not in origin.offsets:
        return None
    wanted = (offset, partition.partition, partition.topic)
    for i, place in enumerate(zip(origin.offsets, origin.partitions, origin.topics, strict=True)):
        if place == wanted:
            return raw.select((i,))
    return None


def _size(raw: Batch) -> int:
    return _bytes(raw.values) + _bytes(raw.keys) + len(raw) * _RECORD_BYTES


def _bytes(column: list[Any]) -> int:
    try:
        return sum(map(len, column))
    except TypeError:  # of None
        return sum(map(len, filter(None, column)))

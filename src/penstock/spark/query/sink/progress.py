"""Batches that a query has written, from the metadata of its group's offsets.

Before a batch is written, its start is committed together with its number and its end. A run that finds such an
unfinished batch writes exactly this batch again under the same number, so that a target that records the batches of a
connector recognizes it.

Numbers count up within an *epoch*. The partitions of an epoch only become more: a batch covers all partitions that its
run reads, so each partition that names the epoch has the number of its last batch. A run that does not read all of them
any more begins a new epoch, and so does a run whose group was reset, or altered in all partitions. The numbers of the
new epoch continue those of the old one.

The name of an epoch begins with its *root*, which changes only when offsets are reset by request: the worker leaves a
new root among the source offsets then. A target that knows an epoch of the present root, while the group has no
offsets, shows that they are gone without a request.

An offset is a position in the topic with the ID (KIP-516) in its metadata. A topic that was deleted and created again
has another one.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import orjson

from penstock.api.errors import RetriableError
from penstock.api.query import BatchVersion
from penstock.pipeline.task import CommittedOffset

Partition = tuple[str, int]


def new_root() -> str:
    return secrets.token_hex(4)


def root_of(epoch: str) -> str:
    return epoch.partition(".")[0]


def new_epoch(after: int, root: str = "") -> BatchVersion:
    """The version before the first batch of a new epoch; without a ``root`` of a new one, too."""
    return BatchVersion(f"{root or new_root()}.{secrets.token_hex(4)}", after)


def place_of_root(connector: str) -> dict[str, Any]:
    """The source partition whose offset is the root that a request has left, see ``offset_of_root``."""
    return {"sink": connector}


def offset_of_root(root: str) -> dict[str, Any]:
    return {"epoch": root}


def requested_root(connector: str, offsets: Iterable[CommittedOffset]) -> str:
    """The root that the last request has left among these source offsets; empty if there was none."""
    found = [each.offset for each in offsets if each.partition == place_of_root(connector)]
    return str(found[-1].get("epoch", "")) if found else ""


MAX_NAMED = 10
"""Partitions of a batch that a message names."""


@dataclass(frozen=True, slots=True)
class Span:
    """The records of a batch: of each partition those from ``start`` up to, but without, ``end``."""

    start: Mapping[Partition, int]
    end: Mapping[Partition, int]
    topics: Mapping[str, str] = field(default_factory=dict)
    """The IDs of topics, as far as they are known."""

    def without(self, topics: Collection[str]) -> Span:
        """Return the records of other topics."""
        left = [partition for partition in self.end if partition[0] not in topics]
        return Span({p: self.start[p] for p in left}, {p: self.end[p] for p in left}, self.topics)

    def named(self) -> str:
        """Return topic, partition and offsets of the records, for messages."""
        read = [p for p in sorted(self.end) if self.end[p] > self.start[p]]
        shown = [
            f"topic {p[0]}, partition {p[1]}, offsets from {self.start[p]} to {self.end[p] - 1}"
            for p in read[:MAX_NAMED]
        ]
        more = [f"{len(read) - MAX_NAMED} more partitions"] if len(read) > MAX_NAMED else []
        return "; ".join([*shown, *more]) or "no records"

    def check(self) -> None:
        """Raises RetriableError if a topic has become shorter: a new run of the query finds where to begin in it.

        Spark goes on at its new end, and would never read its records up to there.
        """
        for partition, end in self.end.items():
            if end < (start := self.start[partition]):
                raise RetriableError(
                    f"{partition[0]}-{partition[1]} ends at offset {end}, before the next record to be read, {start}: "
                    "the topic has been created again, or its brokers have lost records"
                )


@dataclass(frozen=True, slots=True)
class OffsetNote:
    """The metadata of one partition's offset."""

    epoch: str = ""
    number: int = 0
    end: int | None = None
    """End of the batch that was begun at this offset; None if it is finished."""
    topic: str = ""
    """The ID of the topic; empty if it is not known."""

    @classmethod
    def of(cls, metadata: str | None) -> Self:
        try:
            found: Any = orjson.loads(metadata or "{}")
            return cls(
                str(found.get("epoch", "")), int(found.get("version", 0)), found.get("end"), str(found.get("topic", ""))
            )
        except (ValueError, TypeError, AttributeError):
            return cls()  # another client's metadata

    def text(self) -> str:
        if not self.epoch:
            return ""
        known: dict[str, Any] = {"epoch": self.epoch, "version": self.number}
        if self.topic:
            known["topic"] = self.topic
        return orjson.dumps(known if self.end is None else {**known, "end": self.end}).decode()


Committed = Mapping[Partition, tuple[int, OffsetNote]]
"""All offsets of a group, with their metadata."""


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """The last batch that was written, the group's offsets, and the batch after it if it was begun.

    An unfinished batch may have partitions that this run does not read. It is written whole, and the group read again.
    """

    version: BatchVersion
    offsets: Mapping[Partition, int]
    unfinished: Span | None = None
    topics: Mapping[Partition, str] = field(default_factory=dict)
    """The ID of the topic in which the offset of a partition is a position, as far as it is known."""


def progress(committed: Committed, assigned: Collection[Partition], root: str = "") -> GroupProgress:
    """Return the progress from which a run that reads the partitions ``assigned`` continues; ``root`` is the requested
    one, if any.
    """
    offsets = {partition: offset for partition, (offset, _) in committed.items()}
    notes = {partition: note for partition, (_, note) in committed.items() if note.epoch}
    if not notes:
        return GroupProgress(new_epoch(0, root), offsets)
    topics = {partition: note.topic for partition, note in notes.items() if note.topic}
    last = max(notes.values(), key=lambda note: note.number)
    epoch = {partition: note for partition, note in notes.items() if note.epoch == last.epoch}
    ends = {p: note.end for p, note in epoch.items() if note.end is not None and note.number == last.number}
    if ends:
        span = Span({partition: offsets[partition] for partition in ends}, ends)
        return GroupProgress(BatchVersion(last.epoch, last.number - 1), offsets, span, topics)
    root = root or root_of(last.epoch)
    if not epoch.keys() <= set(assigned) or root != root_of(last.epoch):
        return GroupProgress(new_epoch(last.number, root), offsets, topics=topics)
    return GroupProgress(BatchVersion(last.epoch, last.number), offsets, topics=topics)


def later_of(version: BatchVersion, known: Mapping[str, int]) -> BatchVersion | None:
    """Return ``SinkTarget.later`` of a target that has these batches: the last one, by epoch."""
    if known.get(version.epoch, -1) == version.number:
        return None
    later = [BatchVersion(epoch, number) for epoch, number in known.items() if number >= version.number]
    return max(later, key=lambda each: each.number, default=None)

"""Notes of which dead letters have been replayed.

The note of a queue's partition is an offset of the group ``penstock-dlq-<connector>``: all letters before it are done,
and so are those that its metadata names, as in ``7,9-12``. It is committed in the transaction of the letters, and the
broker drops it after ``offsets.retention.minutes``. So it is copied to the group ``penstock-dlq.kept-<connector>``,
where it is kept for good; the copy counts only while the first group has no note of the partition. Of two replays at a
time the earlier may write its copy last: in a group of its own it replaces no note, and who writes a copy compares it
with the note afterwards.
"""

from __future__ import annotations

import logging
import re
import time
import zlib
from base64 import b85decode, b85encode
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import KafkaError as BrokerError
from kafka.errors import GroupAuthorizationFailedError

from penstock.api.errors import ConnectError
from penstock.api.sink import TopicPartition as PartitionOfTopic
from penstock.kafka.admin import NoAnswerError, code_of
from penstock.kafka.letters.queue import partitions_of
from penstock.kafka.offsets.groups import GroupOffsets

log = logging.getLogger(__name__)

KEPT_MS = 100 * 365 * 24 * 3_600_000
"""Milliseconds for which copies of notes are kept."""
MAX_METADATA_LENGTH = 4000
"""Characters; brokers take 4096 by default (``offset.metadata.max.bytes``)."""
_SPAN = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
_PACKED = "packed:"
_MAX_UNPACKED = 1 << 18
"""Bytes of an unpacked note."""
_PATIENCE = 30.0
_MOVING = (BrokerError.NOT_COORDINATOR, BrokerError.COORDINATOR_LOAD_IN_PROGRESS)
_CLIENT = "penstock-dlq-notes"
_MAX_COPIES = 20
"""Copies of one call, each of which found that the note had changed since."""


def group_of(connector: str) -> str:
    return f"penstock-dlq-{connector}"


def _kept_group(connector: str) -> str:
    return f"penstock-dlq.kept-{connector}"


@dataclass(slots=True)
class Done:
    """Replayed letters of one partition: all before ``next``, and those of ``beyond``."""

    next: int = 0
    beyond: list[tuple[int, int]] = field(default_factory=list)
    """First and last offsets of spans, in order, with gaps between them: a span may have millions of letters."""

    def __contains__(self, offset: int) -> bool:
        at = bisect_right(self.beyond, offset, key=itemgetter(0))
        return offset < self.next or (at > 0 and offset <= self.beyond[at - 1][1])

    def add(self, first: int, last: int) -> None:
        """The letters from the first to the last offset are done."""
        begin = bisect_left(self.beyond, first - 1, key=itemgetter(1))
        end = bisect_right(self.beyond, last + 1, key=itemgetter(0))
        touched = self.beyond[begin:end]
        if touched:
            first, last = min(first, touched[0][0]), max(last, touched[-1][1])
        self.beyond[begin:end] = [(first, last)]

    def up_to(self, offset: int) -> None:
        """This letter and all before it are done."""
        self.next = max(self.next, offset + 1)
        at = bisect_left(self.beyond, self.next, key=itemgetter(1))
        self.beyond = [(max(first, self.next), last) for first, last in self.beyond[at:]]

    def metadata(self) -> str:
        """Return ``beyond`` as text, packed if it would be too long. It may be too long nevertheless."""
        plain = ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.beyond)
        return plain if len(plain) <= MAX_METADATA_LENGTH else _packed(self.next, self.beyond) or plain

    @classmethod
    def of(cls, offset: int, metadata: str | None) -> Done:
        """Read a note. Metadata of another form, which another program has written, says nothing."""
        done = cls(max(offset, 0))
        spans = metadata or ""
        for first, last in _unpacked(done.next, spans) if spans.startswith(_PACKED) else _read(spans):
            if max(first, done.next) <= last:
                done.add(max(first, done.next), last)
        return done


def _read(spans: str) -> Iterator[tuple[int, int]]:
    for span in spans.split(","):
        if found := _SPAN.fullmatch(span):
            yield int(found[1]), int(found[2] or found[1])


def _packed(start: int, spans: Iterable[tuple[int, int]]) -> str:
    """Return spans as the distances between their ends, seven bits a byte, compressed: 1,800 or more fit in a note.

    Returns an empty text for more than ``_unpacked`` reads.
    """
    data = bytearray()
    for end in chain.from_iterable(spans):
        distance, start = end - start, end
        while distance > 0x7F:
            data.append(distance & 0x7F | 0x80)
            distance >>= 7
        data.append(distance)
    if len(data) > _MAX_UNPACKED:
        return ""
    return _PACKED + b85encode(zlib.compress(bytes(data), 9)).decode()


def _unpacked(start: int, text: str) -> list[tuple[int, int]]:
    """Return the spans of ``_packed``; none if the text is not one of its."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(b85decode(text.removeprefix(_PACKED)), _MAX_UNPACKED)
    except (ValueError, zlib.error):
        return []
    if not unpacking.eof:
        return []
    ends, distance, bits = list[int](), 0, 0
    for byte in data:
        distance |= (byte & 0x7F) << bits
        bits += 7
        if byte <= 0x7F:
            start += distance
            ends.append(start)
            distance = bits = 0
        elif bits > 63:
            return []
    return list(zip(ends[::2], ends[1::2], strict=False)) if start < 1 << 63 else []


def done_of(consumer: Consumer, topic: str, kept: Callable[[], Mapping[int, Done]] = dict) -> dict[int, Done]:
    """By partition of the queue. The consumer is of the group ``group_of`` says, and reads committed records only.

    ``kept``: ``kept_notes`` of the connector and queue, which is called if a partition has no note.
    """
    asked = [TopicPartition(topic, p) for p in partitions_of(consumer, topic)]
    found = _offsets_of(consumer, asked)
    notes = {each.partition: Done.of(each.offset, each.metadata) for each in found}
    absent = [each.partition for each in found if each.offset < 0]
    copies = kept() if absent else {}
    return {**notes, **{p: copies[p] for p in absent if p in copies}}


def keep_notes(connector: str, queue: str, settings: Mapping[str, str], consumer: Consumer) -> None:
    """Copy the notes of the connector's replays to the group where they are kept.

    ``settings``: a client's, as Java's. ``consumer``: as for ``done_of``; it waits for the end of transactions, which
    the client that writes does not. Called after a replay. Blocks; what fails is logged, and tried again after the
    next replay. Without a right to that group the notes themselves are kept, if the broker lets them.
    """
    try:
        with closing(GroupOffsets(settings, _CLIENT)) as offsets:
            copied = _committed(consumer, queue)
            for _ in range(_MAX_COPIES):
                if not copied:
                    return
                try:
                    offsets.keep(_kept_group(connector), copied, KEPT_MS, _PATIENCE)
                except GroupAuthorizationFailedError:
                    offsets.keep(group_of(connector), copied, KEPT_MS, _PATIENCE)
                    return
                if (now := _committed(consumer, queue)) == copied:
                    return
                copied = now
    except Exception as error:  # the records are sent
        log.warning("The broker keeps the notes of replayed dead letters of %s for offsets.retention.minutes alone, "
                    "then they can be replayed again: %s", connector, error)  # fmt: skip


def _offsets_of(consumer: Consumer, asked: list[TopicPartition]) -> list[TopicPartition]:
    """Ask for committed offsets, again if the group's coordinator has just moved, which librdkafka reports at once."""
    over = time.monotonic() + _PATIENCE
    while asked:
        try:
            return consumer.committed(asked, timeout=_PATIENCE)
        except KafkaException as error:
            if code_of(error) not in _MOVING or time.monotonic() > over:
                raise
        time.sleep(0.1)
    return []


def _committed(consumer: Consumer, queue: str) -> dict[PartitionOfTopic, tuple[int, str]]:
    asked = [TopicPartition(queue, p) for p in partitions_of(consumer, queue)]
    found = _offsets_of(consumer, asked)
    return {PartitionOfTopic(queue, n.partition): (n.offset, n.metadata or "") for n in found if n.offset >= 0}


def kept_notes(connector: str, queue: str, settings: Mapping[str, str]) -> dict[int, Done]:
    """Return the copies that ``keep_notes`` has made, by partition; none without a right to their group.

    ``settings``: a client's, as Java's. Blocks. Raises NoAnswerError if they can't be read.
    """
    try:
        with closing(GroupOffsets(settings, _CLIENT)) as offsets:
            found = offsets.committed(_kept_group(connector), _PATIENCE)
    except GroupAuthorizationFailedError:
        return {}
    except Exception as error:
        raise NoAnswerError(f"The notes of replayed dead letters of {connector} could not be read: {error}") from error
    return {place.partition: Done.of(*note) for place, note in found.items() if place.topic == queue}


def offsets_to_commit(queue: str, done: Mapping[int, Done]) -> list[TopicPartition]:
    """Return the notes of these partitions. Raises ConnectError if one is too long for a broker."""
    notes = []
    for partition, each in sorted(done.items()):
        if len(metadata := each.metadata()) > MAX_METADATA_LENGTH:
            raise ConnectError(
                f"Too many records of {queue}-{partition} have been skipped or replayed one by one to remember each. "
                "Make those that were skipped ready to be sent, or replay all that are left"
            )
        notes.append(TopicPartition(queue, partition, each.next, metadata))
    return notes

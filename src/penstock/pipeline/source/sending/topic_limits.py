"""Limits of the topics of a source task: ``max.message.bytes``, no record without a key if they are compacted, and the
partitions they have.

A broker refuses a batch that is larger than the topic's ``max.message.bytes``. Java's producer splits such a batch and
sends its halves; librdkafka fails all its records. So a batch for a topic that takes less than a full one is split
before it is sent (``sender``).

A producer may not know partitions that have been added since it asked, minutes ago: they are waited for, as by Java's
producer (``KafkaProducer.waitOnMetadata``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from penstock.api.batch import Batch
from penstock.api.errors import KafkaError
from penstock.api.record import Header
from penstock.kafka.admin import TopicLimit, topic_limits
from penstock.pipeline.broker_errors import broker_error

log = logging.getLogger(__name__)

SECONDS = 5.0
"""The time to wait for the brokers' answer; without one a topic is assumed to have no limit that matters."""
RETRY_SECONDS = 1.0
"""The time after which a topic that did not exist is looked up again."""


class TopicLimits:
    """``full_batch`` is the size of a full batch, in bytes."""

    def __init__(self, make_admin: Callable[[], AdminClient], full_batch: int) -> None:
        self._make_admin, self._full = make_admin, full_batch
        self._known: set[str] = set()
        self._retry_at = 0.0
        self._low: dict[str, int] = {}
        """Bytes that each topic takes, of those that take less than a full batch."""
        self._compacted: set[str] = set()

    def look_up(self, topics: set[str]) -> None:
        """Look up new topics; called with the topics of every batch, before it is sent."""
        new = topics - self._known
        if not new or time.monotonic() < self._retry_at:
            return
        try:
            found = topic_limits(self._make_admin(), new, SECONDS)
        except Exception as error:
            names = ", ".join(sorted(new))
            log.info("Failed to look up max.message.bytes of topics %s: %s. Assuming no limit", names, error)
            found = dict.fromkeys(new, TopicLimit(self._full, compacted=False))
        self._known |= found.keys()
        self._low |= {topic: each.max_bytes for topic, each in found.items() if each.max_bytes < self._full}
        self._compacted |= {topic for topic, each in found.items() if each.compacted}
        if found.keys() != new:
            self._retry_at = time.monotonic() + RETRY_SECONDS

    def requires_key(self, topic: str | None) -> bool:
        return topic in self._compacted

    def apply_to(self, topics: set[str]) -> bool:
        """Return whether a batch for these topics may have to be split."""
        return bool(self._low) and not self._low.keys().isdisjoint(topics)

    def ends(self, batch: Batch) -> list[int]:
        """Return the row after the last one of each part of the batch, such that each part can be sent as a whole."""
        ends, sizes = [], dict.fromkeys(self._low, 0)
        for i, (topic, size) in enumerate(zip(batch.topics, serialized_sizes(batch), strict=True)):
            if topic not in self._low:
                continue
            if sizes[topic] and sizes[topic] + size > self._low[topic]:
                ends.append(i)
                sizes = dict.fromkeys(self._low, 0)
            sizes[topic] += size
        return [*ends, len(batch)]


def serialized_sizes(batch: Batch) -> list[int]:
    """Return the size of each record alone in a record batch, as Java estimates it."""
    return list(map(_size, batch.keys, batch.values, batch.headers))


def _size(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    parts = [key, value]
    for header in headers:
        parts += [header.key.encode(), header.value]
    lengths = [-1 if part is None else len(part) for part in parts] + [len(headers)]
    bodies = sum(len(part) for part in parts if part is not None)
    # Java: RECORD_BATCH_OVERHEAD and MAX_RECORD_OVERHEAD; lengths are zigzag varints.
    return 61 + 21 + bodies + sum(max(1, ((2 * n if n >= 0 else 1).bit_length() + 6) // 7) for n in lengths)


MAX_BLOCK = 60.0
"""Java's default of ``max.block.ms``, in seconds."""
SILENCE = 10.0
"""Seconds for which brokers are not asked for partitions of new topics after they have not answered."""
_UNKNOWN = ck.KafkaError(ck.KafkaError._UNKNOWN_PARTITION)


class MissingPartitions:
    """The partitions that one producer does not know. ``wait`` is called repeatedly meanwhile, and may end the wait by
    an error.
    """

    def __init__(self, producer: ck.Producer, max_block: float, wait: Callable[[], None]) -> None:
        self._producer, self._max_block, self._wait = producer, max_block, wait
        self._found: dict[tuple[str, int], int] = {}
        """The partitions that did not appear, with the number of partitions that their topic has."""
        self._counts: dict[str, int] = {}
        """Numbers of partitions as the brokers have said last; 0: not known."""
        self._ask_at = 0.0
        """When ``has`` may ask brokers that have not answered, by ``time.monotonic``."""

    def has(self, topic: str, partition: int) -> bool:
        """Return whether a topic has a partition, or is not known; waits as ``appears`` does for one that it lacks.

        For the first records of a topic, which the producer takes without knowing its partitions.
        """
        if topic not in self._counts:
            self._counts[topic] = 0
            if time.monotonic() >= self._ask_at:
                try:
                    self._counts[topic] = len(self._producer.list_topics(topic, timeout=1.0).topics[topic].partitions)
                except ck.KafkaException:  # a task with many topics must not wait for each, as it may be stopped
                    self._ask_at = time.monotonic() + SILENCE
        known = self._counts[topic]
        return not known or partition < known or self.appears(_UNKNOWN, topic, partition)

    def appears(self, error: ck.KafkaError, topic: str, partition: int | None) -> bool:
        """Return whether ``produce`` failed for a partition that it did not know, and that its topic has by now. Waits
        for ``max.block.ms``; for the same partition only once.
        """
        if error.code() != ck.KafkaError._UNKNOWN_PARTITION or partition is None:
            return False
        give_up = time.monotonic() + (0.0 if (topic, partition) in self._found else self._max_block)
        while True:
            with suppress(ck.KafkaException):  # no broker answers
                known = len(self._producer.list_topics(topic, timeout=1.0).topics[topic].partitions)
                self._counts[topic] = known
                if partition < known:
                    self._found.pop((topic, partition), None)
                    return True
                self._found[topic, partition] = known
            if time.monotonic() >= give_up:
                return False
            self._wait()

    def cause(self, error: ck.KafkaError, topic: str, partition: int | None) -> KafkaError | None:
        """Return Java's error for a partition that did not appear; None if this one is something else."""
        known = None if partition is None else self._found.get((topic, partition))
        if error.code() != ck.KafkaError._UNKNOWN_PARTITION or known is None:
            return None
        return broker_error(
            ck.KafkaError(ck.KafkaError._TIMED_OUT),
            reason=f"Partition {partition} of topic {topic} with partition count {known} is not present in metadata "
            f"after {self._max_block * 1000:.0f} ms.",
        )

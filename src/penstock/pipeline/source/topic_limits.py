"""How much a topic takes at once: a broker refuses a batch that is larger than the topic's ``max.message.bytes``.

Java's producer splits such a batch and sends its halves; librdkafka takes all its records for lost. So what goes to a
topic that takes less than a full batch is parted before it is sent (``sender``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from confluent_kafka.admin import AdminClient

from penstock.api.batch import Batch
from penstock.api.record import Header
from penstock.kafka.admin import message_limits

log = logging.getLogger(__name__)

SECONDS = 5.0
"""For the brokers' answer; without one a topic is taken to have no limit that matters."""
AGAIN_SECONDS = 1.0
"""After which a topic is looked for again that was not there."""


class TopicLimits:
    """``full`` is the size of a full batch, in bytes."""

    def __init__(self, make_admin: Callable[[], AdminClient], full: int) -> None:
        self._make_admin, self._full = make_admin, full
        self._known: set[str] = set()
        self._again = 0.0
        self._low: dict[str, int] = {}
        """Of the topics that take less than a full batch: how many bytes."""

    def look_at(self, topics: Iterable[str]) -> None:
        """Called with the topics of every batch, before it is sent."""
        new = set(topics) - self._known
        if not new or time.monotonic() < self._again:
            return
        try:
            found = message_limits(self._make_admin(), new, SECONDS)
        except Exception as error:
            log.info("How large the records of %s may be can't be looked up: %s", ", ".join(sorted(new)), error)
            found = dict.fromkeys(new, self._full)
        self._known |= found.keys()
        self._low |= {topic: limit for topic, limit in found.items() if limit < self._full}
        if found.keys() != new:
            self._again = time.monotonic() + AGAIN_SECONDS

    def concern(self, topics: Sequence[str]) -> bool:
        """Whether what is sent to these has to be parted."""
        return bool(self._low) and not self._low.keys().isdisjoint(topics)

    def ends(self, batch: Batch) -> list[int]:
        """Behind which records the parts of a batch end, each of which can be sent as a whole."""
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
    """What Java estimates that each record needs, alone in a batch of Kafka's."""
    return list(map(_size, batch.keys, batch.values, batch.headers))


def _size(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    parts = [key, value]
    for header in headers:
        parts += [header.key.encode(), header.value]
    lengths = [-1 if part is None else len(part) for part in parts] + [len(headers)]
    bodies = sum(len(part) for part in parts if part is not None)
    # Java: RECORD_BATCH_OVERHEAD and MAX_RECORD_OVERHEAD; lengths are zigzag varints.
    return 61 + 21 + bodies + sum(max(1, ((2 * n if n >= 0 else 1).bit_length() + 6) // 7) for n in lengths)

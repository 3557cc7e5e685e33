"""Partitions that a producer does not know: they may have been added since it asked, minutes ago. They are waited for,
as by Java's producer (``KafkaProducer.waitOnMetadata``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import confluent_kafka as ck

from penstock.api.errors import KafkaError
from penstock.pipeline.broker_errors import broker_error

MAX_BLOCK = 60.0
"""Java's default of ``max.block.ms``, in seconds."""


class MissingPartitions:
    """The partitions that one producer does not know. ``wait`` is called repeatedly meanwhile, and may end the wait by
    an error.
    """

    def __init__(self, producer: ck.Producer, max_block: float, wait: Callable[[], None]) -> None:
        self._producer, self._max_block, self._wait = producer, max_block, wait
        self._found: dict[tuple[str, int], int] = {}
        """The partitions that did not appear, with the number of partitions that their topic has."""

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

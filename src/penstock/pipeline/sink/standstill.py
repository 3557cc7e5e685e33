"""Detection of a sink's consumer that delivers nothing of a partition although the brokers have more of it.

librdkafka was seen to stop with one of several partitions after its leader had come back with another epoch. Such a
partition is sought to its position; if that does not help, the task is lost, and its next run has a new consumer. The
task is lost, too, when the consumer has lost all its brokers (``penstock.kafka.statistics``).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress

from confluent_kafka import OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.sink import TopicPartition
from penstock.kafka.standstill import Standstill
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.sink.partitions import at_offsets, names
from penstock.pipeline.task import TaskFencedError

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""Interval in seconds at which the loop checks partitions."""
PATIENCE_SECONDS = 10.0
"""Seconds for which a partition may stand still before a seek; after twice that time again the task is lost."""
LOOK_UP_SECONDS = 3.0
"""Timeout in seconds for the ends of partitions. With less, brokers on a machine under load would never seem to
answer.
"""


class StandstillError(TaskFencedError):
    """The consumer does not recover: another run of the task has to make another one."""


class PartitionWatch:
    """Compares the consumer's positions with the ends of partitions.

    The loop calls ``look`` at intervals when the consumer has no more records to deliver.
    """

    def __init__(self, consumer: Consumer, statistics: ClientStatistics, wait: float) -> None:
        """``statistics``: the consumer's; ``wait``: seconds that a broker may wait for more records before it answers
        a fetch.
        """
        self.ends: dict[TopicPartition, int] = {}
        """The end of each partition, as the consumer has last found it behind records that are not delivered: markers
        of transactions, and aborted records.
        """
        self._consumer, self._statistics = consumer, statistics
        self._standstill = Standstill[TopicPartition](wait + PATIENCE_SECONDS)
        self._before: Mapping[TopicPartition, int] = {}
        self._sought = set[TopicPartition]()

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Called when partitions are no longer assigned, or are read from another offset."""
        for partition in partitions:
            self.ends.pop(partition, None)

    def look(self, positions: Mapping[TopicPartition, int], now: float) -> None:
        """Seek partitions that stand still; ``positions``: of those that are fetched. Raises StandstillError."""
        if self._statistics.lost:
            raise StandstillError("The consumer has lost all its brokers")
        reached = {p: max(at, self.ends.get(p, at)) for p, at in positions.items()}
        idle = {p: at for p, at in reached.items() if self._before.get(p) == at}
        self._before = reached
        self._sought &= idle.keys()
        try:
            ends = self._ends(idle)
        except KafkaException as e:  # brokers that do not answer are no fault of the consumer's
            log.debug("The ends of partitions that stand still can't be looked up: %s", e.args[0].str())
            self._standstill.forget()
            return
        missing = {p: (at, ends[p]) for p, at in idle.items() if at < ends.get(p, at)}
        if still := self._standstill.check(missing, now):
            self._act(still)

    def _ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends; with ``isolation.level=read_committed`` the last stable offsets: an open transaction is no
        standstill.
        """
        asked = [ClientPartition(*partition, OFFSET_END) for partition in partitions]
        found = self._consumer.offsets_for_times(asked, timeout=LOOK_UP_SECONDS) if asked else []
        known = [each for each in found if each.error is None]
        return {partition: each.offset for partition, each in zip(names(known), known, strict=True)}

    def _act(self, still: Mapping[TopicPartition, int]) -> None:
        named = ", ".join(f"{topic}-{number} at offset {at}" for (topic, number), at in sorted(still.items()))
        text = (
            f"The consumer has delivered nothing for {self._standstill.tolerated:.0f} s of {named}, where there is more"
        )
        if self._sought & still.keys():
            raise StandstillError(text)
        log.warning("%s; seeking there again", text)
        for place in at_offsets(still):
            with suppress(KafkaException):  # it is not fetched at all
                self._consumer.seek(place)
        self._sought |= still.keys()
        self._standstill.acted()

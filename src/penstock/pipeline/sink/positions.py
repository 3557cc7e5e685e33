"""Where a sink task goes on in partitions that it was given: at the group's offsets, or where ``auto.offset.reset``
says.

Java asks the consumer for its positions when partitions come, and commits them with the first other offset, so that
partitions without records have a committed offset too. librdkafka knows a position only after a first record.
"""

from __future__ import annotations

import logging

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as Place

from penstock.api.errors import KafkaError
from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.context import names

log = logging.getLogger(__name__)

SECONDS = 30


class NoOffsetError(KafkaError):
    """A partition has no committed offset, and ``auto.offset.reset`` is ``none``."""

    java_name = "org.apache.kafka.clients.consumer.NoOffsetForPartitionException"


def positions(consumer: Consumer, partitions: list[Place], reset: str) -> dict[TopicPartition, int]:
    """The offset of the next record of each partition, as far as it can be found out. Raises NoOffsetError, and
    KafkaException if the group's offsets can't be read.

    ``reset`` is librdkafka's ``auto.offset.reset``.
    """
    if not partitions:
        return {}
    found = consumer.committed(partitions, timeout=SECONDS)
    new = [place for place in found if place.offset < 0 and place.error is None]
    if new and reset == "error":
        without = ", ".join(f"{place.topic}-{place.partition}" for place in new)
        raise NoOffsetError(f"Undefined offset with no reset policy for partitions: [{without}]")
    start = OFFSET_END if reset == "latest" else OFFSET_BEGINNING
    if new:
        try:
            asked = [Place(place.topic, place.partition, start) for place in new]
            found += consumer.offsets_for_times(asked, timeout=SECONDS)
        except KafkaException as e:
            log.warning("The first offsets of new partitions can't be looked up: %s", e.args[0].str())
    known = [place for place in found if place.offset >= 0 and place.error is None]
    return {partition: place.offset for partition, place in zip(names(known), known, strict=True)}

"""Partitions of a sink task's consumer: the API's names and the client's, pauses, and where reading begins."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Set

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.errors import KafkaError
from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.kafka.admin import may_pass
from penstock.pipeline.broker_errors import is_away
from penstock.pipeline.sink.positions import kept
from penstock.pipeline.task import TaskFencedError

log = logging.getLogger(__name__)

SECONDS = 30


class NoOffsetError(KafkaError):
    """A partition has no committed offset, and ``auto.offset.reset`` is ``none``."""

    java_name = "org.apache.kafka.clients.consumer.NoOffsetForPartitionException"


def names(partitions: list[ClientPartition]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in partitions]


def at_offsets(offsets: Mapping[TopicPartition, int]) -> list[ClientPartition]:
    return [ClientPartition(*partition, offset, *kept(offset)) for partition, offset in offsets.items()]


def of_client(partition: ClientPartition) -> OffsetAndMetadata:
    return OffsetAndMetadata(partition.offset, partition.metadata or "", partition.leader_epoch)


def pause(consumer: Consumer, partitions: Set[TopicPartition]) -> None:
    if partitions:
        consumer.pause([ClientPartition(*each) for each in partitions])


def resume(consumer: Consumer, partitions: Set[TopicPartition]) -> None:
    if partitions:
        consumer.resume([ClientPartition(*each) for each in partitions])


def positions(consumer: Consumer, partitions: list[ClientPartition], reset: str) -> dict[TopicPartition, int]:
    """Return the offset of the next record of each partition, as far as it is known: the group's committed offset, or
    the one that ``reset`` (librdkafka's ``auto.offset.reset``) determines.

    Java asks the consumer for its positions when partitions are assigned, and commits them with the first other offset,
    so that partitions without records have a committed offset too. librdkafka knows a position only after a first
    record. Raises NoOffsetError, and KafkaException if the group's offsets can't be read, but TaskFencedError if that
    may pass.
    """
    if not partitions:
        return {}
    try:
        found = consumer.committed(partitions, timeout=SECONDS)
    except KafkaException as e:
        error = e.args[0]
        if not may_pass(error):
            raise
        reason = "the brokers have not answered in time" if is_away(error) else error.str()
        raise TaskFencedError(f"The group's offsets could not be read: {reason}") from e
    new = [each for each in found if each.offset < 0 and each.error is None]
    if new and reset == "error":
        without = ", ".join(f"{each.topic}-{each.partition}" for each in new)
        raise NoOffsetError(f"Undefined offset with no reset policy for partitions: [{without}]")
    start = OFFSET_END if reset == "latest" else OFFSET_BEGINNING
    if new:
        try:
            asked = [ClientPartition(each.topic, each.partition, start) for each in new]
            found += consumer.offsets_for_times(asked, timeout=SECONDS)
        except KafkaException as e:
            log.warning("The first offsets of new partitions can't be looked up: %s", e.args[0].str())
    known = [each for each in found if each.offset >= 0 and each.error is None]
    return {partition: each.offset for partition, each in zip(names(known), known, strict=True)}


def no_renewed_start(partitions: Iterable[TopicPartition]) -> NoOffsetError:
    """Return the error for topics that were deleted and created again, if ``auto.offset.reset`` is ``none``."""
    return NoOffsetError(
        f"The topic of {', '.join(map(str, sorted(partitions)))} was deleted and created again, the offsets of the "
        "group are positions in the old one, and auto.offset.reset=none. Set "
        "consumer.override.auto.offset.reset=earliest to read the new topic from its beginning, or alter the offsets "
        "of the connector"
    )

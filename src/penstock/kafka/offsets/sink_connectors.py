"""The offsets of sink connectors, which are those of their consumer groups: read, altered, reset.

Java: ``Worker.sinkConnectorOffsets``, ``modifySinkConnectorOffsets`` and ``SinkUtils`` (KIP-875), with their words.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from kafka import errors as group_errors
from penstock.api.errors import ConnectError
from penstock.api.sink import TopicPartition
from penstock.java.parsing import whole_number
from penstock.java.text import java_text
from penstock.kafka.admin import sentence
from penstock.kafka.background import NO_DEADLINE, Deadline, OnAnswer, in_background
from penstock.kafka.client_settings import connector_admin, consumer_group
from penstock.kafka.offsets.groups import GroupOffsets, committed_offsets

log = logging.getLogger(__name__)

Settings = Mapping[str, str]

_TIMEOUT = 90.0
_MAX_TOPIC_NAME_LENGTH = 249
"""Maximum length of a topic's name. Brokers close the connection of a request with a much longer one."""
_BUSY = (
    group_errors.UnknownMemberIdError,
    group_errors.GroupSubscribedToTopicError,
    group_errors.NonEmptyGroupError,
)


class SinkOffsetError(ConnectError):
    """A request without a partition or an offset that can be used. Java: ``BadRequestException``, that is 400."""

    java_name = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"


def parse(
    offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
) -> dict[TopicPartition, int | None]:
    """The offsets of a request by partition, None for one to reset; raises SinkOffsetError. Numbers may be texts."""
    parsed: dict[TopicPartition, int | None] = {}
    for partition, offset in offsets:
        where = _partition(partition)
        if offset is None:
            parsed[where] = None
        elif "kafka_offset" not in offset:
            raise SinkOffsetError(
                "The offset for a sink connector should either be null or contain the key 'kafka_offset'"
            )
        else:
            parsed[where] = _number(offset["kafka_offset"], 64, "Kafka offset", "Offset")
    return parsed


def _partition(partition: Mapping[str, Any] | None) -> TopicPartition:
    if partition is None:
        raise SinkOffsetError("The partition for a sink connector offset cannot be null or missing")
    if not {"kafka_topic", "kafka_partition"} <= partition.keys():
        raise SinkOffsetError(
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'"
        )
    if partition["kafka_topic"] is None:
        raise SinkOffsetError("Kafka topic names must be valid strings and may not be null")
    if partition["kafka_partition"] is None:
        raise SinkOffsetError("Kafka partitions must be valid numbers and may not be null")
    number = _number(partition["kafka_partition"], 32, "Kafka partition", "Partition")
    return TopicPartition(java_text(partition["kafka_topic"]), number)


def _number(value: Any, bits: int, what: str, kind: str) -> int:
    text = java_text(value)
    number = whole_number(text, bits)
    if number is not None:
        return number
    raise SinkOffsetError(
        f"Failed to parse the following {what} value in the provided offsets: '{text}'. "
        f"{kind} values for sink connectors need to be integers."
    )


def as_json(offsets: Mapping[TopicPartition, int]) -> list[dict[str, Any]]:
    """The form in which ``GET /connectors/{name}/offsets`` shows offsets."""
    return [
        {
            "partition": {"kafka_topic": partition.topic, "kafka_partition": partition.partition},
            "offset": {"kafka_offset": offset},
        }
        for partition, offset in offsets.items()
    ]


class SinkConnectorOffsets:
    """Each request runs in a thread of its own, which calls ``on_done`` with a result or a ConnectError."""

    def __init__(self, worker: Settings) -> None:
        self._worker = worker

    def read(self, connector: Settings, on_done: OnAnswer[dict[TopicPartition, int]]) -> None:
        """Read the offsets that this connector's group has committed, by topic and partition. ``connector`` is its
        configuration with ``name``.
        """
        group, settings, name = consumer_group(self._worker, connector), self._settings(connector), connector["name"]
        in_background(f"offsets-{name}", lambda: _committed(settings, group, name), on_done)

    def write(
        self,
        connector: Settings,
        changes: Mapping[TopicPartition, int | None] | None,
        on_done: OnAnswer[None],
        deadline: Deadline = NO_DEADLINE,
    ) -> None:
        """Alter or reset (None) single offsets, or reset the whole group (no changes); its tasks must have ended.

        After the deadline nothing is changed any more.
        """

        def work() -> None:
            group, name = consumer_group(self._worker, connector), connector["name"]
            with closing(GroupOffsets(self._settings(connector), _client_id(name), deadline)) as offsets:
                if changes is None:
                    _reset(offsets, group, name)
                else:
                    _alter(offsets, group, name, changes)

        in_background(f"offsets-{connector['name']}", work, on_done)

    def _settings(self, connector: Settings) -> dict[str, str]:
        return connector_admin(self._worker, connector, _client_id(connector["name"]))


def _client_id(name: str) -> str:
    return f"connector-worker-adminclient-{name}"


def _alter(offsets: GroupOffsets, group: str, name: str, changes: Mapping[TopicPartition, int | None]) -> None:
    if any(offset is not None and offset < 0 for offset in changes.values()):
        raise ConnectError(f"Failed to modify offsets for sink connector {name}")
    written = {partition: (offset, "") for partition, offset in changes.items() if offset is not None}
    forgotten = [partition for partition, offset in changes.items() if offset is None]
    try:
        if any(len(partition.topic.encode()) > _MAX_TOPIC_NAME_LENGTH for partition in changes):
            raise group_errors.InvalidTopicError(f"The name of a topic has at most {_MAX_TOPIC_NAME_LENGTH} characters")
        if written:
            offsets.commit(group, written, _TIMEOUT)
        if forgotten:
            offsets.forget(group, forgotten, _TIMEOUT)
    except (group_errors.KafkaError, ValueError) as e:  # ValueError: names that can't be encoded
        raise _failed("alter", f"consumer group offsets for connector {name}", e) from e


def _committed(settings: Settings, group: str, name: str) -> dict[TopicPartition, int]:
    try:
        found = committed_offsets(settings, _client_id(name), group, _TIMEOUT)
    except group_errors.KafkaError as e:
        raise ConnectError(f"Failed to retrieve consumer group offsets for sink connector {name}") from ConnectError(
            str(e)
        )
    return dict(sorted(found.items()))


def _reset(offsets: GroupOffsets, group: str, name: str) -> None:
    try:
        offsets.delete(group, _TIMEOUT)
    except group_errors.KafkaError as e:
        sink = "" if isinstance(e, _BUSY) else "sink "
        raise _failed("reset", f"consumer group offsets for {sink}connector {name}", e) from e


def _failed(verb: str, what: str, error: Exception) -> ConnectError:
    log.error("Failed to %s %s: %s", verb, what, sentence(error))
    if not isinstance(error, _BUSY):
        return ConnectError(f"Failed to {verb} {what}")
    return ConnectError(
        f"Failed to {verb} {what} either because its tasks haven't stopped completely yet or the connector was resumed "
        f"before the request to {verb} its offsets could be successfully completed. If the connector is in a stopped "
        "state, this operation can be safely retried. If it doesn't eventually succeed, the Connect cluster may need "
        "to be restarted to get rid of the zombie sink tasks."
    )

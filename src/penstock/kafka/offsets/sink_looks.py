"""Looks at the topics and offsets of many sinks that share a cluster and its credentials, in few requests.

Everything here blocks, for ``LIMIT_S`` seconds a request at most. The clients have the settings of the sinks'
consumers, so that what is shown is what those read.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Self

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from kafka import errors as group_errors
from penstock.api.sink import TopicPartition
from penstock.core.attention.sinks import Partition, Position, SinkLook
from penstock.core.config.sink import TOPICS, TOPICS_REGEX, topics_of
from penstock.java.regex import compile_regex
from penstock.java.regex.pattern import JavaPattern
from penstock.kafka.admin import answer, code_of, is_unreached, sentence
from penstock.kafka.background import Deadline
from penstock.kafka.client_settings import reads_committed, unmatched_topics
from penstock.kafka.clients import SILENT, admin_settings, new_admin, new_consumer
from penstock.kafka.offsets.groups import GroupOffsets

LIMIT_S = 10.0
CLIENT = "penstock-attention"
_AT_ONCE = 200
"""Groups whose offsets are requested at once."""
_MISSING = (BrokerError.UNKNOWN_TOPIC_OR_PART, BrokerError._UNKNOWN_TOPIC, BrokerError._UNKNOWN_PARTITION)


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A sink: its consumer group, and the topics that it names or the pattern that they match."""

    group: str
    topics: tuple[str, ...]
    pattern: JavaPattern | None = None

    @classmethod
    def of(cls, config: Mapping[str, str], group: str) -> Self:
        """Return the sink with this configuration. Raises PatternError."""
        topics = tuple(topics_of(config.get(TOPICS)))
        regex = config.get(TOPICS_REGEX, "").strip()
        return cls(group, topics, compile_regex(regex) if regex and not topics else None)


@dataclass(frozen=True, slots=True)
class _Partitions:
    """Numbers of partitions of topics that exist, and reasons for those of which it is not known."""

    counts: Mapping[str, int]
    unknown: Mapping[str, str]


def look(consumer: Mapping[str, str], sinks: Sequence[LookedAt]) -> list[SinkLook | str]:
    """Return the look at each sink, or the reason why there is none. ``consumer``: the settings that all of them share.

    Raises KafkaException, ConnectError, and kafka-python's errors if the cluster cannot be reached.
    """
    settings = {**admin_settings(consumer), "client.id": CLIENT}
    admin = new_admin(settings, log_level=SILENT)
    wanted = [_topics(sink) for sink in sinks]
    if any(sink.pattern for sink in sinks):
        names = [each for each in admin.list_topics(timeout=LIMIT_S).topics if each not in unmatched_topics(consumer)]
        wanted = [
            topics if sink.pattern is None else tuple(name for name in names if sink.pattern.fullmatch(name))
            for sink, topics in zip(sinks, wanted, strict=True)
        ]
    partitions = _described(admin, {topic for topics in wanted for topic in topics})
    committed = _committed(settings, [sink.group for sink in sinks])
    isolation = isolation_of(consumer)
    places = [(topic, number) for topic, count in partitions.counts.items() for number in range(count)]
    ends, end_errors = _ends(admin, places, OffsetSpec.latest(), isolation)
    starts, start_errors = _ends(admin, places, OffsetSpec.earliest(), isolation)
    errors = {**partitions.unknown, **start_errors, **end_errors}
    return _looks(sinks, wanted, committed, _by_topic(starts, ends), partitions.counts.keys(), errors)


def isolation_of(consumer: Mapping[str, str]) -> IsolationLevel:
    return IsolationLevel.READ_COMMITTED if reads_committed(consumer) else IsolationLevel.READ_UNCOMMITTED


def _by_topic(
    starts: Mapping[Partition, int], ends: Mapping[Partition, int]
) -> dict[str, list[tuple[Partition, int, int]]]:
    """Return the partitions of each topic whose first offset and end are known, with both."""
    found: dict[str, list[tuple[Partition, int, int]]] = {}
    for place, end in ends.items():
        if place in starts:
            found.setdefault(place[0], []).append((place, starts[place], end))
    return found


def _looks(
    sinks: Sequence[LookedAt],
    wanted: Sequence[tuple[str, ...]],
    committed: Mapping[str, Mapping[TopicPartition, int] | str],
    places: Mapping[str, Sequence[tuple[Partition, int, int]]],
    existing: Container[str],
    errors: Mapping[str, str],
) -> list[SinkLook | str]:
    found: list[SinkLook | str] = []
    for sink, topics in zip(sinks, wanted, strict=True):
        offsets = committed[sink.group]
        if isinstance(offsets, str):
            found.append(offsets)
            continue
        positions = {
            place: Position(offsets.get(TopicPartition(*place)), start, end)
            for topic in topics
            for place, start, end in places.get(topic, ())
        }
        unknown = {topic: errors[topic] for topic in topics if topic in errors}
        missing = tuple(topic for topic in topics if topic not in existing and topic not in unknown)
        unmatched = None if sink.pattern is None or topics else sink.pattern.pattern
        found.append(SinkLook(positions, missing, unmatched, unknown))
    return found


def places_with_records(
    consumer: Mapping[str, str], ends: Mapping[Partition, int], positions: Mapping[Partition, int]
) -> dict[Partition, bool]:
    """Return for each of these positions whether there is a record before the end, which may lie behind markers of
    transactions alone. Positions of which that is not known in time are left out.
    """
    settings = {**consumer, "group.id": CLIENT, "client.id": CLIENT, "auto.offset.reset": "earliest"}
    reader = new_consumer(settings, **{"enable.partition.eof": True, "log_level": SILENT})
    found: dict[Partition, bool] = {}
    try:
        reader.assign([ClientPartition(topic, number, at) for (topic, number), at in positions.items()])
        give_up = time.monotonic() + LIMIT_S
        while len(found) < len(positions) and time.monotonic() < give_up:
            message = reader.poll(0.5)
            if message is None:
                continue
            topic, number = message.topic(), message.partition()
            if topic is None or number is None:
                continue
            error = message.error()
            if error is None:
                found.setdefault((topic, number), (message.offset() or 0) < ends[topic, number])
            elif error.code() == BrokerError._PARTITION_EOF:
                found.setdefault((topic, number), False)
    finally:
        reader.close()
    return found


def _topics(sink: LookedAt) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sink.topics))


def _described(admin: AdminClient, topics: Iterable[str]) -> _Partitions:
    """Raises KafkaException if no broker answers."""
    counts: dict[str, int] = {}
    unknown: dict[str, str] = {}
    names = sorted(topics)
    asked = admin.describe_topics(TopicCollection(names), request_timeout=LIMIT_S) if names else {}
    for name, future in asked.items():
        try:
            counts[name] = len(answer(future, LIMIT_S).partitions)
        except KafkaException as error:
            if is_unreached(error) and not counts:
                raise
            if code_of(error) not in _MISSING:
                unknown[name] = sentence(error)
    return _Partitions(counts, unknown)


def offsets_at(
    admin: AdminClient, places: Iterable[Partition], spec: OffsetSpec, isolation: IsolationLevel
) -> tuple[dict[Partition, int], dict[str, str]]:
    """Return the offsets of partitions, and the reasons for topics with some that could not be read. Blocks.

    An offset is negative if there is none for a time, and of the first and last ones if the leader can't be reached.
    """
    asked = {ClientPartition(topic, number): spec for topic, number in places}
    found: dict[Partition, int] = {}
    errors: dict[str, str] = {}
    if not asked:
        return found, errors
    for where, future in admin.list_offsets(asked, isolation_level=isolation, request_timeout=LIMIT_S).items():
        try:
            found[where.topic, where.partition] = answer(future, LIMIT_S).offset
        except KafkaException as error:
            errors[where.topic] = f"partition {where.partition}: {sentence(error)}"
    return found, errors


def _ends(
    admin: AdminClient, places: Iterable[Partition], spec: OffsetSpec, isolation: IsolationLevel
) -> tuple[dict[Partition, int], dict[str, str]]:
    """Return the first or last offsets of partitions, as ``offsets_at``; partitions without a leader are errors."""
    found, errors = offsets_at(admin, places, spec, isolation)
    for topic, number in [place for place, offset in found.items() if offset < 0]:
        del found[topic, number]
        errors[topic] = f"partition {number}: its leader does not answer"
    return found, errors


def _committed(settings: Mapping[str, str], groups: Sequence[str]) -> dict[str, dict[TopicPartition, int] | str]:
    """Return the committed offsets of each group, or the reason why they are not known."""
    found: dict[str, dict[TopicPartition, int] | str] = {}
    names = list(dict.fromkeys(groups))
    with closing(GroupOffsets(settings, CLIENT, Deadline.after(4 * LIMIT_S))) as offsets:
        for begin in range(0, len(names), _AT_ONCE):
            part = names[begin : begin + _AT_ONCE]
            try:
                found |= offsets.committed_by_group(part, LIMIT_S)
            except group_errors.BrokerResponseError as error:
                if error.retriable:
                    raise
                for group in part:  # one of them has failed all
                    found[group] = _alone(offsets, group)
    return found


def _alone(offsets: GroupOffsets, group: str) -> dict[TopicPartition, int] | str:
    try:
        return {place: offset for place, (offset, _) in offsets.committed(group, LIMIT_S).items()}
    except group_errors.BrokerResponseError as error:
        return f"the offsets of group {group} could not be read: {sentence(error)}"

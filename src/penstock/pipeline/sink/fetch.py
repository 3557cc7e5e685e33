"""Fetching records: lists of messages from the consumer, and columns of bytes made of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import chain
from typing import Any

import confluent_kafka as ck
from confluent_kafka import Consumer, Message

from penstock.api.batch import NO_HEADERS, Batch, SinkOrigin
from penstock.api.columns import Late
from penstock.api.sink import TopicPartition
from penstock.kafka.admin import may_pass
from penstock.kafka.headers import headers_of
from penstock.pipeline.broker_errors import broker_error
from penstock.pipeline.sink.batch import FetchedBatch

log = logging.getLogger(__name__)

_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")


class FetchedRecords:
    """Fetches the records of a sink task."""

    def __init__(self, consumer: Consumer, limit: int, ends: dict[TopicPartition, int]) -> None:
        """``limit``: the maximum number of records of a fetch. ``ends`` gets the end of each partition of which
        everything was fetched.
        """
        self._consumer, self._limit, self._ends = consumer, limit, ends
        self.removed: set[TopicPartition] = set()
        """Partitions that were revoked or lost within the current fetch; added by the consumer's callbacks."""
        self.last_time: int | None = None
        """The timestamp of the last record that was fetched."""

    def poll(self, seconds: float) -> list[Message]:
        """Return messages as soon as there is one. Rebalances happen within this call.

        ``Consumer.poll`` waits for the first message, ``consume`` without a timeout takes those that have arrived;
        ``consume`` alone would wait for the whole timeout.
        Raises an error with Java's class name for an error that is not transient.
        """
        first = self._consumer.poll(seconds)
        if first is None:
            return []
        self.removed.clear()
        messages = [first, *self._consumer.consume(self._limit - 1, 0)] if self._limit > 1 else [first]
        if self.removed and (first.topic(), first.partition()) in self.removed:
            # It was fetched before its partition was revoked. librdkafka drops all other messages of the partition.
            del messages[0]
        if any(map(Message.error, messages)):
            messages = [message for message in messages if not _is_error(message, self._ends)]
        return messages

    def batch(self, messages: list[Message], only: TopicPartition | None) -> FetchedBatch:
        """Return the records as they are read; ``only``: the partition that is assigned, if it is one."""
        kind, written = messages[-1].timestamp()
        self.last_time = written if kind else None
        return FetchedBatch.of(raw_batch(messages, only), only)


def _is_error(message: Message, ends: dict[TopicPartition, int]) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() == ck.KafkaError._PARTITION_EOF:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if topic is not None and partition is not None and offset is not None:
            ends[TopicPartition(topic, partition)] = offset
        return True
    if error.fatal() or not (error.code() == ck.KafkaError._MAX_POLL_EXCEEDED or may_pass(error)):
        raise broker_error(error, f"topic {message.topic()}" if message.topic() else "")
    log.warning("While fetching from topic %s: %s", message.topic(), error.str())
    return True


def raw_batch(messages: list[Message], only: TopicPartition | None = None) -> Batch:
    """Return columns of bytes; headers are pairs of name and bytes. ``only``: the partition of all messages, if it is
    known.

    Timestamps are read when they are first used: they cost as much as all other columns.
    """
    n = len(messages)
    topics: list[Any] = [only.topic] * n if only else _shared(list(map(Message.topic, messages)))
    partitions: list[Any] = [only.partition] * n if only else list(map(Message.partition, messages))
    headers: list[Any] = headers_of(messages)
    stamps = Late(lambda: list(chain.from_iterable(map(Message.timestamp, messages))))
    times = Late(lambda: _times(stamps.get()[1::2]))
    types = Late(lambda: _types(stamps.get()[::2]))
    return Batch.of(
        topics,
        list(map(Message.value, messages)),
        keys=list(map(Message.key, messages)),
        partitions=partitions,
        timestamps=times,
        headers=[tuple(row) if row else NO_HEADERS for row in headers] if any(headers) else None,
        origin=SinkOrigin(topics, partitions, _offsets(messages, only), types),
    )


def _times(read: list[int]) -> list[Any]:
    return read if not read or min(read) >= 0 else [time if time >= 0 else None for time in read]


def _types(kinds: list[int]) -> list[str]:
    """Return the types of timestamps; one object if all are equal, as they are in a topic."""
    if kinds and kinds.count(kinds[0]) == len(kinds):
        return [_TYPES[kinds[0]]] * len(kinds)
    return [_TYPES[kind] for kind in kinds]


def _offsets(messages: list[Message], only: TopicPartition | None) -> Sequence[Any]:
    """Return the offsets. Those of one partition rise: if the last is as far from the first as there are messages, they
    have no gap.
    """
    if only and messages:
        first, last = messages[0].offset(), messages[-1].offset()
        if first is not None and last is not None and last - first == len(messages) - 1:
            return range(first, last + 1)
    return list(map(Message.offset, messages))


def _shared(topics: list[Any]) -> list[Any]:
    """Return the same topics; one object if all are equal, which is quick to count and to look up."""
    return topics[:1] * len(topics) if topics and topics.count(topics[0]) == len(topics) else topics

"""The consumer for connectors, and the errors of all their clients of Kafka (``penstock.api.kafka``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import TopicPartition as ClientPartition

from kafka import errors as group_errors
from penstock.api.kafka import KafkaRecords, KafkaRequestError
from penstock.api.record import Header
from penstock.api.schema import BYTES, OPTIONAL_BYTES
from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.kafka.admin import is_unreached, sentence
from penstock.kafka.headers import headers_of
from penstock.kafka.statistics import ClientStatistics
from penstock.kafka.topic_guard import TopicGuard

log = logging.getLogger(__name__)

STATISTICS_MS = 30_000
"""Consumers of connectors may read thousands of partitions, each of which is in the statistics."""


def request_error(error: BrokerError) -> KafkaRequestError:
    return KafkaRequestError(str(error.str()), str(error.name()), unreached=is_unreached(KafkaException(error)))


def failure(error: KafkaException) -> KafkaRequestError:
    if error.args and isinstance(error.args[0], BrokerError):
        return request_error(error.args[0])
    return KafkaRequestError(sentence(error), "_FAIL")


class asking:
    """Turns the errors of both clients into KafkaRequestError; ``heard`` is called with that error, or with nothing.

    The trace of the error names the ``client``, if it is given: a connector may have several, of several clusters.

    Not by ``contextlib.contextmanager``, which since Python 3.12 leaves the first error in a reference cycle.
    """

    def __init__(self, heard: Callable[[list[object]], None] = lambda outcomes: None, client: str = "") -> None:
        self._heard, self._client = heard, client

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        failed: KafkaRequestError | None = None
        if isinstance(error, KafkaRequestError):
            failed = error
        elif isinstance(error, KafkaException):
            failed = failure(error)
        elif isinstance(error, group_errors.KafkaError):
            code = str(getattr(error, "message", type(error).__name__))
            failed = KafkaRequestError(str(error), code, unreached=bool(error.retriable))
        try:
            if failed is not None:
                if self._client:
                    failed.add_note(f"The request was sent by the client {self._client}.")
                self._heard([failed])
                if failed is not error:
                    raise failed from error
            elif error is None:
                self._heard([])
        finally:
            del failed  # no reference cycle


class ConnectorConsumer:
    """``KafkaConsumer`` of librdkafka; a client that has lost its brokers is replaced."""

    def __init__(self, make: Callable[..., Consumer], guard: TopicGuard) -> None:
        """``make`` gets settings of librdkafka, for statistics."""
        self._make, self._guard = make, guard
        self._assigned: Mapping[TopicPartition, int] = {}
        self._use_another()

    def _use_another(self) -> None:
        statistics = ClientStatistics("consumer", "")
        self._consumer = self._make(**statistics.settings(STATISTICS_MS))
        self._statistics = statistics

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._guard.check_read({each.topic for each in positions})
        self._assigned = dict(positions)
        with asking():
            self._consumer.assign([_client_partition(each, offset) for each, offset in positions.items()])

    def fetch(self, max_records: int, seconds: float) -> KafkaRecords | None:
        with asking():
            first = self._consumer.poll(seconds)
            if first is None:
                if self._statistics.lost:
                    self._begin_again()
                return None
            messages = [first, *self._consumer.consume(max_records - 1, 0)] if max_records > 1 else [first]
        ended: list[TopicPartition] = []
        errors: list[tuple[str, KafkaRequestError]] = []
        if any(list(map(Message.error, messages))):
            messages = [each for each in messages if not _noted(each, ended, errors)]
        headers: list[Any] = headers_of(messages)
        topics: list[Any] = list(map(Message.topic, messages))
        partitions: list[Any] = list(map(Message.partition, messages))
        last: Iterable[Message] = messages[-1:]
        if len(self._assigned) > 1:
            last = dict(zip(zip(topics, partitions, strict=True), messages, strict=True)).values()
        return KafkaRecords(
            topics,
            partitions,
            list(map(Message.offset, messages)),  # type: ignore[arg-type]
            [time for _, time in map(Message.timestamp, messages)],
            list(map(Message.key, messages)),
            list(map(Message.value, messages)),
            list(map(_headers, headers)) if headers.count(None) < len(headers) else None,
            tuple(ended),
            tuple(errors),
            {(each.topic() or "", each.partition() or 0): each.leader_epoch() for each in last},
        )

    def _begin_again(self) -> None:
        log.warning("A connector's consumer has lost all its brokers; replacing it by a new one")
        reached = {each: at for each, at in self.positions().items() if at is not None}
        lost = self._consumer
        self._use_another()
        lost.close()
        self.assign({**self._assigned, **reached})

    def positions(self) -> dict[TopicPartition, int | None]:
        with asking():
            found = self._consumer.position([ClientPartition(*each) for each in self._assigned])
        return {
            partition: each.offset if each.offset >= 0 else None
            for partition, each in zip(self._assigned, found, strict=True)
        }

    def ends(self) -> dict[TopicPartition, int | None]:
        with asking():
            found = [
                self._consumer.get_watermark_offsets(ClientPartition(*each), cached=True)[1] for each in self._assigned
            ]
        return {each: end if end >= 0 else None for each, end in zip(self._assigned, found, strict=True)}

    def check_topic(self, topic: str, timeout: float) -> None:
        with asking():
            found = self._consumer.list_topics(topic, timeout).topics.get(topic)
        if found is None:
            raise KafkaRequestError("it does not exist", "UNKNOWN_TOPIC_OR_PART")
        if found.error:
            raise request_error(found.error)

    def close(self) -> None:
        self._consumer.close()


def _client_partition(partition: TopicPartition, offset: int) -> ClientPartition:
    if isinstance(offset, OffsetAndMetadata) and offset.leader_epoch is not None:
        return ClientPartition(*partition, offset, leader_epoch=offset.leader_epoch)
    return ClientPartition(*partition, offset)


def _noted(message: Message, ended: list[TopicPartition], errors: list[tuple[str, KafkaRequestError]]) -> bool:
    """Note what is no record; return whether the message is none."""
    error = message.error()
    if error is None:
        return False
    topic = message.topic() or ""
    if error.code() == BrokerError._PARTITION_EOF:
        ended.append(TopicPartition(topic, message.partition() or 0))
    else:
        errors.append((topic, request_error(error)))
    return True


def _headers(pairs: list[tuple[str, bytes | None]] | None) -> tuple[Header, ...]:
    if not pairs:
        return ()
    return tuple([Header(name, OPTIONAL_BYTES if value is None else BYTES, value) for name, value in pairs])

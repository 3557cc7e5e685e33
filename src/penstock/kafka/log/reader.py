"""Reading the topic of a log, from the positions it has reached, on one thread.

A consumer that delivers nothing of a partition while a caller waits for records there that exist is replaced:
librdkafka was seen to stop for good with one of several partitions after the leader had come back with another epoch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as BrokerError

from penstock.kafka.clients import SILENT, new_consumer
from penstock.kafka.headers import headers_of
from penstock.kafka.log.outages import Outage
from penstock.kafka.log.progress import Ends, ReadProgress
from penstock.kafka.security.authorization import NotAllowedError, missing_right
from penstock.kafka.security.settings import Security
from penstock.kafka.standstill import Standstill
from penstock.kafka.statistics import own

log = logging.getLogger(__name__)

_BATCH = 1000
_IDLE_POLL = 0.3
_IDLE_FETCH_MS = 5000
"""Time that a broker may wait for records before it answers a fetch with none; it answers at once if there are some.
Java's 500 would let an idle worker fetch each of its topics twice a second.
"""
_GONE = (BrokerError.UNKNOWN_TOPIC_OR_PART, BrokerError._UNKNOWN_TOPIC)


class ConsumedMessage(Protocol):
    """A record or the end of a partition (``enable.partition.eof``), as the consumer returns them.

    Both have a partition and an offset, which are optional in the client's own type for the sake of other messages.
    """

    def error(self) -> BrokerError | None: ...
    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def timestamp(self) -> tuple[int, int]: ...


class LogRecord(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = None
    """None if the broker has none."""
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LogClients:
    """Settings of the log's clients, as Java's (``client_settings.internal``)."""

    consumer: Mapping[str, str]
    producer: Mapping[str, str]
    admin: Mapping[str, str]
    read_committed: bool = False
    transactions: bool = False
    """Whether records are written in transactions. Only another fetch shows that one ended, so fetches are short."""


class LogReader:
    """Made when reading begins (``ReadProgress.begin`` has been called); ``close`` at the end."""

    def __init__(
        self,
        topic: str,
        clients: LogClients,
        reads: ReadProgress,
        on_records: Callable[[list[LogRecord]], None],
        outage: Outage,
        readable: Callable[[Iterable[int]], Ends],
    ) -> None:
        """``readable`` asks the brokers, briefly, up to where these partitions can be read now; it raises
        KafkaException.
        """
        self._topic, self._clients, self._reads = topic, clients, reads
        self._on_records, self._outage, self._readable = on_records, outage, readable
        self._standstill = Standstill[int]()
        self._consumer = self._new_consumer()

    def turn(self) -> bool:
        """Deliver what has come, waiting a moment for it; False if the topic is deleted. Raises NotAllowedError."""
        there, first = True, self._consumer.poll(_IDLE_POLL)
        if first is not None:
            there = self._deliver(cast("list[ConsumedMessage]", [first, *self._consumer.consume(_BATCH, 0)]))
        if still := self._standstill.check(missing := self._reads.missing(), time.monotonic()):
            if self._is_to_blame(still):
                self._replace_consumer(missing)
            else:
                self._standstill.forget()
        return there

    def close(self) -> None:
        self._consumer.close()

    def _is_to_blame(self, still: Mapping[int, int]) -> bool:
        """Whether brokers have what the consumer does not deliver: it waits for brokers that do not answer, and for the
        end of open transactions.
        """
        try:
            ends = self._readable(still)
        except KafkaException:
            return False
        return any(at < ends[partition] for partition, at in still.items())

    def _replace_consumer(self, missing: Mapping[int, tuple[int, int]]) -> None:
        log.info(
            "The consumer of topic `%s` delivers nothing of a partition for %.0f s; replacing it by a new one (%s)",
            self._topic,
            self._standstill.tolerated,
            ", ".join(f"partition {p} at {at}, waited for {end}" for p, (at, end) in missing.items()),
        )
        self._consumer.close()
        self._consumer = self._new_consumer()
        self._standstill.acted()

    def _new_consumer(self) -> Consumer:
        native: dict[str, Any] = {
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if self._clients.read_committed else "read_uncommitted",
            "fetch.error.backoff.ms": 50,
            "error_cb": self._outage.heard,
            "log_level": SILENT,
            **own("consumer", self._clients.consumer.get("client.id", "")).settings(),
        }
        if self._clients.transactions or self._clients.read_committed:
            native["fetch.wait.max.ms"] = 50
        elif "fetch.max.wait.ms" not in self._clients.consumer:
            native["fetch.wait.max.ms"] = _IDLE_FETCH_MS
        consumer = new_consumer(self._clients.consumer, **native)
        consumer.assign([TopicPartition(self._topic, *position) for position in self._reads.positions().items()])
        return consumer

    def _deliver(self, messages: list[ConsumedMessage]) -> bool:
        """Pass the records on and note the positions."""
        records, positions, there = list[LogRecord](), dict[int, int](), True
        for message, headers in zip(messages, headers_of(cast("list[Message]", messages)), strict=True):
            error = message.error()
            if error is None:
                partition, offset = message.partition(), message.offset()
                kind, timestamp = message.timestamp()
                time_ms = None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp
                records.append(
                    LogRecord(partition, offset, message.key(), message.value(), time_ms, tuple(headers or ()))
                )
                positions[partition] = offset + 1
            elif error.code() == BrokerError._PARTITION_EOF:
                positions[message.partition()] = message.offset()
            elif error.code() in _GONE:
                there = False
            else:
                self._problem(error)
        if records:
            self._on_records(records)
        if positions:
            self._outage.end()
            self._reads.passed(positions)
        return there

    def _problem(self, error: BrokerError) -> None:
        # The consumer is no member of its group, so it needs no right to the group.
        if error.code() == BrokerError.GROUP_AUTHORIZATION_FAILED:
            return
        principal = Security.of(self._clients.consumer).principal
        if problem := missing_right(error.code(), principal, "READ", self._topic):
            raise NotAllowedError(problem)
        self._outage.begin(error.str())

"""The position of a query: the offsets of its connector's consumer group, which has no members.

Nothing else is kept between two runs; Spark's checkpoint is scratch. Before a batch is written, its start is
committed together with its number and its end, in the metadata of the offsets. A run that finds such an unfinished
batch writes exactly this batch again under the same number, so that a target that records the batches of a connector
recognizes it. Numbers begin at 1 in an *epoch*; a group that was reset, or altered in all partitions, begins a new one.

A group without members accepts commits of any client. So commits are transactions, under the id that KIP-618 gives to
the transactions of a task: a run that is still alive somewhere, cut off from its cluster, is fenced and begins no batch
once another run has started.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka import KafkaError as BrokerError

from penstock.api.errors import ConnectError, RetriableError
from penstock.kafka.clients import init_transactions
from penstock.pipeline.broker_errors import broker_error, is_fenced

log = logging.getLogger(__name__)

T = TypeVar("T")
Partition = tuple[str, int]
SECONDS = 30.0
"""How long to retry while no broker answers."""
_AWAY = (
    BrokerError._TRANSPORT,
    BrokerError._ALL_BROKERS_DOWN,
    BrokerError._TIMED_OUT,
    BrokerError._RESOLVE,
    BrokerError._WAIT_COORD,
)


def failed(what: str, error: BrokerError) -> ConnectError:
    """The error to raise, from ``broker_error``: a RetriableError if the brokers may recover."""
    return (RetriableError if error.retriable() or error.code() in _AWAY else ConnectError)(what)


@dataclass(frozen=True, slots=True)
class Version:
    """The name of a batch: the same whenever it is written, by whichever run."""

    epoch: str
    number: int

    def next(self) -> Version:
        return Version(self.epoch, self.number + 1)


@dataclass(frozen=True, slots=True)
class Span:
    """The records of a batch: of each partition those from ``start`` up to, but without, ``end``."""

    start: Mapping[Partition, int]
    end: Mapping[Partition, int]


@dataclass(frozen=True, slots=True)
class Progress:
    """The group's last batch, its offsets, and the batch that was begun and may not have been written."""

    version: Version
    offsets: Mapping[Partition, int]
    unfinished: Span | None = None


@dataclass(frozen=True, slots=True)
class _Committed:
    epoch: str = ""
    number: int = 0
    end: int | None = None

    @classmethod
    def of(cls, metadata: str | None) -> _Committed:
        try:
            found: Any = orjson.loads(metadata or "{}")
            return cls(str(found.get("epoch", "")), int(found.get("version", 0)), found.get("end"))
        except (ValueError, TypeError, AttributeError):
            return cls()  # another client's metadata

    def text(self) -> str:
        known = {"epoch": self.epoch, "version": self.number}
        return orjson.dumps(known if self.end is None else {**known, "end": self.end}).decode()


@dataclass(slots=True)
class GroupOffsets:
    """The offsets of the connector's group: read by a consumer that never subscribes, committed by a transactional
    producer. Raises KafkaError, a RetriableError where the brokers may recover.
    """

    consumer: Consumer
    producer: Producer | None
    offsets: dict[Partition, int] = field(default_factory=dict)
    """What is committed, as far as this object has read or committed it."""
    claimed: bool = False

    def claim(self) -> None:
        """Called before anything is read, until it succeeds: from now on no earlier run can commit."""
        if self.claimed or self.producer is None:
            return
        try:
            self.producer.list_topics(timeout=SECONDS)
        except KafkaException as e:
            raise failed("No broker answers", e.args[0]) from broker_error(e.args[0])
        try:
            init_transactions(self.producer, SECONDS)
            self.claimed = True
        except KafkaException as e:
            log.warning(
                "Transactions can't be used (%s); committing the offsets of the connector without them. "
                "An earlier run that is cut off from its cluster can then still commit.",
                e.args[0].str(),
            )
            self.producer = None

    def read(self, partitions: Iterable[Partition]) -> Progress:
        wanted = [TopicPartition(*partition) for partition in partitions]
        try:
            answers = _tried("read", lambda: self.consumer.committed(wanted, timeout=30))
        except KafkaException as e:
            raise failed("The offsets of the connector's group can't be read", e.args[0]) from broker_error(e.args[0])
        known = {(a.topic, a.partition): (a.offset, _Committed.of(a.metadata)) for a in answers if a.offset >= 0}
        self.offsets |= {partition: offset for partition, (offset, _) in known.items()}
        last = max((c for _, c in known.values() if c.epoch), key=lambda c: c.number, default=None)
        if last is None:
            return Progress(Version(secrets.token_hex(4), 0), self.offsets)
        ends = {
            partition: c.end
            for partition, (_, c) in known.items()
            if c.end is not None and (c.epoch, c.number) == (last.epoch, last.number)
        }
        if not ends:
            return Progress(Version(last.epoch, last.number), self.offsets)
        span = Span({partition: self.offsets[partition] for partition in ends}, ends)
        return Progress(Version(last.epoch, last.number - 1), self.offsets, span)

    def begin(self, version: Version, span: Span) -> None:
        """Called before a batch is written."""
        committed = {p: _Committed(version.epoch, version.number, end) for p, end in span.end.items()}
        self._commit(span.start, committed)

    def done(self, version: Version, span: Span) -> None:
        """Called after it has been written."""
        self._commit(span.end, dict.fromkeys(span.end, _Committed(version.epoch, version.number)))

    def _commit(self, offsets: Mapping[Partition, int], metadata: Mapping[Partition, _Committed]) -> None:
        wanted = [
            TopicPartition(topic, partition, offset, metadata[topic, partition].text())
            for (topic, partition), offset in offsets.items()
        ]
        try:
            if self.producer is None:
                _tried("committed", lambda: self.consumer.commit(offsets=wanted, asynchronous=False))
            else:
                self._transact(self.producer, wanted)
        except KafkaException as e:
            if is_fenced(e.args[0]):
                raise ConnectError("Another run of this task has been started, and this one ends") from None
            raise failed("The offsets of the connector's group can't be committed", e.args[0]) from broker_error(
                e.args[0]
            )
        self.offsets.update(offsets)

    def _transact(self, producer: Producer, wanted: list[TopicPartition]) -> None:
        group = self.consumer.consumer_group_metadata()
        producer.begin_transaction()
        try:
            _tried("committed", lambda: producer.send_offsets_to_transaction(wanted, group, SECONDS))
            _tried("committed", lambda: producer.commit_transaction(SECONDS))
        except KafkaException:
            with contextlib.suppress(KafkaException):
                producer.abort_transaction(SECONDS)
            raise


def _tried(what: str, ask: Callable[[], T]) -> T:
    """The answer; retries retriable errors for a while. Raises KafkaException."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            return ask()
        except KafkaException as e:
            error = e.args[0]
            if not error.retriable() or time.monotonic() > until:
                raise
            log.warning("The offsets of the connector's group can't be %s yet: %s", what, error.str())
            time.sleep(0.5)

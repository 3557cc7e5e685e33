"""The position of a query: the offsets of its connector's consumer group, which has no members.

Nothing else is kept between two runs; Spark's checkpoint is scratch. ``progress`` says what the metadata of the offsets
means.

A group without members accepts commits of any client. So commits are transactions, under the id that KIP-618 gives to
the transactions of a task: a run that is still alive somewhere, cut off from its cluster, is fenced and begins no batch
once another run has started.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka import KafkaError as BrokerError

from kafka import errors as group_errors
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.query import BatchVersion
from penstock.kafka.client_settings import Settings, transactional_producer
from penstock.kafka.clients import AT_GROUPS, HANGS_SECONDS, init_transactions, new_producer
from penstock.kafka.fencing import FENCING_IMPOSSIBLE
from penstock.pipeline.broker_errors import broker_error, is_fenced
from penstock.pipeline.task import TaskFencedError
from penstock.spark.query.asking import SECONDS, asked, failed
from penstock.spark.query.sink.progress import (
    Committed,
    GroupProgress,
    OffsetNote,
    Partition,
    Span,
    progress,
)

log = logging.getLogger(__name__)

SEND_SECONDS = 10.0
"""For each request of the producer, if its request.timeout.ms is not set. If the brokers do not answer in time when
offsets are sent, the transaction is aborted."""


@dataclass(slots=True)
class QueryOffsets:
    """The offsets of the connector's group: committed by a transactional producer, in the name of a consumer that never
    subscribes. Raises KafkaError, a RetriableError where the brokers may recover, and TaskFencedError when another run
    has claimed the transactional id, or a transaction could be neither committed nor aborted.
    """

    known: Callable[[], Collection[Partition]]
    """The partitions for which the group has offsets; raises kafka-python's errors."""
    consumer: Consumer
    """One that reads only committed transactions: it waits for the end of those that commit offsets."""
    make_producer: Callable[[], Producer]
    aborted: Callable[[], bool]
    """Whether the task has been aborted: then nothing is waited for, and AbortedError is raised."""
    root: str = ""
    """The root of epochs that was requested last, see ``progress``."""
    offsets: dict[Partition, int] = field(default_factory=dict)
    """The committed offsets, as far as this object has read or committed them."""
    producer: Producer | None = None
    """The one that has claimed the transactional id; None before, and if commits are no transactions."""
    claimed: bool = False
    unfenced: str | None = None
    """Why commits are no transactions, as a sentence; None if they are."""

    def claim(self) -> None:
        """Called before anything is read, until it succeeds: from now on no earlier run can commit.

        Only where the brokers don't know or don't allow transactions, the offsets are committed without them.
        """
        if self.claimed:
            return
        # A new one for each try: one may have given up all its brokers.
        producer = self.producer = self.make_producer()
        try:
            asked("the brokers have answered", lambda: producer.list_topics(timeout=SECONDS), self.aborted)
        except KafkaException as e:
            raise failed("No broker answers", e.args[0]) from broker_error(e.args[0])
        try:
            asked("the transactional id was claimed", lambda: init_transactions(producer, SECONDS), self.aborted)
        except KafkaException as e:
            if e.args[0].code() not in FENCING_IMPOSSIBLE:
                raise failed("The transactional id can't be claimed", e.args[0]) from broker_error(e.args[0])
            self.unfenced = (
                f"Transactions can't be used ({e.args[0].str()}), so the offsets of the connector are committed "
                "without them: an earlier run that is cut off from its cluster can still commit"
            )
            log.warning("%s", self.unfenced)
            self.producer = None
        self.claimed = True

    def read(self, assigned: Collection[Partition]) -> GroupProgress:
        """Read all of the group's offsets, also of other topics; return where to continue in these partitions."""
        found = progress(self._read(assigned), assigned, self.root)
        self.offsets = dict(found.offsets)
        return found

    def renew(self) -> None:
        """Commit all that the group has once more.

        Brokers delete the offsets of a group without members ``offsets.retention.minutes`` after their commit.
        """
        self.claim()
        if committed := self._read(()):
            offsets = {partition: offset for partition, (offset, _) in committed.items()}
            self._commit(offsets, {partition: note for partition, (_, note) in committed.items()})

    def begin(self, version: BatchVersion, span: Span) -> None:
        """Called before a batch is written."""
        self._commit(span.start, {p: _note(version, span, p, end) for p, end in span.end.items()})

    def done(self, version: BatchVersion, span: Span) -> None:
        """Called after it has been written."""
        self._commit(span.end, {p: _note(version, span, p, None) for p in span.end})

    def _read(self, assigned: Collection[Partition]) -> Committed:
        try:
            known = asked("the group's offsets were listed", self.known, self.aborted)
            return self._committed({*known, *assigned})
        except group_errors.KafkaError as e:
            kind = RetriableError if e.retriable else ConnectError
            raise kind(f"The offsets of the connector's group can't be listed: {e}") from e
        except KafkaException as e:
            raise failed("The offsets of the connector's group can't be read", e.args[0]) from broker_error(e.args[0])

    def _committed(self, partitions: Collection[Partition]) -> dict[Partition, tuple[int, OffsetNote]]:
        wanted = [TopicPartition(*partition) for partition in sorted(partitions)]

        def ask() -> list[TopicPartition]:
            answers: list[TopicPartition] = self.consumer.committed(wanted, timeout=SECONDS)
            for answer in answers:
                if answer.error is not None:
                    raise KafkaException(answer.error)
            return answers

        answers = asked("the group's offsets were read", ask, self.aborted) if wanted else []
        return {(a.topic, a.partition): (a.offset, OffsetNote.of(a.metadata)) for a in answers if a.offset >= 0}

    def _commit(self, offsets: Mapping[Partition, int], metadata: Mapping[Partition, OffsetNote]) -> None:
        wanted = [
            TopicPartition(topic, partition, offset, metadata[topic, partition].text())
            for (topic, partition), offset in offsets.items()
        ]
        try:
            if self.producer is None:
                asked(
                    "the group's offsets were committed",
                    lambda: self.consumer.commit(offsets=wanted, asynchronous=False),
                    self.aborted,
                )
            else:
                self._transact(self.producer, wanted)
        except KafkaException as e:
            if is_fenced(e.args[0]):
                raise TaskFencedError("Another run of this task has been started, and this one ends") from None
            if e.args[0].fatal() or e.args[0].code() == BrokerError._STATE:
                raise _useless(e.args[0]) from None
            raise failed("The offsets of the connector's group can't be committed", e.args[0]) from broker_error(
                e.args[0]
            )
        self.offsets.update(offsets)

    def _transact(self, producer: Producer, wanted: list[TopicPartition]) -> None:
        group = self.consumer.consumer_group_metadata()
        producer.begin_transaction()
        try:
            self._send(lambda: producer.send_offsets_to_transaction(wanted, group, SEND_SECONDS))
            asked("the group's offsets were committed", lambda: producer.commit_transaction(SECONDS), self.aborted)
        except KafkaException as e:
            if not is_fenced(e.args[0]):
                self._abort(producer)
            raise

    def _send(self, send: Callable[[], None]) -> None:
        """librdkafka 2.16 waits for its own answer without a limit here, and without end for a coordinator that it
        remembers and that is none of its brokers any more.
        """
        asked("the group's offsets were sent", send, self.aborted, SEND_SECONDS + HANGS_SECONDS)

    def _abort(self, producer: Producer) -> None:
        """A producer that can't abort its transaction begins no other. Raises TaskFencedError."""
        try:
            asked("the transaction was aborted", lambda: producer.abort_transaction(SECONDS), self.aborted)
        except KafkaException as e:
            raise _useless(e.args[0]) from None


def _note(version: BatchVersion, span: Span, partition: Partition, end: int | None) -> OffsetNote:
    return OffsetNote(version.epoch, version.number, end, span.topics.get(partition[0], ""))


def committing_producer(worker: Settings, connector: Settings, client_id: str, id: str) -> Producer:
    """The producer of a run, whose transactional id this is. Raises ConfigError, and KafkaError if it can't be made."""
    defaults = {**AT_GROUPS, "request.timeout.ms": str(int(SEND_SECONDS * 1000))}
    return new_producer({**defaults, **transactional_producer(worker, connector, client_id, id)})


def _useless(error: BrokerError) -> TaskFencedError:
    """Only a new run may claim the transactional id: it is confirmed before, and this one may have a successor."""
    return TaskFencedError(f"The offsets of the connector's group can't be committed in this run: {error.str()}")

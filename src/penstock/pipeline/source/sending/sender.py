"""Sending records to Kafka: the loop around ``Producer.produce``, with back-pressure and errors.

There is no callback per record: librdkafka reports failed deliveries only, to ``failed``; a commit policy that must
know that records have arrived flushes. For tasks that want each acknowledgement ``send`` takes callbacks.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import starmap
from operator import length_hint
from typing import Any

import confluent_kafka as ck

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.kafka.log.writer import Headers
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.broker_errors import broker_error, keyless_record
from penstock.pipeline.errors import PipelineStage, RecordFailure
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.source.sending.arguments import arguments_of
from penstock.pipeline.source.sending.topic_limits import MAX_BLOCK, MissingPartitions, TopicLimits, serialized_sizes
from penstock.pipeline.task import TaskFencedError
from penstock.values.repeated import distinct, only_nulls

log = logging.getLogger(__name__)

Delivered = Callable[[ck.KafkaError | None, Any], None]
"""Callback for a record: it gets an error or None, and the message, which is None if the producer refused the record.
"""
Put = tuple[str, bytes | None, bytes | None] | tuple[str, bytes | None, bytes | None, Headers]
"""The arguments of ``Sender.put``: topic, key and value, and headers if there are any."""
STATISTICS_SECONDS, LONG_STATISTICS_SECONDS = 1.0, 5.0
"""The interval of statistics for policies that ask what is in flight, and for figures only."""
_IN_FLIGHT = ("msgq_cnt", "xmit_msgq_cnt", "msgs_inflight")
_BATCH_REFUSED = (ck.KafkaError.INVALID_RECORD, ck.KafkaError._INVALID_DIFFERENT_RECORD)
REASON_SECONDS = 2.0
MIN_MESSAGE_MAX_BYTES = 1000
"""librdkafka's smallest ``message.max.bytes``."""
TASK_CLASS = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""The sending class that Java's log and headers name."""
UNSENT = "Unrecoverable exception from producer send callback"


class ContactLostError(ConnectError):
    """The task must end at once, since its worker is not there any more."""


@dataclass(frozen=True, slots=True)
class LossPolicy:
    """The records that may be lost (``errors.tolerance``), and the failure of the task if one is lost that may not."""

    tolerant: bool = False
    must_deliver: str | None = None
    """A topic whose records must arrive even if other losses are tolerated."""
    failure: Callable[[ck.KafkaError], ConnectError] = lambda _: ConnectError(UNSENT)
    """Makes the error that is raised for a record that can't be sent."""

    def tolerates(self, topic: str | None) -> bool:
        return self.tolerant and topic != self.must_deliver


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """``max.request.size`` in bytes, and ``max.block.ms`` in seconds."""

    max_size: int
    max_block: float = MAX_BLOCK


class Sender:
    """Sends through one producer. Used from the loop's thread only, but for callbacks that ``commit_transaction``
    serves.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        losses: LossPolicy,
        make_producer: Callable[[Mapping[str, Any]], ck.Producer],
        limits: TopicLimits,
        request: RequestLimits,
        client_id: str = "",
    ) -> None:
        """``make_producer`` gets the callbacks that it must give the producer. ``client_id`` is shown in figures."""
        self._task, self._control, self._errors = runtime.id, runtime.control, runtime.errors
        self.losses = losses
        self._failure: ConnectError | None = None
        self._reason_known = True
        """False if the failure is that of a record whose batch was refused, perhaps because of another record."""
        self.lost: set[str] = set()
        """Topics of records that did not arrive, and never will."""
        self.limits = limits
        self._used: set[str] = set()
        """The topics of earlier batches."""
        self.taken = 0
        """The number of records of the last batch that the producer has, from the first on."""
        self.statistics = ClientStatistics("producer", client_id)
        self._statistics_at = 0.0
        self._max_request_size = request.max_size
        self.producer = make_producer({"on_delivery": self.failed, "stats_cb": self.on_statistics})
        self._missing = MissingPartitions(self.producer, request.max_block, self._wait)

    def failed(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        """Note that a record did not arrive; called by the producer."""
        if error is None or error.code() in (ck.KafkaError._PURGE_QUEUE, ck.KafkaError._PURGE_INFLIGHT):
            return
        topic = message.topic() or ""
        reason = self._reason(error, message)
        cause = broker_error(error, _place(message), reason)
        if self.losses.tolerates(topic):
            record = Batch.of(topic, [message.value()], keys=[message.key()])
            self._errors.failed(RecordFailure(PipelineStage.KAFKA_PRODUCE, TASK_CLASS, cause, record))
            return
        self.lost.add(topic)
        if self._failure is None or (reason is not None and not self._reason_known):
            log.error("%s failed to send record to %s: %s", self._task, topic, cause)
            self._failure = self.losses.failure(error)
            self._failure.__cause__ = cause
            self._reason_known = reason is not None or error.code() not in _BATCH_REFUSED

    def _reason(self, error: ck.KafkaError, message: ck.Message) -> str | None:
        """Return the broker's own reason, if it can be known: librdkafka fails all records of a refused batch alike."""
        topic, partition = message.topic(), message.partition()
        if error.code() != ck.KafkaError.INVALID_RECORD or topic is None or partition is None:
            return None
        return keyless_record(topic, partition) if message.key() is None and self.limits.requires_key(topic) else None

    def poll(self, seconds: float = 0.0) -> None:
        """Serve the producer's callbacks, waiting up to so many seconds for one. ``check`` raises what failed."""
        try:
            self.producer.poll(seconds)
        except ck.KafkaException as e:
            self._broken(e.args[0])

    def unacknowledged(self) -> int:
        """Return the number of records on their way, after serving callbacks: the producer counts those, and its
        statistics, too.
        """
        self.poll()
        return len(self.producer)

    def _broken(self, error: ck.KafkaError) -> None:
        if self._failure is None:
            self._failure = self.losses.failure(error)
            self._failure.__cause__ = broker_error(error)

    def check(self) -> None:
        """Raises the first failure, if a record did not arrive or the producer is unusable."""
        if self._failure is not None:
            raise self._failure
        self._check_contact()

    def _wait(self) -> None:
        """A moment, for the producer; raises as ``check``."""
        self.poll(0.1)
        self.check()

    def _check_contact(self) -> None:
        if self._control.aborted:
            raise ContactLostError("Contact with the worker is lost")

    def send(
        self, batch: Batch, delivered: Sequence[Delivered | None] | None = None, ahead: Sequence[Put] = ()
    ) -> None:
        """Hand all records of a converted batch to the producer, waiting while it is full; just before them those of
        ``ahead``, as ``put`` does.

        Raises ConnectError if a record of this or an earlier batch can't be sent, and that is not tolerated. The
        callback of each record in ``delivered`` that has one is called exactly once, during this call or later.
        """
        began = time.monotonic()
        try:
            self._send_all(batch, delivered, ahead)
        finally:
            self._errors.metrics.spent("send", time.monotonic() - began)

    def _send_all(self, batch: Batch, delivered: Sequence[Delivered | None] | None, ahead: Sequence[Put]) -> None:
        self.taken = 0
        if self._max_request_size < MIN_MESSAGE_MAX_BYTES:
            batch, delivered = self._small_enough(batch, delivered)
        topics = distinct(batch.topics)
        if (new := topics - self._used) and not only_nulls(batch.partitions):
            batch, delivered = self._placeable(batch, delivered, new)
        self._used |= new
        self.limits.look_up(topics)
        if self.limits.apply_to(topics):
            for each in ahead:
                self.put(*each)
            self._send_in_parts(batch, delivered)
        else:
            self._send(batch, delivered, ahead)

    def put(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers | None = None) -> None:
        """Hand one record to the producer, waiting while it is full.

        Raises KafkaException if the producer refuses it, ConnectError if an earlier record can't be sent.
        """
        named: dict[str, Any] = {"headers": headers} if headers else {}
        while True:
            try:
                self.producer.produce(topic, value, key, **named)
                return
            except BufferError:
                self._wait()
            except ck.KafkaException as e:
                self._check_usable(e.args[0])
                raise

    def _send_in_parts(self, batch: Batch, delivered: Sequence[Delivered | None] | None) -> None:
        """Each part arrives before the next is sent, so that no two parts share a record batch."""
        start = 0
        for end in self.limits.ends(batch):
            part = None if delivered is None else delivered[start:end]
            self._send(batch.select(range(start, end)), part)
            while not self.flush(1.0):
                self.check()
            self.check()
            start = end

    def _send(self, batch: Batch, delivered: Sequence[Delivered | None] | None, ahead: Sequence[Put] = ()) -> None:
        first, rows = self.taken, iter(batch.topics)
        columns = arguments_of(batch, delivered)
        calls = starmap(self.producer.produce, zip(rows, *columns, strict=True))  # ``map`` would make a tuple for each
        for each in ahead:
            self.put(*each)
        while True:
            try:
                deque(calls, maxlen=0)
                break
            except (BufferError, ck.KafkaException) as e:
                row = len(batch) - length_hint(rows) - 1
                self.taken = first + row
                if isinstance(e, BufferError) or self._missing.appears(
                    e.args[0], batch.topics[row], batch.partitions[row]
                ):
                    self._retry(batch, columns, row, delivered)
                else:
                    self._refuse(e, batch, row, delivered)
        self.taken = first + len(batch)
        self.poll()
        self.check()

    def _retry(
        self, batch: Batch, columns: Sequence[Sequence[Any]], row: int, delivered: Sequence[Delivered | None] | None
    ) -> None:
        """Wait until the producer has room for this record."""
        while True:
            self._wait()
            try:
                self.producer.produce(batch.topics[row], *(column[row] for column in columns))
                return
            except BufferError:
                continue
            except ck.KafkaException as e:
                self._refuse(e, batch, row, delivered)
                return

    def _small_enough(
        self, batch: Batch, delivered: Sequence[Delivered | None] | None
    ) -> tuple[Batch, Sequence[Delivered | None] | None]:
        """Refuse records above a ``max.request.size`` that librdkafka does not accept as a setting."""
        rows = []
        for i, size in enumerate(serialized_sizes(batch)):
            if size <= self._max_request_size:
                rows.append(i)
            else:
                too_large = ck.KafkaException(ck.KafkaError(ck.KafkaError.MSG_SIZE_TOO_LARGE))
                self._refuse(too_large, batch, i, delivered)
        return batch.select(rows), None if delivered is None else [delivered[i] for i in rows]

    def _placeable(
        self, batch: Batch, delivered: Sequence[Delivered | None] | None, topics: Set[str]
    ) -> tuple[Batch, Sequence[Delivered | None] | None]:
        """Refuse records for partitions that new topics do not have: the producer would take them, and not say whose
        record it was later.
        """
        rows = []
        for i, (topic, partition) in enumerate(zip(batch.topics, batch.partitions, strict=True)):
            if topic not in topics or partition is None or self._missing.has(topic, partition):
                rows.append(i)
            else:
                unknown = ck.KafkaException(ck.KafkaError(ck.KafkaError._UNKNOWN_PARTITION))
                self._refuse(unknown, batch, i, delivered)
        if len(rows) == len(batch):
            return batch, delivered
        return batch.select(rows), None if delivered is None else [delivered[i] for i in rows]

    def _refuse(
        self, refusal: ck.KafkaException, batch: Batch, row: int, delivered: Sequence[Delivered | None] | None
    ) -> None:
        """Fail, or skip, a record that the producer did not take."""
        error: ck.KafkaError = refusal.args[0]
        self._check_usable(error)
        record = batch.select((row,))
        cause = broker_error(error)
        if error.code() == ck.KafkaError.MSG_SIZE_TOO_LARGE:
            (size,) = serialized_sizes(record)
            cause = type(cause)(
                f"The message is {size} bytes when serialized which is larger than {self._max_request_size}, which is "
                "the value of the max.request.size configuration."
            )
        cause = self._missing.cause(error, batch.topics[row], batch.partitions[row]) or cause
        failure = RecordFailure(PipelineStage.KAFKA_PRODUCE, TASK_CLASS, cause, record)
        if not self.losses.tolerates(record.topics[0]):
            refused = self.losses.failure(error)
            refused.add_note(f"In {failure.place()}")
            raise refused from failure.error
        self._errors.failed(failure)
        if delivered is not None and (refused_one := delivered[row]) is not None:
            refused_one(error, None)

    def _check_usable(self, error: ck.KafkaError) -> None:
        """Raises why the producer takes no record any more, if this error says that much and no more."""
        match error.code():
            case ck.KafkaError._FATAL:  # it has reported the reason of an earlier record, or is about to
                give_up = time.monotonic() + REASON_SECONDS
                while self._failure is None and time.monotonic() < give_up:
                    self.poll(0.1)
            case ck.KafkaError._STATE:  # the transaction has failed: the next step of one is refused with the reason
                try:
                    self.producer.begin_transaction()
                except ck.KafkaException as e:
                    error = e.args[0]
            case _:
                return
        self._broken(error)
        self.check()

    def on_statistics(self, statistics: str) -> None:
        """Keep statistics; called by the producer, every ``STATISTICS_SECONDS`` where ``in_flight`` is used."""
        self.statistics(statistics)
        self._statistics_at = time.monotonic()
        if self.statistics.lost and self._failure is None:
            self._failure = TaskFencedError("The producer has lost all its brokers")

    def in_flight(self) -> set[str]:
        """The topics with records in flight that were sent before this call. May wait for librdkafka's statistics."""
        asked = time.monotonic()
        while self._statistics_at <= asked and len(self.producer):
            self.poll(0.1)
            self._check_contact()
        topics = json.loads(self.statistics.text).get("topics", {}) if len(self.producer) else {}
        return {
            topic
            for topic, found in topics.items()
            if any(each[count] for each in found["partitions"].values() for count in _IN_FLIGHT)
        }

    def flush(self, seconds: float) -> bool:
        """Wait until all records have arrived or failed; False if they have not after so many seconds.

        Raises ContactLostError, but nothing for failures, which ``check`` does.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                if self.producer.flush(min(left, 0.5)) == 0:
                    return True
            except ck.KafkaException as e:
                self._broken(e.args[0])
                return False
            self._check_contact()
        return len(self.producer) == 0

    def close(self) -> None:
        """Give up what has not arrived; called last. It must not arrive after what the next run sends, and the process
        of this one may continue with other tasks.
        """
        if len(self.producer):
            self.producer.purge(blocking=False)  # a thread of librdkafka may be looking up a name


def _place(message: ck.Message) -> str:
    size = len(message.key() or b"") + len(message.value() or b"")
    place = f"a record of {size} bytes for topic {message.topic()}"
    partition = message.partition()
    return f"{place}, partition {partition}" if partition is not None and partition >= 0 else place

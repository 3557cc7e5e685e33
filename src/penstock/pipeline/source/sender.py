"""Records on their way to Kafka: the loop around ``Producer.produce``, with back-pressure and errors.

No callback per record: librdkafka reports failed deliveries only, to ``failed``, and whoever must know that records
have arrived flushes. Where a task wants to hear of each record, ``send`` takes callbacks.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from operator import length_hint
from typing import Any

import confluent_kafka as ck

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, DataError
from penstock.core.model.tasks import TaskId
from penstock.pipeline.broker_errors import broker_error
from penstock.pipeline.errors import ErrorHandler, Failure, Stage
from penstock.pipeline.source.topic_limits import TopicLimits, serialized_sizes
from penstock.pipeline.task import TaskControl

log = logging.getLogger(__name__)

Delivered = Callable[[ck.KafkaError | None, Any], None]
"""Called with an error or None, and the message; None for that if the producer refused the record."""
STATISTICS_SECONDS = 1.0
_UNDER_WAY = ("msgq_cnt", "xmit_msgq_cnt", "msgs_inflight")
LEAST_LIMIT = 1000
"""The smallest limit to the size of records that librdkafka can be given."""
TASK_CLASS = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""Who sends, in the words of Java's log."""
UNSENT = "Unrecoverable exception from producer send callback"


class ContactLostError(ConnectError):
    """The task was told to end at once."""


class Sender:
    """One producer of records; used from the loop's thread only, but for callbacks that ``commit_transaction``
    serves.
    """

    def __init__(
        self,
        task: TaskId,
        control: TaskControl,
        errors: ErrorHandler,
        tolerate: bool,
        unsent: Callable[[ck.KafkaError], str] = lambda _: UNSENT,
    ) -> None:
        """``unsent`` gives the sentence with which the task ends if a record can't be sent for this reason."""
        self._task, self._control, self._errors, self.tolerates = task, control, errors, tolerate
        self._unsent = unsent
        self._failure: ConnectError | None = None
        self.producer: ck.Producer
        self._limit = 0
        self.lost: set[str] = set()
        """Topics of records that did not arrive, and never will."""
        self.insists: str | None = None
        """A topic whose records must arrive even where losses are tolerated."""
        self.limits: TopicLimits
        self.taken = 0
        """How many records of the last batch the producer has, from the first on."""
        self._statistics: tuple[float, str] = (0.0, "{}")

    def attach(self, producer: ck.Producer, limit: int, limits: TopicLimits) -> None:
        """``producer`` was made with ``failed`` as its callback for deliveries; ``limit`` is ``max.request.size``,
        ``limits`` are those of the topics.
        """
        self.producer, self._limit, self.limits = producer, limit, limits

    def forgives(self, topic: str | None) -> bool:
        """Whether a record for this topic may be lost."""
        return self.tolerates and topic != self.insists

    def failed(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        """Called by the producer for a record that did not arrive."""
        if error is None or error.code() in (ck.KafkaError._PURGE_QUEUE, ck.KafkaError._PURGE_INFLIGHT):
            return
        size = len(message.key() or b"") + len(message.value() or b"")
        place = f"a record of {size} bytes for topic {message.topic()}"
        if (partition := message.partition()) is not None and partition >= 0:
            place += f", partition {partition}"
        cause = broker_error(error, place)
        if self.forgives(message.topic()):
            record = Batch.of(message.topic() or "", [message.value()], keys=[message.key()])
            self._errors.failed(Failure(Stage.KAFKA_PRODUCE, TASK_CLASS, cause, record))
            return
        self.lost.add(message.topic() or "")
        if self._failure is None:
            log.error("%s failed to send record to %s: %s", self._task, message.topic(), cause)
            self._failure = ConnectError(self._unsent(error))
            self._failure.__cause__ = cause

    def poll(self, seconds: float = 0.0) -> None:
        """Let the producer tell what has happened, waiting so long for something. ``check`` says if it can't go on."""
        try:
            self.producer.poll(seconds)
        except ck.KafkaException as e:
            self._broken(e.args[0])

    def _broken(self, error: ck.KafkaError) -> None:
        if self._failure is None:
            self._failure = ConnectError(self._unsent(error))
            self._failure.__cause__ = broker_error(error)

    def check(self) -> None:
        """Raises the first failure, if a record did not arrive or the producer can't go on."""
        if self._failure is not None:
            raise self._failure
        self._check_contact()

    def _check_contact(self) -> None:
        if self._control.aborted:
            raise ContactLostError("Contact with the worker is lost")

    def send(self, batch: Batch, delivered: Sequence[Delivered] | None = None) -> None:
        """Hand all records of a converted batch to the producer, waiting while it is full.

        Raises ConnectError if one can't be sent, then or earlier, and that is not tolerated. After it, ``delivered`` of
        each record is called exactly once, if given.
        """
        self.taken = 0
        if self._limit < LEAST_LIMIT:
            batch, delivered = self._small_enough(batch, delivered)
        self.limits.look_at(batch.topics)
        if self.limits.concern(batch.topics):
            self._send_in_parts(batch, delivered)
        else:
            self._send(batch, delivered)

    def _send_in_parts(self, batch: Batch, delivered: Sequence[Delivered] | None) -> None:
        """Each part arrives before the next is sent, so that no two of them come into one batch."""
        start = 0
        for end in self.limits.ends(batch):
            part = None if delivered is None else delivered[start:end]
            self._send(batch.select(range(start, end)), part)
            while not self.flush(1.0):
                self.check()
            self.check()
            start = end

    def _send(self, batch: Batch, delivered: Sequence[Delivered] | None) -> None:
        first, rows = self.taken, iter(batch.topics)
        columns = _arguments(batch, delivered)
        calls = map(self.producer.produce, rows, *columns)
        while True:
            try:
                deque(calls, maxlen=0)
                break
            except (BufferError, ck.KafkaException) as e:
                row = len(batch) - length_hint(rows) - 1
                self.taken = first + row
                if isinstance(e, BufferError):
                    self._insist(batch, columns, row, delivered)
                else:
                    self._refuse(e, batch, row, delivered)
        self.taken = first + len(batch)
        self.poll()
        self.check()

    def _insist(
        self, batch: Batch, columns: Sequence[Sequence[Any]], row: int, delivered: Sequence[Delivered] | None
    ) -> None:
        """Wait until there is room for this record."""
        while True:
            self.poll(0.1)
            self.check()
            try:
                self.producer.produce(batch.topics[row], *(column[row] for column in columns))
                return
            except BufferError:
                continue
            except ck.KafkaException as e:
                self._refuse(e, batch, row, delivered)
                return

    def _small_enough(
        self, batch: Batch, delivered: Sequence[Delivered] | None
    ) -> tuple[Batch, Sequence[Delivered] | None]:
        """Refuse what is beyond a limit so low that the producer can't be told of it."""
        rows = []
        for i, size in enumerate(serialized_sizes(batch)):
            if size <= self._limit:
                rows.append(i)
            else:
                too_large = ck.KafkaException(ck.KafkaError(ck.KafkaError.MSG_SIZE_TOO_LARGE))
                self._refuse(too_large, batch, i, delivered)
        return batch.select(rows), None if delivered is None else [delivered[i] for i in rows]

    def _refuse(
        self, refusal: ck.KafkaException, batch: Batch, row: int, delivered: Sequence[Delivered] | None
    ) -> None:
        """The producer did not take this record."""
        error: ck.KafkaError = refusal.args[0]
        record = batch.select((row,))
        cause = broker_error(error)
        if error.code() == ck.KafkaError.MSG_SIZE_TOO_LARGE:
            (size,) = serialized_sizes(record)
            cause = type(cause)(
                f"The message is {size} bytes when serialized which is larger than {self._limit}, which is the value "
                "of the max.request.size configuration."
            )
        failure = Failure(Stage.KAFKA_PRODUCE, TASK_CLASS, cause, record)
        if not self.forgives(record.topics[0]):
            refused = ConnectError(self._unsent(error))
            refused.add_note(f"In {failure.place()}")
            raise refused from failure.error
        self._errors.failed(failure)
        if delivered is not None:
            delivered[row](error, None)

    def counted(self, statistics: str) -> None:
        """Called by the producer every ``STATISTICS_SECONDS``."""
        self._statistics = (time.monotonic(), statistics)

    def under_way(self) -> set[str]:
        """The topics for which records are under way that were sent before this call. May wait for the statistics."""
        asked = time.monotonic()
        while self._statistics[0] <= asked and len(self.producer):
            self.poll(0.1)
            self._check_contact()
        topics = json.loads(self._statistics[1]).get("topics", {}) if len(self.producer) else {}
        return {
            topic
            for topic, found in topics.items()
            if any(each[count] for each in found["partitions"].values() for count in _UNDER_WAY)
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


def _arguments(batch: Batch, delivered: Sequence[Delivered] | None) -> list[list[Any]]:
    """What ``Producer.produce`` is given after the topic, in its order and no more than needed; one list each."""
    n = len(batch)
    arguments: list[list[Any]] = [batch.values, batch.keys]
    headers = any(batch.headers)
    if not headers and delivered is None and batch.partitions.count(None) == n == batch.timestamps.count(None):
        return arguments
    arguments.append([-1 if partition is None else partition for partition in batch.partitions])
    arguments += [[None] * n if delivered is None else list(delivered), [None] * n, _timestamps(batch.timestamps)]
    if headers:
        arguments.append([[(h.key, h.value) for h in row] for row in batch.headers])
    return arguments


def _timestamps(column: list[int | None]) -> list[int]:
    """As the producer takes them; its 0 means now, so that the first millisecond of 1970 becomes the second."""
    times = [0 if t is None or t == -1 else t or 1 for t in column]
    if times and min(times) < 0:
        raise DataError(f"Invalid record timestamp {min(times)}")
    return times

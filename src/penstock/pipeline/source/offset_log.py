"""The places to which a task writes its source offsets: the worker's offsets topic, a topic of the connector's own
with a copy to the worker's, or the worker itself.

Java: ``ConnectorOffsetBackingStore``, ``KafkaOffsetBackingStore`` (KIP-618 for own topics).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import confluent_kafka as ck

from penstock.api.errors import ConnectError
from penstock.core.model.tasks import ReportedOffset
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.broker_errors import broker_error
from penstock.pipeline.source.offsets import SourceOffset
from penstock.pipeline.task import TaskFencedError, TaskHost

log = logging.getLogger(__name__)

IDLE_SECONDS = 60.0
"""The time without offsets after which the producer that writes them is closed."""


class OffsetLog(Protocol):
    """A place to which source offsets are written without transactions."""

    def write(self, offsets: Sequence[SourceOffset], seconds: float) -> None:
        """Store offsets; raises ConnectError if they were not stored within so many seconds: TaskFencedError if only
        another run of the task can store them.
        """

    def idle(self) -> None:
        """Release what is not needed; called in place of ``write`` when an interval has brought no offsets."""

    def close(self) -> None:
        """Release what the log holds; called last."""


class HostOffsetLog:
    """The offsets in standalone mode, which the worker stores."""

    def __init__(self, host: TaskHost) -> None:
        self._host = host

    def write(self, offsets: Sequence[SourceOffset], seconds: float) -> None:
        self._host.store_offsets([ReportedOffset(each.partition, each.offset, each.identity) for each in offsets])

    def idle(self) -> None:
        pass

    def close(self) -> None:
        pass


class OffsetCopies:
    """The worker's own offsets topic, to which the offsets of a connector with a topic of its own are copied.

    They are for older workers, and for the time when the connector has no topic of its own any more. Copies are not
    awaited, and failures only logged. With a topic of None nothing is copied. The producer is created with the first
    offsets.
    """

    def __init__(
        self,
        make_producer: Callable[..., ck.Producer],
        topic: str | None,
        is_own: Callable[[], bool] = lambda: False,
    ) -> None:
        """``make_producer`` gets settings of librdkafka, for statistics. ``is_own`` is called before the first copy:
        whether it is the topic that has the offsets already. There a copy could come after later ones, even from a run
        that has been fenced. Raises KafkaException.
        """
        self._make_producer, self._topic, self._is_own = make_producer, topic, is_own
        self._producer: ck.Producer | None = None
        self._statistics = ClientStatistics("producer", "")

    def copy(self, offsets: Sequence[SourceOffset]) -> None:
        """Copy offsets that are stored in the connector's topic already."""
        if self._topic is None or not offsets:
            return
        if self._producer is None:
            try:
                if self._is_own():
                    self._topic = None
                    return
            except ck.KafkaException as e:
                self._failed(e.args[0].str())
                return
            self._statistics = ClientStatistics("producer", "")
            self._producer = self._make_producer(**self._statistics.settings())
        for each in offsets:
            try:
                self._producer.produce(
                    self._topic, each.value, each.key, on_delivery=self._delivered, headers=each.headers
                )
            except BufferError:
                self._failed("earlier ones fill the producer's buffer, since the brokers do not take them")
                break
            except ck.KafkaException as e:  # of a topic that is known to be missing or forbidden, and of a large offset
                self._failed(e.args[0].str())
        self._producer.poll(0)
        if self._statistics.lost:
            log.warning("The producer of the copies in topic %s has lost all its brokers; replacing it by a new one",
                        self._topic)  # fmt: skip
            self._producer.purge()
            self._producer.flush(1)
            self._producer = None

    def _delivered(self, error: ck.KafkaError | None, _: ck.Message) -> None:
        if error is not None:
            self._failed(error.str())

    def _failed(self, reason: str) -> None:
        log.warning("Offsets could not be copied to the worker's topic %s: %s", self._topic, reason)

    def release(self) -> None:
        """Close the producer, if nothing is on its way."""
        if self._producer is not None:
            self._producer.poll(0)
            if not len(self._producer):
                self._producer = None

    def close(self) -> None:
        _end(self._producer)


class TopicOffsetLog:
    """A topic, written by a separate producer that is created with the first offsets, and closed after
    ``IDLE_SECONDS`` without any: its threads and buffers would be a third of an idle task.
    """

    def __init__(self, make_producer: Callable[..., ck.Producer], topic: str, copies: OffsetCopies) -> None:
        """``make_producer`` gets settings of librdkafka, for statistics."""
        self._make_producer, self._topic, self._copies = make_producer, topic, copies
        self._producer: ck.Producer | None = None
        self._statistics = ClientStatistics("producer", "")
        self._written = 0.0

    def write(self, offsets: Sequence[SourceOffset], seconds: float) -> None:
        if self._producer is None:
            self._statistics = ClientStatistics("producer", "")
            self._producer = self._make_producer(**self._statistics.settings())
        failures: list[ck.KafkaError] = []

        def delivered(error: ck.KafkaError | None, _: ck.Message) -> None:
            if error is not None:
                failures.append(error)

        self._written = time.monotonic()
        give_up = self._written + seconds
        timed_out = ConnectError(f"Timed out after {seconds:g} s while writing offsets to topic {self._topic}")
        for each in offsets:
            while True:
                try:
                    self._producer.produce(
                        self._topic, each.value, each.key, on_delivery=delivered, headers=each.headers
                    )
                    break
                except BufferError:
                    if time.monotonic() > give_up:
                        raise timed_out from None
                    self._producer.poll(0.1)
        left = self._producer.flush(max(0.0, give_up - time.monotonic()))
        if failures:
            raise ConnectError("Failed to flush offsets") from broker_error(failures[0], f"offsets topic {self._topic}")
        if left:
            if self._statistics.lost:  # what it still holds must not come after offsets of another producer
                raise TaskFencedError(f"The producer of offsets in topic {self._topic} has lost all its brokers")
            raise timed_out
        self._copies.copy(offsets)

    def idle(self) -> None:
        if time.monotonic() - self._written < IDLE_SECONDS:
            return
        self._copies.release()
        if self._producer is not None and not len(self._producer):
            self._producer = None

    def close(self) -> None:
        _end(self._producer)
        self._copies.close()


def _end(producer: ck.Producer | None) -> None:
    """Give up what is still on its way after 5 s: it must not arrive after the offsets of the next run."""
    if producer is not None and producer.flush(5):
        producer.purge(blocking=False)

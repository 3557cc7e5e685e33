"""Appending to the topic of a log.

Records may be appended before the topic exists or the brokers are there; they are kept in order until then.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException, Producer

from penstock.api.errors import ConnectError
from penstock.kafka.clients import SILENT, new_producer
from penstock.kafka.log.progress import Ends
from penstock.kafka.security.authorization import missing_right
from penstock.kafka.security.settings import Security
from penstock.kafka.statistics import ClientStatistics, own

log = logging.getLogger(__name__)

Headers = list[tuple[str, str | bytes | None]]
Pair = tuple[bytes, bytes | None] | tuple[bytes, bytes | None, Headers]
"""A key and a value, of which None is a tombstone; and headers, if there are any."""

OnWritten = Callable[[Ends, Exception | None], None]
"""Called once, on a thread of the writer, with the offsets after the records in their partitions, or an error."""

_POLL = 0.3
_IDLE = 1.0
"""Maximum time in seconds between polls while no record is in flight."""
_FLUSH = 2.0


class LogClosedError(ConnectError):
    """The log was closed before the request was completed."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"The log of topic `{topic}` is closed")


class RecordTooLargeError(ConnectError):
    """The topic or the producer accepts no record of this size; ``topic`` and ``size`` (bytes) are the record's."""

    java_name = "org.apache.kafka.common.errors.RecordTooLargeException"

    def __init__(self, topic: str, size: int) -> None:
        super().__init__(f"A record of {size} bytes is too large for topic `{topic}`")
        self.topic, self.size = topic, size


def size_of(pair: Pair) -> int:
    """Return the bytes of a record's key and value."""
    return len(pair[0]) + len(pair[1] or b"")


class LogWriter:
    """``start`` and ``open`` once each, ``close`` at the end; any thread may append."""

    def __init__(self, topic: str, settings: Mapping[str, str]) -> None:
        """``settings``: Java's, as ``client_settings.internal`` gives them."""
        self._topic, self._settings = topic, settings
        self._principal = Security.of(settings).principal
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._opened = threading.Event()
        self._sent = threading.Event()
        """Set when something is on its way, or the log closes."""
        self._producer: Producer | None = None
        self._statistics: ClientStatistics
        self._early: list[tuple[Sequence[Pair], OnWritten]] = []
        self._thread = threading.Thread(target=self._run, name=f"log-{topic}-acks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def open(self) -> None:
        """The topic exists: send what has been appended, and what follows. Does nothing if it is open already."""
        if self._producer is not None:
            return
        producer = self._new_producer()
        while self._producer is None:
            with self._lock:
                early, self._early = self._early, []
                if not early:  # only now may others send theirs themselves, which come after these
                    self._producer = producer
            for records, on_written in early:
                self._produce(producer, records, on_written)
        self._opened.set()

    def _new_producer(self) -> Producer:
        statistics = own("producer", self._settings.get("client.id", ""))
        native = {"linger.ms": 0, "log_level": SILENT, **statistics.settings()}
        producer = new_producer(self._settings, **native)
        self._statistics = statistics
        return producer

    def append(self, records: Sequence[Pair], on_written: OnWritten) -> None:
        """Written when all replicas in sync have all of the records."""
        with self._lock:
            producer = self._producer
            if producer is None and not self._closing.is_set():
                self._early.append((records, on_written))
                return
        if producer is None or self._closing.is_set():
            on_written({}, LogClosedError(self._topic))
        else:
            self._produce(producer, records, on_written)

    def close(self) -> None:
        """Try for a moment to deliver what was appended; fail what could not be sent."""
        self._closing.set()
        self._opened.set()
        self._sent.set()
        if self._thread.ident is not None:
            self._thread.join(_FLUSH + 1)
        with self._lock:
            early, self._early = self._early, []
        for _, on_written in early:
            on_written({}, LogClosedError(self._topic))

    def fail(self, error: Exception) -> None:
        """The topic can't be used: fail what was appended."""
        with self._lock:
            early, self._early = self._early, []
        for _, on_written in early:
            on_written({}, error)

    def _produce(self, producer: Producer, records: Sequence[Pair], on_written: OnWritten) -> None:
        left, failure, ends = len(records), None, dict[int, int]()

        def delivered(error: BrokerError | None, message: Any) -> None:
            nonlocal left, failure
            left -= 1
            if error is None:
                ends[message.partition()] = message.offset() + 1
            else:
                right = missing_right(error.code(), self._principal, "WRITE", self._topic)
                text = f"A record could not be written to topic `{self._topic}`: {right or error.str()}"
                too_large = error.code() == BrokerError.MSG_SIZE_TOO_LARGE
                size = max(map(size_of, records))
                failure = failure or (RecordTooLargeError(self._topic, size) if too_large else ConnectError(text))
            if left == 0:
                on_written(ends, failure)

        if not records:
            on_written({}, None)
        for key, value, *headers in records:
            while True:
                try:
                    producer.produce(self._topic, value, key, on_delivery=delivered, headers=headers_of(headers))
                    break
                except BufferError:
                    self._closing.wait(0.01)
                except KafkaException as e:
                    delivered(e.args[0], None)
                    break
        if self._producer is not None and self._producer is not producer:  # replaced meanwhile
            _give_up(producer)
        self._sent.set()

    def _run(self) -> None:
        self._opened.wait()
        if (producer := self._producer) is None:
            return
        while not self._closing.is_set():
            if len(producer):
                producer.poll(_POLL)
            else:
                self._sent.wait(_IDLE)
                self._sent.clear()
                producer.poll(0)
            if self._statistics.lost:
                producer = self._replace(producer)
        producer.flush(_FLUSH)

    def _replace(self, lost: Producer) -> Producer:
        """Use another producer from now on, if one can be made; the records that the lost one has kept fail."""
        try:
            producer = self._new_producer()
        except (ConnectError, KafkaException) as error:
            log.debug("No other producer of topic `%s` could be made: %s", self._topic, error)
            return lost
        log.warning("The producer of topic `%s` has lost all its brokers; replacing it by a new one", self._topic)
        with self._lock:
            self._producer = producer
        _give_up(lost)
        return producer


def _give_up(producer: Producer) -> None:
    """Fail what this producer has not sent, since nobody polls it any more."""
    producer.purge()
    producer.flush(_FLUSH)


def headers_of(given: Sequence[Any]) -> Headers | None:
    return given[0] if given else None

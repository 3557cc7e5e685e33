"""The leader's transactional writes to the config topic, which fence an earlier leader.

With exactly once (preparing or enabled) only the leader may write most config records, as the producer
``connect-cluster-<group.id>``. A new leader claims that id, which fences the leader before. Java:
``KafkaConfigBackingStore``'s fencable producer (KIP-618).
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException, Producer

from penstock.api.errors import ConnectError
from penstock.kafka.admin import code_of, sentence
from penstock.kafka.clients import SILENT, init_transactions, new_producer
from penstock.kafka.log.progress import OnDone
from penstock.kafka.log.writer import LogClosedError, OnWritten, Pair, RecordTooLargeError, headers_of, size_of
from penstock.kafka.security.authorization import missing_right
from penstock.kafka.security.settings import Security

log = logging.getLogger(__name__)

_TIMEOUT = 30.0
_ABORT_SECONDS = 5.0
"""For the end of a transaction that has failed; the next claim ends it otherwise."""
_FENCED = (BrokerError._FENCED, BrokerError.PRODUCER_FENCED, BrokerError.INVALID_PRODUCER_EPOCH)


class PrivilegedWriteError(ConnectError):
    """The records were not written, and this worker may no longer be the leader: it must claim the right again."""

    java_name = "org.apache.kafka.connect.storage.PrivilegedWriteException"


class FencedError(PrivilegedWriteError):
    """Another worker has claimed the right to write meanwhile."""


class PrivilegedWriter:
    """All methods return at once; their work runs in order on a thread of its own, which calls back."""

    def __init__(self, topic: str, producer: Mapping[str, str], transactional_id: str) -> None:
        """``producer``: Java's settings, as ``client_settings.internal`` gives them."""
        self.topic = topic
        self._settings = {
            **producer,
            "client.id": f"{producer.get('client.id', '')}-leader",
            "acks": "all",
            "enable.idempotence": "true",
            "max.in.flight.requests.per.connection": "5",
            "transactional.id": transactional_id,
        }
        self._producer: Producer | None = None
        self._in_transaction = False
        self._work: queue.SimpleQueue[tuple[Callable[[], None], OnDone] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=f"privileged-{topic}", daemon=True)
        self._thread.start()

    def claim(self, on_done: OnDone) -> None:
        """Become the only worker that may write. Nothing happens if this writer already has that right."""
        self._put(self._claim, on_done)

    def append(self, records: Sequence[Pair], on_written: OnWritten) -> None:
        """Write these records in one transaction; fails with FencedError if another worker has claimed the right."""
        ends: dict[int, int] = {}
        self._put(lambda: self._append(records, ends), lambda error: on_written(ends, error))

    def close(self) -> None:
        self._closed = True
        self._work.put(None)
        self._thread.join(_TIMEOUT)

    def _put(self, work: Callable[[], None], on_done: OnDone) -> None:
        if self._closed:
            on_done(LogClosedError(self.topic))
        else:
            self._work.put((work, on_done))

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            work, on_done = item
            try:
                work()
            except Exception as e:
                on_done(e if isinstance(e, ConnectError) else self._failed(e))
            else:
                on_done(None)
        self._drop_producer()

    def _claim(self) -> None:
        if self._producer is not None:
            return
        self._producer = new_producer(self._settings, **{"linger.ms": 0, "log_level": SILENT})
        try:
            init_transactions(self._producer, _TIMEOUT)
        except KafkaException as e:
            self._drop_producer()
            id, principal = self._settings["transactional.id"], Security.of(self._settings).principal
            right = missing_right(code_of(e), principal, "WRITE and DESCRIBE", id)
            failed = "Failed to create and initialize fencable producer for config topic"
            raise ConnectError(f"{failed}: {right}" if right else failed) from e

    def _append(self, records: Sequence[Pair], ends: dict[int, int]) -> None:
        producer = self._producer
        if producer is None:
            raise PrivilegedWriteError("Cannot produce to config topic without claiming write privileges first")

        too_large = False

        def delivered(error: BrokerError | None, message: Any) -> None:
            nonlocal too_large
            if error is None:
                ends[message.partition()] = message.offset() + 1
            else:
                too_large = too_large or error.code() == BrokerError.MSG_SIZE_TOO_LARGE

        producer.begin_transaction()
        self._in_transaction = True
        try:
            for key, value, *headers in records:
                producer.produce(self.topic, value, key, on_delivery=delivered, headers=headers_of(headers))
        except KafkaException as e:
            delivered(e.args[0], None)
            if not too_large:
                raise
        producer.flush(_TIMEOUT)
        if too_large:  # librdkafka has lost count of what it has sent: the right must be claimed again
            self._drop_producer()
            raise RecordTooLargeError(self.topic, max(map(size_of, records)))
        producer.commit_transaction(_TIMEOUT)
        self._in_transaction = False

    def _drop_producer(self) -> KafkaException | None:
        """Give up the right to write; return why its transaction could not be aborted.

        A transaction left open would hide all later records of the topic from readers of committed records until it
        times out.
        """
        producer, self._producer = self._producer, None
        in_transaction, self._in_transaction = self._in_transaction, False
        if producer is None:
            return None
        problem = None
        if in_transaction:
            try:
                producer.abort_transaction(_ABORT_SECONDS)
            except KafkaException as e:  # one that was fenced was aborted by the new leader
                problem = e
        producer.purge()
        return problem

    def _failed(self, error: Exception) -> PrivilegedWriteError:
        aborting = self._drop_producer()
        if isinstance(error, SystemError) and aborting is not None:  # the client loses its fatal error in callbacks
            error = aborting
        fenced = code_of(error) in _FENCED
        log.warning("Failed to perform fencable send to config topic: %s", sentence(error))
        kind = FencedError if fenced else PrivilegedWriteError
        failed = kind("Failed to perform fencable send to config topic")
        failed.__cause__ = error
        return failed

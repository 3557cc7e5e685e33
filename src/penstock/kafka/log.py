"""An internal topic as a log: read from its beginning to its end and then on, appended to, shared by all workers.

Nothing here waits: what takes its time happens on threads of the log's own, and they say so by the callbacks they were
given. Java: ``KafkaBasedLog``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import OffsetSpec

from penstock.kafka.admin import TopicTimeoutError, code_of, offsets_at, sentence
from penstock.kafka.clients import new_admin, new_consumer
from penstock.kafka.log_ends import LogEnds
from penstock.kafka.log_reads import Ends, OnDone, Reads
from penstock.kafka.log_topic import LogTopic
from penstock.kafka.log_writer import LogClosedError, LogWriter, Pair
from penstock.kafka.rights import NotAllowedError, missing_right
from penstock.kafka.security import Security
from penstock.kafka.trouble import RETRIES, Trouble, Troubles

log = logging.getLogger(__name__)

_BATCH = 1000
_IDLE_POLL = 0.1
_TIMEOUT = 10.0
"""Seconds for one look-up."""
_GONE = (BrokerError.UNKNOWN_TOPIC_OR_PART, BrokerError._UNKNOWN_TOPIC)


class LogRecord(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogClients:
    """Settings of the log's clients, as Java's (``client_settings.internal``)."""

    consumer: Mapping[str, str]
    producer: Mapping[str, str]
    admin: Mapping[str, str]
    read_committed: bool = False
    transactions: bool = False
    """Whether records are written in transactions. Their ends are only seen by fetching again, so that is done
    sooner.
    """


class TopicLog:
    """``start`` once, ``close`` at the end; every method may be called from any thread."""

    def __init__(
        self,
        topic: LogTopic,
        clients: LogClients,
        on_records: Callable[[list[LogRecord]], None],
        *,
        on_caught_up: Callable[[], None] = lambda: None,
        on_failed: Callable[[Exception], None] = lambda error: None,
        troubles: Troubles | None = None,
    ) -> None:
        """``on_records`` gets all records, in the order of their partitions, from the reader's thread.

        ``on_caught_up`` is called once, when everything that was there at the start has been delivered. ``on_failed``
        is called at most once: the topic can't be used (ConfigError, ConnectError), nothing more will be read.
        """
        self.topic, self.clients = topic, clients
        self.name = topic.name
        self.partitions = 0
        """How many there are; 0 until the topic is known."""
        self._on_records, self._on_caught_up, self._on_failed = on_records, on_caught_up, on_failed
        self._closing = threading.Event()
        self._trouble = Trouble(f"Reading topic `{self.name}`", self._closing, troubles or Troubles())
        self._principal = Security.of(clients.consumer).principal
        self._writer = LogWriter(self.name, clients.producer)
        self._reads = Reads()
        self._ends = LogEnds(self.name, self._reads, lambda: self._offsets(OffsetSpec.latest()))
        self._gone = False
        self._thread = threading.Thread(target=self._run, name=f"log-{self.name}", daemon=True)

    def start(self) -> None:
        self._writer.start()
        self._thread.start()

    def close(self) -> None:
        """End reading, try for a moment to deliver what was appended, and fail what is still waited for."""
        self._closing.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(3)
        self._writer.close()
        self._fail(LogClosedError(self.name))
        self._trouble.end(goes_on=False)

    def append(self, records: Sequence[Pair], on_done: OnDone = lambda error: None, *, read_back: bool = False) -> None:
        """Append keys and values; done when all replicas in sync have all of them, and, with ``read_back``, when
        they have been delivered to this log as well.
        """

        def written(ends: Ends, error: Exception | None) -> None:
            if error is None and read_back:
                self._reads.wait_for(ends, on_done)
            else:
                on_done(error)

        self._writer.append(records, written)

    def read_own(self, ends: Ends, on_done: OnDone) -> None:
        """Done when the records before these ends, written in a transaction by somebody else here, are delivered."""
        if self.clients.read_committed:
            self._reads.mark(ends)
        self._reads.wait_for(ends, on_done)

    def read_to_end(self, on_done: OnDone) -> None:
        """Done when every record that is in the topic now, those of open transactions included, has been delivered.

        Records appended before, and acknowledged, are among them. Several that ask at once share one look-up. While the
        brokers can't be reached it goes on trying.
        """
        self._ends.ask(on_done)

    def _offsets(self, spec: OffsetSpec) -> dict[int, int] | None:
        """As often as it takes; None if the log is closed or its topic gone meanwhile."""
        attempt = 0
        while not self._closing.is_set():
            try:
                return offsets_at(self._admin, self.name, range(self.partitions), spec, _TIMEOUT)
            except (KafkaException, TimeoutError) as e:
                # A topic that was just made may be unknown to a broker for a moment, one that was deleted stays so.
                if code_of(e) == BrokerError.UNKNOWN_TOPIC_OR_PART and attempt == len(RETRIES):
                    self._gone = True
                    return None
                attempt = self._trouble.pause(attempt, f"its ends can't be looked up: {sentence(e)}")
        return None

    # -- reading, on the log's thread

    def _run(self) -> None:
        try:
            self._admin = new_admin(self.clients.admin, error_cb=self._trouble.heard)
            while not self._closing.is_set() and self._prepare() and self._read_until_gone():
                pass
        except Exception as e:
            log.error("The log of topic `%s` can't be read: %s", self.name, e)
            self._trouble.end(goes_on=False)
            self._on_failed(e)
            self._writer.fail(e)
            self._fail(e)

    def _prepare(self) -> bool:
        """Make sure of the topic; True when it is there. Tries again and again while brokers can't be reached."""
        attempt = 0
        while not self._closing.is_set():
            try:
                self._admin.describe_cluster(request_timeout=2).result(3)  # fails sooner than what else is asked
                self.partitions = self.topic.ensure(self._admin, self._principal)
            except (TopicTimeoutError, TimeoutError, KafkaException) as e:
                self._admin.poll(0)
                attempt = self._trouble.pause(attempt, sentence(e), tell=True)
                continue
            if self.partitions:
                self._trouble.end()
                return True
            self._closing.wait(RETRIES[1])
        return False

    def _read_until_gone(self) -> bool:
        """Deliver records until the log is closed (False) or the topic is deleted under it (True)."""
        self._gone = False
        if (starts := self._offsets(OffsetSpec.earliest())) is None:
            return self._gone
        consumer = self._consumer(starts)
        try:
            self._writer.open()
            self._ends.begin([*self._reads.begin(starts), self._caught_up])
            while not self._closing.is_set():
                first = consumer.poll(_IDLE_POLL)
                if first is not None:
                    self._deliver([first, *consumer.consume(_BATCH, 0)])
                elif self._trouble.present:
                    self._look_for_brokers()
                if self._gone:
                    log.error("Topic `%s` with the %s was deleted; it is made anew", self.name, self.topic.purpose)
                    return True
        finally:
            self._ends.pause()
            consumer.close()
        return False

    def _consumer(self, starts: Ends) -> Consumer:
        native: dict[str, Any] = {
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if self.clients.read_committed else "read_uncommitted",
            "fetch.error.backoff.ms": 50,
            "error_cb": self._trouble.heard,
        }
        if self.clients.transactions or self.clients.read_committed:
            native["fetch.wait.max.ms"] = 25
        consumer = new_consumer(self.clients.consumer, **native)
        consumer.assign([TopicPartition(self.name, partition, start) for partition, start in starts.items()])
        return consumer

    def _deliver(self, messages: list[Message]) -> None:
        """Hand on the records and note how far they go."""
        records, positions = [], {}
        for message in messages:
            error = message.error()
            if error is None:
                partition, offset = message.partition(), message.offset()
                records.append(LogRecord(partition, offset, message.key(), message.value()))
                positions[partition] = offset + 1
            elif error.code() == BrokerError._PARTITION_EOF:
                positions[message.partition()] = message.offset()
            elif error.code() in _GONE:
                self._gone = True
            elif problem := missing_right(error.code(), self._principal, "READ", self.name):
                # It is no member of its group, so that nothing is missing if it may not be one.
                if error.code() != BrokerError.GROUP_AUTHORIZATION_FAILED:
                    raise NotAllowedError(problem)
            else:
                self._trouble.begin(error.str())
        if records:
            self._on_records(records)
        if positions:
            self._trouble.end()
            self._reads.passed(positions)

    def _look_for_brokers(self) -> None:
        try:
            offsets_at(self._admin, self.name, [0], OffsetSpec.latest(), 1)
        except (KafkaException, TimeoutError):
            return
        self._trouble.end()

    def _caught_up(self, error: Exception | None) -> None:
        if error is None:
            first, self._on_caught_up = self._on_caught_up, lambda: None
            first()

    def _fail(self, error: Exception) -> None:
        """Tell all who wait for something to be read, and all who will."""
        self._ends.fail(error)
        self._reads.fail(error)

"""An internal topic as a log: read from its beginning to its end and then on, appended to, shared by all workers.

Nothing here waits: what takes its time happens on threads of the log's own, and they say so by the callbacks they were
given. Java: ``KafkaBasedLog`` and ``KafkaTopicBasedBackingStore``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import AdminClient, OffsetSpec

from penstock.api.errors import ConfigError, ConnectError
from penstock.kafka.admin import (
    TopicSpec,
    TopicTimeoutError,
    code_of,
    create_topic,
    offsets_at,
    partition_counts,
    sentence,
    verify_only_compact,
)
from penstock.kafka.clients import new_admin, new_consumer, new_producer

log = logging.getLogger(__name__)

OnDone = Callable[[Exception | None], None]
"""Called once, on a thread of the log, with None or with what went wrong; must return at once."""

Pair = tuple[bytes, bytes | None]

_BATCH = 1000
_IDLE_POLL = 0.1
_RETRIES = (0.05, 0.1, 0.2, 0.4, 1.0)
"""Seconds between attempts; brokers need a moment to know a topic that was just made."""


class LogClosedError(ConnectError):
    """The log was closed before it could do what it was asked for."""


class LogRecord(NamedTuple):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTopic:
    """The topic: how it is made if it does not exist, and what it must be like if it does."""

    spec: TopicSpec
    setting: str
    """The worker's setting that names the topic, for the person who must change it."""
    purpose: str
    single_partition: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LogClients:
    """Settings of the log's clients, as Java's (``client_settings.internal``). No producer: the log is only read."""

    consumer: Mapping[str, str]
    admin: Mapping[str, str]
    producer: Mapping[str, str] | None = None
    read_committed: bool = False
    transactions: bool = False
    """Whether records are written in transactions. Their ends are only seen by fetching again, so that is done
    sooner.
    """


@dataclass(slots=True)
class _Read:
    """One reading to the end: the ends as they were when it was asked for; ``done`` may be several who share it."""

    ends: dict[int, int]
    done: list[OnDone] = field(default_factory=list)


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
    ) -> None:
        """``on_records`` gets all records, in the order of their partitions, from the reader's thread.

        ``on_caught_up`` is called once, when everything that was there at the start has been delivered. ``on_failed``
        is called at most once: the topic can't be used (ConfigError, ConnectError), nothing more will be read.
        """
        self.topic, self.clients = topic, clients
        self.name = topic.spec.name
        self.partitions = 0
        """How many there are; 0 until the topic is known."""
        self._on_records, self._on_caught_up, self._on_failed = on_records, on_caught_up, on_failed
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._producer: Producer | None = None
        self._admin: AdminClient | None = None
        self._early: list[tuple[Sequence[Pair], OnDone]] = []
        self._positions: dict[int, int] = {}
        self._asked: list[OnDone] = []
        self._reading = self._looking_up = self._gone = False
        self._reads: list[_Read] = []
        self._trouble: str | None = None
        self._threads = [threading.Thread(target=self._run, name=f"log-{self.name}", daemon=True)]
        if clients.producer is not None:
            self._threads.append(threading.Thread(target=self._write, name=f"log-{self.name}-acks", daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End reading, try for a moment to deliver what was appended, and fail what is still waited for."""
        self._closing.set()
        for thread in self._threads:
            if thread.ident is not None and thread is not threading.current_thread():
                thread.join(3)
        self._fail(LogClosedError(f"The log of topic `{self.name}` is closed"))

    # -- writing

    def append(self, records: Sequence[Pair], on_done: OnDone = lambda error: None) -> None:
        """Append keys and values (None: a tombstone); done when all replicas in sync have all of them."""
        with self._lock:
            producer = self._producer
            if producer is None and not self._closing.is_set():
                self._early.append((records, on_done))
                return
        if producer is None:
            on_done(LogClosedError(f"The log of topic `{self.name}` is closed"))
        else:
            self._produce(producer, records, on_done)

    def _produce(self, producer: Producer, records: Sequence[Pair], on_done: OnDone) -> None:
        left, failure = len(records), None

        def delivered(error: BrokerError | None, message: Message) -> None:
            nonlocal left, failure
            left -= 1
            if error is not None:
                failure = failure or ConnectError(
                    f"A record could not be written to topic `{self.name}`: {error.str()}"
                )
            if left == 0:
                on_done(failure)

        if not records:
            on_done(None)
        for key, value in records:
            while True:
                try:
                    producer.produce(self.name, value, key, on_delivery=delivered)
                    break
                except BufferError:
                    self._closing.wait(0.01)
                except KafkaException as e:
                    delivered(e.args[0], None)
                    break

    def _write(self) -> None:
        """Wait for the topic, then call back for what the brokers have acknowledged."""
        while self._producer is None:
            if self._closing.wait(0.01):
                return
        while not self._closing.is_set():
            self._producer.poll(_IDLE_POLL)
        self._producer.flush(2)

    # -- reading

    def read_to_end(self, on_done: OnDone) -> None:
        """Done when every record that is in the topic now, those of open transactions included, has been delivered.

        Records appended before, and acknowledged, are among them. Several that ask at once share one look-up. While the
        brokers can't be reached it goes on trying.
        """
        with self._lock:
            self._asked.append(on_done)
        self._look_up()

    def _look_up(self) -> None:
        with self._lock:
            if self._looking_up or not self._asked or not self._reading or self._closing.is_set():
                return
            self._looking_up, asked, self._asked = True, self._asked, []
        threading.Thread(target=self._look_up_ends, args=(asked,), name=f"log-{self.name}-ends", daemon=True).start()

    def _look_up_ends(self, asked: list[OnDone]) -> None:
        attempt = 0
        try:
            while not self._closing.is_set():
                try:
                    ends = offsets_at(self._admin, self.name, range(self.partitions), OffsetSpec.latest(), 10)
                    break
                except (KafkaException, TimeoutError) as e:
                    attempt = self._pause(attempt, f"its ends can't be looked up: {sentence(e)}")
                    # A topic that was just made may be unknown to a broker for a moment, one that was deleted stays so.
                    self._gone |= attempt == len(_RETRIES) and code_of(e) == BrokerError.UNKNOWN_TOPIC_OR_PART
            else:
                ends = {}
        finally:
            with self._lock:
                self._looking_up = False
        if self._closing.is_set():
            for done in asked:
                done(LogClosedError(f"The log of topic `{self.name}` is closed"))
            return
        with self._lock:
            self._reads.append(_Read(ends, asked))
        self._finish_reads()
        self._look_up()

    def _finish_reads(self) -> None:
        """Call back for every reading whose ends have been passed."""
        with self._lock:
            positions = self._positions
            ready = [r for r in self._reads if all(positions.get(p, 0) >= end for p, end in r.ends.items())]
            if not ready:
                return
            self._reads = [r for r in self._reads if r not in ready]
        for read in ready:
            for done in read.done:
                done(None)

    def _run(self) -> None:
        try:
            self._admin = new_admin(self.clients.admin)
            while not self._closing.is_set() and self._prepare() and self._read_until_gone():
                pass
        except Exception as e:
            log.error("The log of topic `%s` can't be read: %s", self.name, e)
            self._on_failed(e)
            self._fail(e)

    def _prepare(self) -> bool:
        """Make sure of the topic; True when it is there. Tries again and again while brokers can't be reached."""
        topic, attempt = self.topic, 0
        while not self._closing.is_set():
            try:
                if not create_topic(self._admin, topic.spec):
                    verify_only_compact(self._admin, self.name, topic.setting, topic.purpose)
                count = partition_counts(self._admin, [self.name]).get(self.name, 0)
            except ConfigError:
                raise
            except (TopicTimeoutError, TimeoutError) as e:
                attempt = self._pause(attempt, str(e))
                continue
            if topic.single_partition and count > 1:
                raise ConfigError(
                    f"Topic '{self.name}' supplied via the '{topic.setting}' property is required to have a single "
                    f"partition in order to guarantee consistency of {topic.purpose}, but found {count} partitions."
                )
            if count:
                self.partitions = count
                return True
            self._closing.wait(0.1)
        return False

    def _read_until_gone(self) -> bool:
        """Deliver records until the log is closed (False) or the topic is deleted under it (True)."""
        consumer = self._assigned_consumer()
        try:
            self._open_for_writing()
            self._reading, self._gone = True, False
            self.read_to_end(self._caught_up)
            while not self._closing.is_set():
                first = consumer.poll(_IDLE_POLL)
                if first is not None:
                    self._deliver([first, *consumer.consume(_BATCH, 0)])
                elif self._trouble is not None:
                    self._look_for_brokers()
                if self._gone:
                    log.error("Topic `%s` with the %s was deleted; it is made anew", self.name, self.topic.purpose)
                    return True
        finally:
            self._reading = False
            with self._lock:
                # The ends of a topic that is gone mean nothing for the next one.
                self._asked += [done for read in self._reads for done in read.done]
                self._reads = []
            consumer.close()
        return False

    def _assigned_consumer(self) -> Consumer:
        native: dict[str, Any] = {
            "enable.partition.eof": True,
            "allow.auto.create.topics": False,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if self.clients.read_committed else "read_uncommitted",
            "fetch.error.backoff.ms": 50,
            "error_cb": lambda error: self._in_trouble(error.str()) if error.code() in _DOWN else None,
        }
        if self.clients.transactions or self.clients.read_committed:
            native["fetch.wait.max.ms"] = 25
        consumer = new_consumer(self.clients.consumer, **native)
        starts: dict[int, int] = {}
        attempt = 0
        while not self._closing.is_set():
            try:
                starts = offsets_at(self._admin, self.name, range(self.partitions), OffsetSpec.earliest(), 10)
                break
            except (KafkaException, TimeoutError) as e:
                attempt = self._pause(attempt, sentence(e))
        with self._lock:
            self._positions = starts
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
            elif error.code() in (BrokerError.UNKNOWN_TOPIC_OR_PART, BrokerError._UNKNOWN_TOPIC):
                self._gone = True
            else:
                self._in_trouble(error.str())
        if records:
            self._on_records(records)
        if positions:
            if self._trouble is not None:
                self._out_of_trouble()
            with self._lock:
                self._positions.update(positions)
            self._finish_reads()

    def _open_for_writing(self) -> None:
        if self.clients.producer is None or self._producer is not None:
            return
        producer = new_producer(self.clients.producer, **{"linger.ms": 0})
        with self._lock:
            self._producer, early, self._early = producer, self._early, []
        for records, on_done in early:
            self._produce(producer, records, on_done)

    def _caught_up(self, error: Exception | None) -> None:
        if error is None:
            first, self._on_caught_up = self._on_caught_up, lambda: None
            first()

    # -- trouble

    def _pause(self, attempt: int, why: str) -> int:
        """Wait before the next attempt; the first ones are nothing to speak of."""
        if attempt >= len(_RETRIES) - 1:
            self._in_trouble(why)
        self._closing.wait(_RETRIES[min(attempt, len(_RETRIES) - 1)])
        return attempt + 1

    def _in_trouble(self, what: str) -> None:
        if self._trouble is None:
            log.warning("Reading topic `%s` has to wait: %s. It goes on by itself.", self.name, what)
        self._trouble = what

    def _out_of_trouble(self) -> None:
        self._trouble = None
        log.info("Topic `%s` can be read again", self.name)

    def _look_for_brokers(self) -> None:
        try:
            offsets_at(self._admin, self.name, [0], OffsetSpec.latest(), 1)
        except (KafkaException, TimeoutError):
            return
        self._out_of_trouble()

    def _fail(self, error: Exception) -> None:
        with self._lock:
            waiting = [done for _, done in self._early] + self._asked
            waiting += [done for read in self._reads for done in read.done]
            self._early, self._asked, self._reads = [], [], []
        for done in waiting:
            done(error)


_DOWN = (BrokerError._ALL_BROKERS_DOWN,)

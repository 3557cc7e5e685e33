"""An internal topic as a log: read from its beginning to its end and then on, appended to, shared by all workers.

No method blocks: requests to brokers run on threads of the log's own, which call back. Java: ``KafkaBasedLog``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from penstock.api.errors import ConnectError
from penstock.kafka.admin import TopicTimeoutError, answer, offsets_at, partition_counts, sentence
from penstock.kafka.clients import new_admin
from penstock.kafka.log.outages import RETRIES, Outage, Outages
from penstock.kafka.log.progress import EndLookups, Ends, OnDone, ReadProgress
from penstock.kafka.log.reader import LogClients, LogReader, LogRecord
from penstock.kafka.log.topic import LogTopic
from penstock.kafka.log.writer import LogClosedError, LogWriter, Pair
from penstock.kafka.security.settings import Security
from penstock.kafka.statistics import own

log = logging.getLogger(__name__)

_TIMEOUT = 10.0
"""Seconds for one look-up."""
_GLANCE = 3.0
"""Seconds for the question whether brokers answer; too few on a machine under load, and they never seem to."""
_LOOK_AGAIN = 30.0
"""Seconds after which the end of the topic is looked up, in case records were missed."""


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
        outages: Outages | None = None,
    ) -> None:
        """``on_records`` gets all records, in the order of their partitions, from the reader's thread.

        ``on_caught_up`` is called once, when everything that was there at the start has been delivered. ``on_failed``
        is called at most once: the topic can't be used (ConfigError, ConnectError), nothing more will be read.
        """
        self.topic, self.clients = topic, clients
        self.name = topic.name
        self.partitions = 0
        """Number of partitions; 0 until the topic is known."""
        self._on_records, self._on_caught_up, self._on_failed = on_records, on_caught_up, on_failed
        self._closing = threading.Event()
        self._outage = Outage(f"Reading topic `{self.name}`", self._closing, outages or Outages())
        self._principal = Security.of(clients.consumer).principal
        self._writer = LogWriter(self.name, clients.producer)
        self._reads = ReadProgress()
        self._ends = EndLookups(self.name, self._reads, lambda: self._offsets(OffsetSpec.latest()))
        self._gone = False
        self._admin: AdminClient
        self._thread = threading.Thread(target=self._run, name=f"log-{self.name}", daemon=True)

    def start(self) -> None:
        self._writer.start()
        self._thread.start()

    def close(self) -> None:
        """End reading, try for a moment to deliver what was appended, and fail all waits."""
        self._closing.set()
        self._ends.pause()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(3)
        self._writer.close()
        self._fail(LogClosedError(self.name))
        self._outage.end(resumed=False)

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
        """Done when the records before these ends, written in a transaction by another writer here, are delivered."""
        if self.clients.read_committed:
            self._reads.mark(ends)
        self._reads.wait_for(ends, on_done)

    def read_to_end(self, on_done: OnDone) -> None:
        """Done when every record that is in the topic now, those of open transactions included, has been delivered.

        Records appended before, and acknowledged, are among them. Simultaneous calls share one look-up, which is
        repeated while the brokers can't be reached.
        """
        self._ends.ask(on_done)

    def _offsets(self, spec: OffsetSpec) -> dict[int, int] | None:
        """Asks until there is an answer; None if the log is closed or its topic deleted meanwhile."""
        attempt = 0
        while not self._closing.is_set():
            try:
                return offsets_at(self._admin, self.name, range(self.partitions), spec, _TIMEOUT)
            except KafkaException as e:
                # A topic that was just created may be unknown to a broker for a moment, a deleted one stays unknown.
                if attempt == len(RETRIES) and self._is_gone():
                    self._gone = True
                    return None
                attempt = self._outage.pause(attempt, f"its ends can't be looked up: {sentence(e)}")
                # A client that has seen a broker die may keep its old leaders for minutes.
                self._admin = self._new_admin()
        return None

    def _is_gone(self) -> bool:
        try:
            return not partition_counts(self._admin, [self.name], _TIMEOUT)
        except ConnectError:
            return False

    # -- reading, on the log's thread

    def _run(self) -> None:
        try:
            self._admin = self._new_admin()
            while not self._closing.is_set() and self._prepare() and self._read_until_gone():
                pass
        except Exception as e:
            log.error("The log of topic `%s` can't be read: %s", self.name, e)
            self._outage.end(resumed=False)
            self._on_failed(e)
            self._writer.fail(e)
            self._fail(e)

    def _prepare(self) -> bool:
        """Create or check the topic; True when it is there. Retries while brokers can't be reached."""
        attempt = 0
        while not self._closing.is_set():
            try:
                answer(self._admin.describe_cluster(request_timeout=2), 2)  # fails sooner than the other requests
                self.partitions = self.topic.ensure(self._admin, self._principal)
            except (TopicTimeoutError, KafkaException) as e:
                if self._statistics.lost:
                    self._admin = self._new_admin()
                self._admin.poll(0)
                attempt = self._outage.pause(attempt, sentence(e), report=True)
                continue
            if self.partitions:
                self._outage.end()
                return True
            self._closing.wait(RETRIES[1])
        return False

    def _read_until_gone(self) -> bool:
        """Deliver records until the log is closed (False) or the topic is deleted under it (True)."""
        self._gone = False
        if (starts := self._offsets(OffsetSpec.earliest())) is None:
            return self._gone
        waiting = self._reads.begin(starts)
        reader = LogReader(self.name, self.clients, self._reads, self._on_records, self._outage, self._readable)
        try:
            self._writer.open()
            self._ends.begin([*waiting, self._caught_up])
            looked = time.monotonic()
            while not self._closing.is_set():
                if not reader.turn() or self._gone:
                    then = "; recreating it" if self.topic.created else ""
                    log.error("Topic `%s` with the %s was deleted%s", self.name, self.topic.purpose, then)
                    return True
                self._admin.poll(0)
                if self._outage.present:
                    if self._brokers_answer():
                        self._outage.end()
                elif time.monotonic() - looked > _LOOK_AGAIN:
                    looked = time.monotonic()
                    self.read_to_end(lambda error: None)
        finally:
            self._ends.pause()
            reader.close()
        return False

    def _brokers_answer(self) -> bool:
        try:
            return bool(self._readable([0]))
        except KafkaException:
            return False

    def _readable(self, partitions: Iterable[int]) -> Ends:
        committed = self.clients.read_committed
        try:
            return offsets_at(self._admin, self.name, partitions, OffsetSpec.latest(), _GLANCE, committed=committed)
        except KafkaException:
            self._admin = self._new_admin()
            raise

    def _new_admin(self) -> AdminClient:
        self._statistics = own("admin-client", self.clients.admin.get("client.id", ""))
        return new_admin(self.clients.admin, error_cb=self._outage.heard, **self._statistics.settings())

    def _caught_up(self, error: Exception | None) -> None:
        if error is None:
            first, self._on_caught_up = self._on_caught_up, lambda: None
            first()

    def _fail(self, error: Exception) -> None:
        """End all waits with this error, and all later ones."""
        self._ends.fail(error)
        self._reads.fail(error)

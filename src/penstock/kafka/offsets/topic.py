"""Offsets topics: the worker's, and those that connectors have of their own (KIP-618).

Java: ``KafkaOffsetBackingStore`` and ``Worker.offsetsTopic``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from confluent_kafka import KafkaException

from penstock.kafka.admin import TopicTimeoutError, sentence
from penstock.kafka.client_settings import (
    bootstrap_servers,
    connector_admin,
    connector_consumer,
    connector_producer,
    internal,
    own_client_id,
    reads_committed,
)
from penstock.kafka.clients import new_admin
from penstock.kafka.log.outages import Outages
from penstock.kafka.log.progress import OnDone
from penstock.kafka.log.reader import LogClients, LogRecord
from penstock.kafka.log.topic import LogTopic
from penstock.kafka.log.topic_log import TopicLog
from penstock.kafka.offsets.entries import Change, OffsetEntries, StoredOffset
from penstock.kafka.security.settings import Security
from penstock.kafka.storage.stores import exactly_once_support, internal_topic

log = logging.getLogger(__name__)

Settings = Mapping[str, str]

_PURPOSE = "source connector offsets"


class OffsetStore(Protocol):
    """Store of source offsets: ``OffsetTopic``, or ``file.OffsetFile`` in standalone mode."""

    def start(self) -> None: ...

    def close(self) -> None: ...

    def read_to_end(self, on_done: OnDone) -> None:
        """Done when everything that is stored now is in the snapshots."""

    def snapshot(self, connector: str) -> list[StoredOffset]: ...

    def partitions(self, connector: str) -> list[dict[str, Any]]:
        """Return the partitions whose offsets a reset deletes."""

    def write(self, connector: str, changes: Sequence[Change], on_done: OnDone) -> None:
        """Store changed offsets; done when they are in the snapshots. Raises DataError for a malformed one."""


class OffsetTopic:
    """One offsets topic; ``start`` once, ``close`` at the end."""

    def __init__(
        self,
        topic: LogTopic,
        clients: LogClients,
        *,
        on_caught_up: Callable[[], None] = lambda: None,
        on_failed: Callable[[Exception], None] = lambda error: None,
        outages: Outages | None = None,
    ) -> None:
        self._entries = OffsetEntries()
        self._log = TopicLog(
            topic, clients, self._read, on_caught_up=on_caught_up, on_failed=on_failed, outages=outages
        )
        self.name = topic.name
        self.start, self.close, self.read_to_end = self._log.start, self._log.close, self._log.read_to_end
        self.snapshot, self.deleted = self._entries.snapshot, self._entries.deleted
        self.partitions = self._entries.partitions

    def _read(self, records: list[LogRecord]) -> None:
        self._entries.put((record.key, record.value, record.headers) for record in records)

    def write(self, connector: str, changes: Sequence[Change], on_done: OnDone) -> None:
        self._log.append(self._entries.encode(connector, changes), on_done, read_back=True)


def worker_offsets(worker: Settings, **options: Any) -> OffsetTopic:
    """The worker's offsets topic (``offset.storage.topic``). ``options`` are those of ``OffsetTopic``."""
    client_id = own_client_id(worker, "offsets")
    consumer = internal(worker, "consumer", client_id)
    committed = exactly_once_support(worker) == "enabled" or reads_committed(consumer)
    clients = LogClients(
        consumer=consumer,
        producer=internal(worker, "producer", client_id),
        admin=internal(worker, "admin", client_id),
        read_committed=committed,
        transactions=committed,
    )
    return OffsetTopic(internal_topic(worker, "offset", _PURPOSE, partitions=25), clients, **options)


def own_offsets_topic(worker: Settings, connector: Settings) -> str | None:
    """The offsets topic of this source connector's own; None if it uses the worker's.

    With exactly once, a connector that writes to another Kafka cluster has its offsets there, since a transaction can't
    span two clusters; if it does not name a topic, one of the same name as the worker's. Java compares all addresses of
    brokers (``Worker.sameOffsetTopicAsWorker``); here one in common means the same cluster.
    """
    shared = worker.get("offset.storage.topic")
    if shared is None:
        return None
    named = (connector.get("offsets.storage.topic") or "").strip()
    its = _addresses(connector_producer(worker, connector, "")["bootstrap.servers"])
    elsewhere = its.isdisjoint(_addresses(bootstrap_servers(worker)))
    if named and (named != shared or elsewhere):
        return named
    return shared if elsewhere and exactly_once_support(worker) == "enabled" else None


def _addresses(servers: str) -> frozenset[str]:
    return frozenset(each.strip() for each in servers.split(",") if each.strip())


def ensure_own_topic(worker: Settings, connector: Settings) -> None:
    """Create or check this connector's own offsets topic, if it has one. May block.

    Raises as ``LogTopic.ensure``, but not while brokers can't be reached: its tasks will wait for them.
    """
    if topic := own_offsets_topic(worker, connector):
        settings = connector_admin(worker, connector, _client_id(connector))
        try:
            _own_topic(worker, topic).ensure(new_admin(settings), Security.of(settings).principal)
        except (TopicTimeoutError, TimeoutError, KafkaException) as e:
            log.warning("Offsets topic `%s` could not be checked yet: %s", topic, sentence(e))


def _own_topic(worker: Settings, topic: str) -> LogTopic:
    shared = internal_topic(worker, "offset", _PURPOSE, partitions=25)
    return replace(shared, spec=replace(shared.spec, name=topic), setting="offsets.storage.topic")


def _client_id(connector: Settings) -> str:
    return f"connector-offsets-{connector.get('name', '')}"


def connector_offsets(worker: Settings, connector: Settings, topic: str, **options: Any) -> OffsetTopic:
    """A connector's own offsets topic, on the cluster that its overrides name; created if it does not exist."""
    client_id = _client_id(connector)
    consumer = connector_consumer(worker, connector, client_id)
    isolation = consumer.get("isolation.level", "read_committed")
    committed = exactly_once_support(worker) == "enabled" or isolation == "read_committed"
    clients = LogClients(
        consumer=consumer,
        producer=connector_producer(worker, connector, client_id),
        admin=connector_admin(worker, connector, client_id),
        read_committed=committed,
        transactions=committed,
    )
    return OffsetTopic(_own_topic(worker, topic), clients, **options)

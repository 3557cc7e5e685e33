"""Source offsets in topics: the worker's own topic, and those of connectors that have one of their own (KIP-618).

``OffsetTopic`` holds what is in one topic. ``ConnectorOffsets`` answers for a connector, wherever its offsets are.
Java: ``KafkaOffsetBackingStore`` and ``ConnectorOffsetBackingStore``.
"""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from penstock.api.errors import ConnectError
from penstock.kafka import offset_records
from penstock.kafka.background import OnAnswer, await_done, in_background
from penstock.kafka.client_settings import (
    bootstrap_servers,
    connector_admin,
    connector_consumer,
    connector_producer,
    internal,
)
from penstock.kafka.log import LogClients, LogRecord, LogTopic, OnDone, TopicLog
from penstock.kafka.stores import exactly_once_support, internal_topic

log = logging.getLogger(__name__)

Settings = Mapping[str, str]
Change = tuple[Mapping[str, Any], Mapping[str, Any] | None]
"""A source partition and its new offset; None: forget it."""

_PURPOSE = "source connector offsets"
_TIMEOUT = 90.0


class StoredOffset(NamedTuple):
    partition: dict[str, Any]
    offset: dict[str, Any]
    key: str
    """The bytes of the stored key, in base64. Whoever writes the same partition again writes them again."""


@dataclass(frozen=True, slots=True)
class _Entry:
    partition: dict[str, Any]
    value: bytes
    key: bytes


class Offsets:
    """What the records of an offsets topic, or the entries of a file, add up to. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, dict[bytes, _Entry]] = {}

    def put(self, pairs: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        """Take in keys and values in their order; a value of None, or ``null``, takes the key away."""
        with self._lock:
            for key, value in pairs:
                decoded = offset_records.decode_key(key)
                if decoded is None or key is None:
                    continue
                connector, partition = decoded
                entries = self._entries.setdefault(connector, {})
                if value is None or value == b"null":
                    entries.pop(offset_records.canonical(partition), None)
                else:
                    entries[offset_records.canonical(partition)] = _Entry(partition, value, key)

    def knows(self, connector: str) -> bool:
        """Whether there ever was anything about this connector, be it gone by now."""
        return connector in self._entries

    def snapshot(self, connector: str) -> list[StoredOffset]:
        """All source partitions of the connector that have an offset. Raises DataError for one that can't be read."""
        with self._lock:
            entries = list(self._entries.get(connector, {}).values())
        return [
            StoredOffset(e.partition, offset, base64.b64encode(e.key).decode())
            for e in entries
            if (offset := offset_records.decode_value(e.value)) is not None
        ]

    def encode(self, connector: str, changes: Sequence[Change]) -> list[tuple[bytes, bytes | None]]:
        """Keys and values to be written for these changes; raises DataError for what is no source offset."""
        with self._lock:
            stored = dict(self._entries.get(connector, {}))
        pairs = []
        for partition, offset in changes:
            entry = stored.get(offset_records.canonical(partition))
            key = offset_records.encode_key(connector, partition) if entry is None else entry.key
            pairs.append((key, offset_records.encode_value(offset)))
        return pairs


class OffsetStore(Protocol):
    """Where the worker keeps source offsets: ``OffsetTopic``, or ``offset_file.OffsetFile`` in standalone mode."""

    def start(self) -> None: ...

    def close(self) -> None: ...

    def read_to_end(self, on_done: OnDone) -> None:
        """Done when everything that is stored now is in the snapshots."""

    def snapshot(self, connector: str) -> list[StoredOffset]: ...

    def knows(self, connector: str) -> bool: ...

    def write(self, connector: str, changes: Sequence[Change], on_done: OnDone) -> None:
        """Store changed offsets. Raises DataError for what is no source offset."""


class OffsetTopic:
    """One offsets topic; ``start`` once, ``close`` at the end."""

    def __init__(
        self,
        topic: LogTopic,
        clients: LogClients,
        *,
        on_caught_up: Callable[[], None] = lambda: None,
        on_failed: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self._offsets = Offsets()
        self._log = TopicLog(topic, clients, self._read, on_caught_up=on_caught_up, on_failed=on_failed)
        self.name = topic.spec.name
        self.start, self.close, self.read_to_end = self._log.start, self._log.close, self._log.read_to_end
        self.knows, self.snapshot = self._offsets.knows, self._offsets.snapshot

    def _read(self, records: list[LogRecord]) -> None:
        self._offsets.put([(record.key, record.value) for record in records])

    def write(self, connector: str, changes: Sequence[Change], on_done: OnDone) -> None:
        """Append what changed; it is in the snapshots once it has been read back."""
        self._log.append(self._offsets.encode(connector, changes), on_done)


def worker_offsets(
    worker: Settings, client_id: str = "connect-offsets", **callbacks: Callable[..., None]
) -> OffsetTopic:
    """The worker's offsets topic (``offset.storage.topic``). Callbacks: ``on_caught_up()``, ``on_failed(error)``."""
    enabled = exactly_once_support(worker) == "enabled"
    clients = LogClients(
        consumer=internal(worker, "consumer", client_id),
        producer=internal(worker, "producer", client_id),
        admin=internal(worker, "admin", client_id),
        read_committed=enabled,
        transactions=enabled,
    )
    return OffsetTopic(internal_topic(worker, "offset", _PURPOSE, partitions=25), clients, **callbacks)


def own_offsets_topic(worker: Settings, connector: Settings) -> str | None:
    """The offsets topic that this source connector has for itself; None if it uses the worker's.

    With exactly once, a connector that writes to another Kafka cluster has its offsets there, since a transaction can't
    span two clusters; if it does not name a topic, one of the same name as the worker's.
    """
    shared = worker.get("offset.storage.topic")
    if shared is None:
        return None
    named = (connector.get("offsets.storage.topic") or "").strip()
    elsewhere = connector_producer(worker, connector, "")["bootstrap.servers"] != bootstrap_servers(worker)
    if named and (named != shared or elsewhere):
        return named
    return shared if elsewhere and exactly_once_support(worker) == "enabled" else None


def connector_offsets(
    worker: Settings, connector: Settings, topic: str, **callbacks: Callable[..., None]
) -> OffsetTopic:
    """A connector's own offsets topic, on the cluster that its overrides name; made if it does not exist."""
    name = connector.get("name", "")
    client_id = f"connector-offsets-{name}"
    shared = internal_topic(worker, "offset", _PURPOSE, partitions=25)
    spec = replace(shared.spec, name=topic)
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
    return OffsetTopic(LogTopic(spec=spec, setting="offsets.storage.topic", purpose=_PURPOSE), clients, **callbacks)


class ConnectorOffsets:
    """The offsets of source connectors, over the worker's store and the topics that connectors have for themselves.

    What is in a connector's own topic counts first, what the worker's store knows beyond that counts as well. Changes
    go to both. Each request is worked on by a thread of its own, which calls ``on_done`` with a result or an error.
    """

    def __init__(self, worker: Settings, store: OffsetStore) -> None:
        self._worker, self._store = worker, store

    def read(
        self,
        connector: Settings,
        on_done: OnAnswer[list[StoredOffset]],
        *,
        migrate: bool = False,
    ) -> None:
        """All offsets of the connector (its configuration, with ``name``) as they are now.

        ``migrate``, to be asked for before its tasks start: if its own topic knows nothing of it yet, what the worker's
        store has is copied there first (KIP-618).
        """
        in_background(f"offsets-{connector['name']}", lambda: self._read(connector, migrate), on_done)

    def write(
        self,
        connector: Settings,
        changes: Sequence[Change] | None,
        on_done: OnAnswer[list[StoredOffset]],
    ) -> None:
        """Alter offsets, or forget all of them (None); the connector must be stopped. The result is what there is
        then.
        """
        in_background(f"offsets-{connector['name']}", lambda: self._write(connector, changes), on_done)

    def _read(self, connector: Settings, migrate: bool) -> list[StoredOffset]:
        name = connector["name"]
        await_done(self._store.read_to_end, "read to the end of the offsets topic")
        shared = self._store.snapshot(name)
        topic = own_offsets_topic(self._worker, connector)
        if topic is None:
            return shared
        own = self._open(connector, topic)
        try:
            if migrate and shared and not own.knows(name):
                log.info("Copying %d offsets of connector %s to its own topic `%s`", len(shared), name, topic)
                moved = [(s.partition, s.offset) for s in shared]
                await_done(lambda done: own.write(name, moved, done), f"copy offsets to topic `{topic}`")
            return merged(shared, own.snapshot(name))
        finally:
            own.close()

    def _write(self, connector: Settings, changes: Sequence[Change] | None) -> list[StoredOffset]:
        name = connector["name"]
        topic = own_offsets_topic(self._worker, connector)
        await_done(self._store.read_to_end, "read to the end of the offsets topic")
        if topic is None:
            self._write_shared(name, _forgotten(self._store.snapshot(name)) if changes is None else changes)
            return self._store.snapshot(name)
        own = self._open(connector, topic)
        try:
            if changes is None:
                changes = _forgotten(merged(self._store.snapshot(name), own.snapshot(name)))
            # A tombstone in the worker's store comes first, so that what was forgotten never comes back from there.
            self._write_shared(name, [c for c in changes if c[1] is None])
            await_done(lambda done: own.write(name, changes, done), f"write offsets to topic `{topic}`")
            await_done(own.read_to_end, f"read to the end of topic `{topic}`")
            self._write_shared(name, [c for c in changes if c[1] is not None])
            return merged(self._store.snapshot(name), own.snapshot(name))
        finally:
            own.close()

    def _write_shared(self, name: str, changes: Sequence[Change]) -> None:
        if changes:
            await_done(lambda done: self._store.write(name, changes, done), "write offsets")
            await_done(self._store.read_to_end, "read to the end of the offsets topic")

    def _open(self, connector: Settings, topic: str) -> OffsetTopic:
        ready, failures = threading.Event(), list[Exception]()

        def failed(error: Exception) -> None:
            failures.append(error)
            ready.set()

        own = connector_offsets(self._worker, connector, topic, on_caught_up=ready.set, on_failed=failed)
        own.start()
        if not ready.wait(_TIMEOUT) or failures:
            own.close()
            if failures:
                raise failures[0]
            raise ConnectError(f"Timed out while reading offsets topic `{topic}` of connector {connector['name']}")
        return own


def merged(shared: Sequence[StoredOffset], own: Sequence[StoredOffset]) -> list[StoredOffset]:
    """One offset for each source partition; its own topic's counts first."""
    by_partition = {offset_records.canonical(s.partition): s for s in shared}
    by_partition.update((offset_records.canonical(s.partition), s) for s in own)
    return list(by_partition.values())


def _forgotten(stored: Sequence[StoredOffset]) -> list[Change]:
    return [(s.partition, None) for s in stored]

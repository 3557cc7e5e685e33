"""The offsets of source connectors: in the worker's store, in a topic of the connector's own, or in both.

Java: ``ConnectorOffsetBackingStore`` (KIP-618, KIP-875).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from penstock.kafka.admin import NoAnswerError
from penstock.kafka.background import NO_DEADLINE, Deadline, OnAnswer, await_done, in_background
from penstock.kafka.log.outages import RETRYING, Outages
from penstock.kafka.offsets import records
from penstock.kafka.offsets.entries import Change, StoredOffset
from penstock.kafka.offsets.topic import OffsetStore, OffsetTopic, connector_offsets, own_offsets_topic

Settings = Mapping[str, str]

_TIMEOUT = 85.0
"""Seconds until an own topic is given up: sooner than by those who wait for its offsets, so that they learn why."""


class SourceConnectorOffsets:
    """Reads and alters them. An offset in a connector's own topic takes precedence over one in the worker's store.

    A connector that has just got its own topic goes on from the worker's store: each partition's next commit moves it
    (KIP-618). Readers copy nothing: by the time of their write it could be older than what a task has committed.
    Changes go to both. Each request runs in a thread of its own, which calls ``on_done`` with a result or an error.
    """

    def __init__(self, worker: Settings, store: OffsetStore) -> None:
        self._worker, self._store = worker, store

    def read(self, connector: Settings, on_done: OnAnswer[list[StoredOffset]]) -> None:
        """All offsets of the connector (its configuration, with ``name``) as they are now."""
        in_background(f"offsets-{connector['name']}", lambda: self._read(connector), on_done)

    def write(
        self,
        connector: Settings,
        changes: Sequence[Change] | None,
        on_done: OnAnswer[list[StoredOffset]],
        deadline: Deadline = NO_DEADLINE,
    ) -> None:
        """Alter offsets, or delete all of them (None); the connector must be stopped. The result is its new offsets.

        After the deadline nothing is written any more.
        """
        in_background(f"offsets-{connector['name']}", lambda: self._write(connector, changes, deadline), on_done)

    def _read(self, connector: Settings) -> list[StoredOffset]:
        name = connector["name"]
        await_done(self._store.read_to_end, "read to the end of the offsets topic")
        shared = self._store.snapshot(name)
        topic = own_offsets_topic(self._worker, connector)
        if topic is None:
            return shared
        own = self._open(connector, topic)
        try:
            return _together(name, shared, own)
        finally:
            own.close()

    def _write(self, connector: Settings, changes: Sequence[Change] | None, deadline: Deadline) -> list[StoredOffset]:
        name = connector["name"]
        topic = own_offsets_topic(self._worker, connector)
        await_done(self._store.read_to_end, "read to the end of the offsets topic")
        if topic is None:
            changes = _deletions(self._store.partitions(name)) if changes is None else changes
            self._write_shared(name, changes, deadline)
            return self._store.snapshot(name)
        own = self._open(connector, topic)
        try:
            if changes is None:
                changes = _deletions([*self._store.partitions(name), *own.partitions(name)])
            # Tombstones go to the worker's store first, so that a deleted offset never comes back from there.
            self._write_shared(name, [c for c in changes if c[1] is None], deadline)
            deadline.check()
            await_done(lambda done: own.write(name, changes, done), f"write offsets to topic `{topic}`")
            self._write_shared(name, [c for c in changes if c[1] is not None], deadline)
            return _together(name, self._store.snapshot(name), own)
        finally:
            own.close()

    def _write_shared(self, name: str, changes: Sequence[Change], deadline: Deadline) -> None:
        if changes:
            deadline.check()
            await_done(lambda done: self._store.write(name, changes, done), "write offsets")

    def _open(self, connector: Settings, topic: str) -> OffsetTopic:
        ready, failures, waits_for = threading.Event(), list[Exception](), list[str]()

        def failed(error: Exception) -> None:
            failures.append(error)
            ready.set()

        def waits(reason: str | None) -> None:
            waits_for[:] = [] if reason is None else [reason.removesuffix(RETRYING)]

        own = connector_offsets(
            self._worker, connector, topic, on_caught_up=ready.set, on_failed=failed, outages=Outages(waits)
        )
        own.start()
        if not ready.wait(_TIMEOUT) or failures:
            why = "".join(f". {reason}" for reason in waits_for)
            own.close()
            if failures:
                raise failures[0]
            late = f"Timed out while reading offsets topic `{topic}` of connector {connector['name']}"
            raise NoAnswerError(f"{late}{why}")
        return own


def _together(name: str, shared: Sequence[StoredOffset], own: OffsetTopic) -> list[StoredOffset]:
    return merged(shared, own.snapshot(name), own.deleted(name))


def merged(
    shared: Sequence[StoredOffset], own: Sequence[StoredOffset], deleted: Collection[bytes] = ()
) -> list[StoredOffset]:
    """One offset for each source partition; that of the own topic takes precedence, even if it is ``deleted`` there."""
    by_partition = {place: s for s in shared if (place := records.canonical(s.partition)) not in deleted}
    by_partition.update((records.canonical(s.partition), s) for s in own)
    return list(by_partition.values())


def _deletions(partitions: Sequence[dict[str, Any]]) -> list[Change]:
    different = {records.canonical(partition): partition for partition in partitions}
    return [(partition, None) for partition in different.values()]

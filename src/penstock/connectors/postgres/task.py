"""The task: publication and slot, the snapshot, the stream, and the positions that are confirmed to the server."""

from __future__ import annotations

import logging
import math
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock import __version__
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError
from penstock.api.origin import ON_ORIGIN_CHANGED, OriginPolicy, origin_changed
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.source import SourceProgress, SourceTask
from penstock.api.topic_names import TopicNames
from penstock.connectors.postgres.catalog import PostgresCatalog
from penstock.connectors.postgres.connection import connect, driver, unreachable
from penstock.connectors.postgres.envelope import ChangeEvent, name_for_topic
from penstock.connectors.postgres.monitoring import Heartbeats
from penstock.connectors.postgres.origin import (
    PROCEED,
    RESTART,
    LogOrigin,
    ServerLog,
    change_of_origin,
    stored_origin,
)
from penstock.connectors.postgres.progress import StreamPosition, StreamProgress, stored
from penstock.connectors.postgres.publication import captured_tables, ensure_publication
from penstock.connectors.postgres.replication import NewSlot, Replication, slot_position
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.snapshot import Snapshot
from penstock.connectors.postgres.stream import ChangeStream

log = logging.getLogger(__name__)

MAX_MESSAGES = 10_000
"""After so many of the server a poll returns, though they gave no record: those of tables that are not captured."""
Given = tuple[dict[str, Any], str, ChangeEvent]
"""A record with its source offset and topic."""


class PostgresSourceTask(SourceTask, RuntimeHooks):
    """Polls in one thread; ``stop`` and ``commit`` wait for it."""

    java_name = "penstock.connectors.PostgresSourceTask"

    stores_dropped = True
    """The server keeps its log up to the offset that is stored, also if transforms drop all that comes."""

    @classmethod
    def version(cls) -> str:
        return __version__

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._connection: Any = None
        self._replication: Replication | None = None
        self._snapshot: Snapshot | None = None
        self._rows: Iterator[tuple[str, ChangeEvent, bool]] | None = None
        self._stream: ChangeStream | None = None
        self._topics = TopicNames()
        self._progress: StreamProgress | None = None
        self._kept: list[Given] = []
        self._drained = True
        """Whether all that had arrived was taken."""
        self._confirmed = 0
        self._told = time.monotonic()
        self._offered = -math.inf
        self._origin: LogOrigin | None = None
        """The log that positions belong to; None if the committed offset does not say it."""
        self._abandoned: StreamPosition | None = None
        """The committed position that is not one in this log; until another is committed there is none."""

    def clock(self) -> int:
        """Nanoseconds since 1970."""
        return time.time_ns()

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = PostgresSettings.of(config)
        driver()
        self._heartbeats = Heartbeats(self._settings)
        self._partition = {"server": self._settings.prefix}
        if (position := self._committed()) is not None:
            offset = self.context.offset_reader.offset(self._partition)
            assert offset is not None
            self._origin = stored_origin(offset)
            self._progress = self._from(position)

    def poll(self) -> Batch | None:
        with self._lock:
            if self._stopped:
                return None
            try:
                if self._progress is None and self._rows is None:
                    self._begin()
                given = self._read_changes() if self._rows is None else self._read_rows(self._rows)
            except ConnectError:
                self._forget()
                raise
            except driver().Error as error:
                self._forget()
                raise unreachable(error, self._settings) from error
            return self._batch(given) if given else None

    def idle(self) -> float:
        """Return 0: ``poll`` itself waits for changes."""
        return 0.0

    def progress(self) -> list[SourceProgress]:
        """Return the position in the server's log; its end is the one that the server has sent last."""
        if self._progress is None or self._replication is None or not self._replication.streams:
            return []
        end = max(self._replication.sent, self._progress.read)
        return [SourceProgress(self._partition, self._progress.read, end, "bytes")]

    def uncarried_offsets(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the position up to which the log has no records of this connector, at times, so that the server can
        drop that part of it.
        """
        if self._progress is None or self._stream is None:
            return []
        position = self._progress.uncarried()
        if position is None or time.monotonic() < self._offered + self._settings.status_interval:
            return []
        self._offered = time.monotonic()
        self._ask_for_commit()
        return [(self._partition, self._offset(position))]

    def commit(self) -> None:
        """Let the server drop the part of its log that committed offsets cover."""
        with self._lock:  # ``poll`` may find that the committed position is not one in the log of the server
            if self._progress is not None and (position := self._committed()) is not None:
                self._progress.committed(position)

    def _committed(self) -> StreamPosition | None:
        """Return the committed position; None if there is none in this log, or a snapshot was not complete."""
        offset = self.context.offset_reader.offset(self._partition)
        if offset is None or offset.get("snapshot"):
            return None
        position = stored(offset)
        if position == self._abandoned:
            return None
        self._abandoned = None
        return position

    def _offset(self, position: StreamPosition) -> dict[str, Any]:
        offset = position.offset()
        if self._origin is not None:
            offset.update(self._origin.offset())
        return offset

    def stop(self) -> None:
        self._stopped = True
        with self._lock:
            if self._replication is not None and self._replication.streams:
                try:
                    self._tell(self._replication)
                except ConnectError:
                    pass
            self._close()

    def _from(self, position: StreamPosition) -> StreamProgress:
        self._returned = position
        return StreamProgress(position)

    # -- the beginning

    def _begin(self) -> None:
        """Begin without an offset: with a snapshot, or with the changes from now on."""
        catalog, settings = self._catalog(), self._settings
        if self._replication is None:
            self._replication = Replication(settings)
        # First, since the next command on the connection ends the snapshot of a slot's creation.
        self._origin = self._log(self._replication).origin
        slot = self._prepared(catalog, self._replication)
        if not settings.snapshot:
            self._progress = self._from(StreamPosition(0))
            return
        if slot is None:  # the slot existed before: another one, for a moment, says what the snapshot shows
            temporary = Replication(settings)
            try:
                slot = temporary.create_slot(f"{settings.slot[:50]}_snapshot", temporary=True)
                self._snapshot = Snapshot(settings, slot, self.clock)
            finally:
                temporary.close()
        else:
            self._snapshot = Snapshot(settings, slot, self.clock)
        log.info("Reading a snapshot at position %d", slot.lsn)
        self._rows = self._snapshot.records(captured_tables(catalog, settings))
        self._start = StreamPosition(slot.lsn)

    def _prepared(self, catalog: PostgresCatalog, replication: Replication) -> NewSlot | None:
        """Create publication and slot if they are missing; return the slot if it is new.

        Raises ConnectError if two tables have one topic.
        """
        settings = self._settings
        names = [name for name, _, _ in captured_tables(catalog, settings)]
        self._topics = TopicNames()
        for name in names:
            self._topics.topic(name_for_topic(settings, name))
        ensure_publication(catalog, settings, names)
        if slot_position(catalog, settings) is not None:
            return None
        return replication.create_slot(settings.slot)

    def _catalog(self) -> PostgresCatalog:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._settings)
        return PostgresCatalog(self._connection)

    # -- the snapshot

    def _read_rows(self, rows: Iterator[tuple[str, ChangeEvent, bool]]) -> list[Given]:
        given: list[Given] = []
        try:
            for topic, event, last in rows:
                offset = self._offset(self._start)
                given.append((offset if last else {**offset, "snapshot": True}, topic, event))
                if len(given) >= self._settings.batch:
                    break
            else:
                last = True
        except driver().Error as error:
            raise ConnectError(
                f"The snapshot was interrupted, and begins again when the task is restarted: {str(error).strip()}"
            ) from error
        if last:
            log.info("The snapshot is complete")
            assert self._snapshot is not None
            self._snapshot.close()
            self._snapshot = self._rows = None
            self._progress = self._from(self._start)
            if given:
                self._ask_for_commit()
        return given

    # -- the stream

    def _read_changes(self) -> list[Given]:
        assert self._progress is not None
        streaming = self._streaming()
        if streaming is None:
            return []
        replication, stream = streaming
        given = self._heartbeat() or self._taken(replication, stream)
        if not given and self._drained:
            poll = select.poll()  # `select.select` refuses descriptors above 1023
            poll.register(replication.fileno(), select.POLLIN)
            poll.poll(self._settings.poll_interval * 1000)
            given = self._taken(replication, stream)
        if self._progress.confirmable() > self._confirmed or self._is_due(self._settings.status_interval):
            self._tell(replication)
        if not self._kept:
            self._returned = self._progress.given
        elif given:
            self._returned = stored(given[-1][0])
        return given

    def _streaming(self) -> tuple[Replication, ChangeStream] | None:
        """Return the stream; None if the connector begins again, since its position is not one in this log."""
        assert self._progress is not None
        if self._stream is None or self._replication is None:
            catalog = self._catalog()
            if self._replication is None:
                self._replication = Replication(self._settings)
            server = self._log(self._replication)
            if self._is_another(catalog, self._origin, server, self._replication.switches):
                return None
            self._prepared(catalog, self._replication)
            self._replication.start(self._progress.given.lsn)
            # The slot may have been recreated since it was looked at; from now on it can't be dropped.
            if self._is_another(catalog, None, server, self._replication.switches):
                self._close()
                return None
            self._origin = server.origin
            self._stream = ChangeStream(catalog, self._settings, self._progress, self.clock, self._topics)
        return self._replication, self._stream

    def _is_another(
        self,
        catalog: PostgresCatalog,
        origin: LogOrigin | None,
        server: ServerLog,
        switches: Callable[[int], Mapping[int, int]],
    ) -> bool:
        """Return whether the position is not one in this log and slot, and do what ``on.origin.changed`` says then."""
        assert self._progress is not None
        position = self._progress.given
        if position == StreamPosition(0):
            return False
        slot = (self._settings.slot, slot_position(catalog, self._settings))
        change = change_of_origin(position.lsn, origin, server, slot, switches)
        if change is not None:
            self._abandon(change)
        return change is not None

    def _log(self, replication: Replication) -> ServerLog:
        """Return the log that the server has; the timeline of a standby server is not known for good."""
        server = replication.log()
        if self._catalog().rows("SELECT pg_is_in_recovery()")[0][0]:
            return replace(server, origin=replace(server.origin, timeline=None))
        return server

    def _abandon(self, change: str) -> None:
        """Do what ``on.origin.changed`` says if the position is not one in this server's log."""
        policy = self._settings.origin_policy
        if policy is OriginPolicy.FAIL:
            raise origin_changed(change, RESTART, PROCEED)
        log.warning("%s. %s=%s", change, ON_ORIGIN_CHANGED, policy)
        self._abandoned = self._committed()
        self._origin, self._confirmed = None, 0
        self._progress = None if policy is OriginPolicy.RESTART else self._from(StreamPosition(0))

    def _taken(self, replication: Replication, stream: ChangeStream) -> list[Given]:
        """Return the records that have arrived, up to the size of a batch.

        With ``transaction.boundary=connector`` the last record of a transaction that is still open waits, so that the
        end of the transaction can be requested with it.
        """
        assert self._progress is not None
        given, self._kept = self._kept, []
        self._drained = True
        for number, (data, lsn) in enumerate(replication.messages(), 1):
            given += [(self._offset(position), topic, event) for position, topic, event in stream.records(data, lsn)]
            if len(given) >= self._settings.batch or number >= MAX_MESSAGES:
                self._drained = False
                break
        if self._drained and not stream.open:
            self._progress.idle(replication.sent)
        if self.context.transaction is not None and given:
            if stream.open:
                self._kept = [given.pop()]
            else:
                self._ask_for_commit()
        return given

    def _ask_for_commit(self) -> None:
        if self.context.transaction is not None:
            self.context.transaction.commit_transaction()

    def _tell(self, replication: Replication) -> None:
        assert self._progress is not None
        self._confirmed, self._told = self._progress.confirmable(), time.monotonic()
        replication.confirm(self._confirmed)

    def _is_due(self, interval: float) -> bool:
        return time.monotonic() >= self._told + interval

    def _heartbeat(self) -> list[Given]:
        """Add a heartbeat if one is due; only between transactions, so that its offset covers everything before."""
        settings = self._settings
        assert self._progress is not None
        assert self._stream is not None
        if self._stream.open or self._kept or not self._heartbeats.due():
            return []
        if settings.heartbeat_query:
            self._catalog().rows(settings.heartbeat_query)
        self._ask_for_commit()
        return [(self._offset(self._progress.given), settings.heartbeat_topic, self._heartbeats.event(self.clock()))]

    def _batch(self, given: list[Given]) -> Batch:
        events = [event for _, _, event in given]
        return Batch.of(
            [topic for _, topic, _ in given],
            [event.value for event in events],
            value_schema=[event.value_schema for event in events],
            keys=[event.key for event in events],
            key_schema=[event.key_schema for event in events],
            headers=[event.headers for event in events],
            origin=SourceOrigin([self._partition] * len(given), [offset for offset, _, _ in given]),
        )

    def _forget(self) -> None:
        """Forget records that were read and not returned; called after an error, they are read again."""
        self._close()
        self._kept = []
        if self._progress is not None:
            self._progress.given = self._returned

    def _close(self) -> None:
        for each in (self._snapshot, self._replication, self._connection):
            if each is not None:
                each.close()
        self._replication = self._connection = self._snapshot = self._rows = self._stream = None

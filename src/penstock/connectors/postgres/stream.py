"""Conversion of the stream's messages to records, each with its position."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from penstock.api.topic_names import TopicNames
from penstock.connectors.postgres.catalog import PostgresCatalog, PostgresTable, RelationName
from penstock.connectors.postgres.envelope import ChangeEvent, ChangePlace, TableEvents, name_for_topic
from penstock.connectors.postgres.monitoring import TransactionCounts, topic_of
from penstock.connectors.postgres.pgoutput import Begin, Commit, Relation, RowChange, Truncate, decode
from penstock.connectors.postgres.progress import StreamPosition, StreamProgress
from penstock.connectors.postgres.settings import PostgresSettings

log = logging.getLogger(__name__)

Placed = tuple[StreamPosition, str, ChangeEvent]
"""A record with its position and topic."""


class ChangeStream:
    """The stream of one connection: its descriptions of tables hold for the changes that follow on it."""

    def __init__(
        self,
        catalog: PostgresCatalog,
        settings: PostgresSettings,
        progress: StreamProgress,
        clock: Callable[[], int],
        topics: TopicNames,
    ) -> None:
        """``topics``: of the captured tables that are known."""
        self._catalog, self._settings, self._progress, self._clock = catalog, settings, progress, clock
        self._topics = topics
        self._tables: dict[int, TableEvents | None] = {}
        self._transaction: TransactionCounts | None = None
        self._event = 0

    @property
    def open(self) -> bool:
        """Whether a transaction is open."""
        return self._transaction is not None

    def records(self, data: bytes, lsn: int) -> Iterator[Placed]:
        """Return the records of a message that have not been given yet. ``lsn``: its position in the server's log."""
        match decode(data):
            case Relation() as relation:
                self._tables[relation.oid] = self._events_of(relation)
            case Begin() as begin:
                self._transaction, self._event = TransactionCounts(begin), 0
                yield from self._marked(self._transaction.begun())
            case Commit() as commit:
                assert self._transaction is not None
                self._event += 1
                yield from self._marked(self._transaction.ended())
                self._transaction = None
                self._progress.finished(commit.end)
            case RowChange() as change:
                table = self._tables[change.relation]
                moment, now = self._next(lsn)
                if table is not None:
                    yield from self._placed(table, 1, table.changed(change, moment, now))
            case Truncate() as truncate:
                moment, now = self._next(lsn)
                number = 1
                for oid in truncate.relations:
                    if (table := self._tables[oid]) is not None:
                        yield from self._placed(table, number, table.truncated(moment, now))
                        number += 1
            case None:
                pass

    def _next(self, lsn: int) -> tuple[ChangePlace, int]:
        assert self._transaction is not None
        self._event += 1
        begin = self._transaction.begin
        return ChangePlace(begin.time, lsn, begin.xid, begin.lsn), self._clock()

    def _placed(self, table: TableEvents, first: int, events: Iterator[ChangeEvent]) -> Iterator[Placed]:
        assert self._transaction is not None
        for number, event in enumerate(events, first):
            if self._settings.transactions:
                self._transaction.mark(str(table.table.name), event)
            yield from self._unless_given(number, table.topic, event)

    def _marked(self, event: ChangeEvent) -> Iterator[Placed]:
        if self._settings.transactions:
            yield from self._unless_given(1, topic_of(self._settings), event)

    def _unless_given(self, number: int, topic: str, event: ChangeEvent) -> Iterator[Placed]:
        assert self._transaction is not None
        position = StreamPosition(self._transaction.begin.lsn, self._event, number)
        if position > self._progress.given:
            self._progress.given = position
            yield position, topic, event

    def _events_of(self, relation: Relation) -> TableEvents | None:
        """Return the events of a table, None if it is not captured. Raises ConnectError if its topic is another's."""
        if not self._settings.captures(relation.schema, relation.name):
            return None
        self._catalog.forget_types()
        name = RelationName(relation.schema, relation.name)
        self._topics.topic(name_for_topic(self._settings, name))
        columns = self._catalog.columns(relation.oid)
        found = TableEvents.of(
            self._catalog.type, self._settings, PostgresTable.of(name, relation.identity, relation.columns, columns)
        )
        report(found)
        return found


def report(table: TableEvents) -> None:
    if names := table.left_out():
        log.warning("Columns of %s are left out, as their types have no form in a record: %s", table.table.name, names)

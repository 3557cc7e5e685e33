"""All rows of the captured tables as they were at one position of the server's log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.connectors.postgres.catalog import PostgresCatalog, PostgresTable, RelationName
from penstock.connectors.postgres.connection import connect, driver
from penstock.connectors.postgres.envelope import ChangeEvent, ChangePlace, TableEvents
from penstock.connectors.postgres.replication import NewSlot
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.stream import report

_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, txid_snapshot_xmin(txid_current_snapshot())"


class Snapshot:
    """A transaction that sees what the slot's exported snapshot shows; it needs the slot's connection no longer."""

    def __init__(self, settings: PostgresSettings, slot: NewSlot, clock: Callable[[], int]) -> None:
        self._settings, self._slot, self._clock = settings, slot, clock
        self._connection = connect(settings)
        self._connection.set_session(isolation_level="REPEATABLE READ", readonly=True, autocommit=False)
        self._catalog = PostgresCatalog(self._connection)
        self._catalog.rows("SET TRANSACTION SNAPSHOT %s", slot.snapshot)

    def records(self, tables: Sequence[tuple[RelationName, int, str]]) -> Iterator[tuple[str, ChangeEvent, bool]]:
        """Yield topics, events, and whether it is the last one. Rows are fetched on demand."""
        before: tuple[TableEvents, Any, bool] | None = None
        nothing_yet = True
        ((time, xid),) = self._catalog.rows(_NOW)
        for table, row, first in self._rows(tables):
            if before is not None:
                mark = "first" if nothing_yet else _mark(before[2], before[0] is not table)
                nothing_yet = False
                yield (*self._event(before, mark, time, xid), False)
            before = (table, row, first)
        if before is not None:
            yield (*self._event(before, "last", time, xid), True)

    def _event(self, row: tuple[TableEvents, Any, bool], mark: str, time: int, xid: int) -> tuple[str, ChangeEvent]:
        return row[0].topic, row[0].read(row[1], ChangePlace(time, self._slot.lsn, xid, None, mark), self._clock())

    def _rows(self, tables: Sequence[tuple[RelationName, int, str]]) -> Iterator[tuple[TableEvents, Any, bool]]:
        """Yield rows with their tables, and whether each is its table's first."""
        for name, oid, identity in tables:
            known = self._catalog.columns(oid)
            events = TableEvents.of(self._catalog.type, self._settings, PostgresTable(name, identity, tuple(known)))
            report(events)
            with self._connection.cursor("penstock_snapshot") as cursor:
                cursor.itersize = self._settings.fetch_size
                oids = tuple({column.type_oid for column in known})
                as_text = driver().extensions.new_type(oids, "AS_TEXT", lambda value, _: value)
                driver().extensions.register_type(as_text, cursor)
                cursor.execute(select(name, [column.name for column in known]))
                for number, row in enumerate(cursor):
                    yield events, row, number == 0

    def close(self) -> None:
        self._connection.close()


def _mark(first: bool, last: bool) -> str:
    """Return the mark of a row, by its place in its table."""
    if last:
        return "last_in_data_collection"
    return "first_in_data_collection" if first else "true"


def select(name: RelationName, columns: Sequence[str]) -> str:
    listed = ", ".join(_quoted(column) for column in columns)
    return f"SELECT {listed} FROM {_quoted(name.schema)}.{_quoted(name.name)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""A table, or the query, that is read again and again: how far it is, and what the next read is."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.api.errors import ConnectError
from penstock.api.topic_names import topic_name
from penstock.connectors.jdbc.source.definition import HORIZON
from penstock.connectors.jdbc.source.offsets import QUERY, TablePosition
from penstock.connectors.jdbc.source.settings import JdbcSourceSettings
from penstock.connectors.jdbc.source.source_type import NUMERIC, WHOLE
from penstock.connectors.jdbc.source.tables import SourceTable, columns_for
from penstock.connectors.jdbc.source.types import SourceColumn, fields_of, left_out
from penstock.connectors.jdbc.source.windows import Extent, Window, value_of
from penstock.spark.query.jdbc.source.database import Database
from penstock.spark.query.jdbc.source.reading import Statements
from penstock.spark.query.jdbc.source.records import ReadShape

log = logging.getLogger(__name__)

_TIME_UNIT = 1_000_000
"""Ranges of times end at milliseconds, which every database has."""


_RUNNING = """
SELECT 'started ' || extract(epoch FROM pg_postmaster_start_time())
UNION ALL SELECT 'replica' WHERE pg_is_in_recovery()
UNION ALL SELECT l.virtualtransaction FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype IN ('virtualxid', 'transactionid') AND l.mode = 'ExclusiveLock'
AND l.pid IS DISTINCT FROM pg_backend_pid()
AND (a.datname IS NULL OR a.datname = current_database())
AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
"""
"""In one statement, so that the transactions are those of the server that it names."""


class Horizon:
    """PostgreSQL: up to where nobody can commit an earlier row of a table any more.

    A number or a time is given to a row before its transaction commits. So what is seen at some moment is complete only
    when all transactions that ran at that moment have ended. Which those are tell the locks on virtual transaction ids,
    which every user may read; the ids of transactions (``xmin``) don't, since a transaction gets its own late.

    A prepared transaction outlives its server, and has another virtual id once that has started again: what ran before
    is then asked for again. A replica does not show the transactions of its primary.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settled: int | None = None
        self._pending: tuple[int, frozenset[str]] | None = None
        self._started = ""
        """The start of the server that the transactions in ``_pending`` are of."""

    def reach(self, seen: int) -> int | None:
        """Return how far it is safe to read; ``seen``: what was seen before this call. None if nothing is safe yet.

        Raises ConnectError for a replica.
        """
        started, *found = self._database.texts(_RUNNING)
        if "replica" in found:
            raise ConnectError(
                f"The server of connection.url is a replica, which does not show the transactions of its primary that "
                f"can still commit earlier rows: {HORIZON}=true needs the primary. Name it in connection.url, or set "
                f"{HORIZON}=false with timestamp.delay.interval.ms"
            )
        running = frozenset(found)
        if started != self._started:
            self._pending, self._started = None, started
        if self._pending is not None and not self._pending[1] & running:
            self._settled, self._pending = self._pending[0], None
        if not running:
            self._settled = seen
        elif self._pending is None:
            self._pending = (seen, running)
        return self._settled


class ReadSource:
    """A table, or the query, that the source reads again and again.

    ``table``: None for the query. ``position`` is behind the last row that may be committed.
    """

    def __init__(
        self, settings: JdbcSourceSettings, database: Database, table: SourceTable | None, position: TablePosition
    ) -> None:
        self._settings, self._database, self._table = settings, database, table
        self._dialect = settings.connection.dialect
        self.partition: dict[str, Any] = QUERY if table is None else table.partition()
        self.topic = settings.prefix if table is None else topic_name(settings.prefix + table.name)
        self.position = position
        self.due = 0.0
        """When to look again, by ``time.monotonic``."""
        self.failures = 0
        """Number of consecutive failed reads."""
        self._told: list[str] = []
        self._knows_zone = False
        self._horizon = Horizon(database) if settings.horizon else None

    @property
    def is_query(self) -> bool:
        return self._table is None

    def __str__(self) -> str:
        return "the query" if self._table is None else f"table {self._table}"

    def next_read(self) -> Statements | None:
        """Return the statements that read the new rows, or None if there are none.

        Raises what ``Database`` does, ConnectError and DataError.
        """
        settings, dialect = self._settings, self._dialect
        text = settings.query or f"SELECT * FROM {self._sql_name()}"
        columns = self._database.columns(text)
        self._check_zone(columns)
        fields = fields_of(
            columns, dialect, settings.numbers, settings.granularity, settings.arrays, settings.durations
        )
        if (without := left_out(columns, fields)) != self._told:
            self._told = without
            log.warning("Connect has nothing for columns of %s, which are left out: %s", self, ", ".join(without))
        name = None if self._table is None else self._table.name
        shape = ReadShape.of(fields, name, settings.by_number, settings.by_time)
        number, times = self._number(columns), self._times(columns)
        self._check_null(columns, number, times)
        key = self._key(columns)
        window = Window(
            dialect,
            text,
            self._quoted(number),
            tuple(filter(None, map(self._quoted, times))),
            self._begin(),
            self._until() if settings.by_time else None,
            key=self._quoted(key),
            suffix=settings.suffix,
        )
        if settings.by_time and settings.horizon and window.until is None:
            return None
        # That of several times which counts is another one in each row.
        axis = number or key if not times else times[0] if len(times) == 1 else None
        selects = self._selects(window, next((column for column in columns if column.label == axis), None))
        if selects is None:
            return None
        positions = [_index(columns, each) for each in times]
        labels = tuple(column.label for column in columns)
        at = 0 if number is None else _index(columns, number)
        return Statements(tuple(selects), labels, shape, at, tuple(positions))

    def _check_zone(self, columns: Sequence[SourceColumn]) -> None:
        """Raise ConnectError if the server would send the times of instants in another zone than db.timezone."""
        if self._knows_zone:
            return
        types = {column.label: column.type_name for column in columns}
        if (problem := self._settings.connection.zone_problem(types, self._database.answer)) is not None:
            what = "The query" if self._table is None else f"Table {self._table}"
            raise ConnectError(f"{what}: {problem}")
        self._knows_zone = True

    def _selects(self, window: Window, column: SourceColumn | None) -> Sequence[Any] | None:
        """Return the ranges, or None if there are no rows. ``column``: the one by which they are split."""
        if self._table is None or window.axis is None:
            return window.selects([])
        extent = self._extent(window)
        if extent is None:
            return None
        if column is not None and self._splits(extent):
            extent = self._database.described(extent, self._table, column, window.kinds[0])
        if self._settings.by_time:
            return window.selects(self._cuts(extent, _TIME_UNIT))
        if not self._settings.by_number:
            return window.selects(self._cuts(extent))
        if self._horizon is not None:
            reach = self._horizon.reach(extent.high)
            if reach is None or (self.position.number is not None and reach <= self.position.number):
                return None
            extent = replace(extent, high=min(reach, extent.high))
        return replace(window, upto=extent.high).selects(self._cuts(extent))

    def _extent(self, window: Window) -> Extent | None:
        """Return the extent of the rows, or None if there are none. If one range holds them, the count may be low."""
        table, after = self._sql_name(), self.position.number
        if not window.times and window.number is not None and after is not None:
            # Most often an index answers this at once, and counting the rows would take longer than to read them.
            (found,) = self._database.row(window.greatest(table), "N")
            if found is None:
                return None
            extent = Extent(after, value_of(found), value_of(found) - after)
            if not self._splits(extent):
                return extent
        return Extent.of(self._database.row(window.extent(table), window.kinds))

    def _splits(self, extent: Extent) -> bool:
        """Return whether rows are read in ranges: not with a suffix, since a LIMIT in the first would skip rows."""
        return not self._settings.suffix and extent.rows > self._settings.rows

    def _cuts(self, extent: Extent, unit: int = 1) -> list[int]:
        return extent.cuts(self._settings.rows, unit) if self._splits(extent) else []

    def _begin(self) -> TablePosition:
        initial = self._settings.initial
        if self._settings.by_time and self.position.time is None and initial is not None:
            self.position = replace(self.position, time=self._database.now() if initial == -1 else initial * 1_000_000)
        return self.position

    def _until(self) -> int | None:
        now: int | None = self._database.now() - self._settings.delay * 1_000_000
        if self._horizon is not None and now is not None:
            now = self._horizon.reach(now)
        return now

    def _number(self, columns: Sequence[SourceColumn]) -> str | None:
        """Return the incrementing column's name. Raises ConnectError if there is none."""
        if not self._settings.by_number:
            return None
        mapped = None if self._table is None else columns_for(self._table, self._settings.number_mapping)
        if name := self._settings.number or (mapped[0] if mapped else ""):
            found = _found(columns, name, self)
            if not (column := columns[_index(columns, found) - 1]).whole:
                raise ConnectError(
                    f"Column {found} of {self} is of type {column.type_name}({column.precision},{column.scale}): "
                    "incrementing.column.name needs one of whole numbers"
                )
            return found
        numbered = [column.label for column in columns if column.numbered]
        if len(numbered) != 1:
            raise ConnectError(
                f"{self} has {len(numbered) or 'no'} columns that the database numbers itself: set "
                "incrementing.column.name"
            )
        return numbered[0]

    def _times(self, columns: Sequence[SourceColumn]) -> tuple[str, ...]:
        if not self._settings.by_time:
            return ()
        mapped = None if self._table is None else columns_for(self._table, self._settings.times_mapping)
        names = self._settings.times or mapped
        if not names:
            raise ConnectError(f"No entry of timestamp.columns.mapping fits {self}")
        return tuple(_found(columns, name, self) for name in names)

    def _check_null(self, columns: Sequence[SourceColumn], number: str | None, times: Sequence[str]) -> None:
        if not self._settings.not_null or self._table is None:
            return
        nullable = {column.label for column in columns if column.nullable}
        if number is not None and number in nullable:
            raise ConnectError(
                f"Column {number} of {self} may be null, and rows without a number are never read: make it NOT NULL, "
                "or set validate.non.null=false"
            )
        if times and set(times) <= nullable:
            raise ConnectError(
                f"{', '.join(times)} of {self} may be null, and rows without a time are never read: make one NOT NULL, "
                "or set validate.non.null=false"
            )

    def _key(self, columns: Sequence[SourceColumn]) -> str | None:
        """Return the primary key of a table that is read as a whole, if it is a whole number, to read ranges of it.

        None with a suffix of the user's, for which such a range leaves no place.
        """
        if self._table is None or self._settings.by_number or self._settings.by_time or self._settings.suffix:
            return None
        names = self._database.key(self._table)
        whole = {
            column.label
            for column in columns
            if column.type in WHOLE or (column.type == NUMERIC and column.scale == 0 and 0 < column.precision <= 18)
        }
        return names[0] if len(names) == 1 and names[0] in whole else None

    def _sql_name(self) -> str:
        assert self._table is not None
        return self._table.sql(self._dialect)

    def _quoted(self, column: str | None) -> str | None:
        if column is None:
            return None
        parts = column.split(".") if self.is_query else [column]
        return ".".join(map(self._dialect.quoted, parts))


def _found(columns: Sequence[SourceColumn], name: str, source: ReadSource) -> str:
    """Return the name as the database spells it; of a query, with the table in front of it that joins need."""
    prefix, dot, last = name.rpartition(".") if source.is_query else ("", "", name)
    labels = [column.label for column in columns]
    found = [last] if last in labels else [label for label in labels if label.casefold() == last.casefold()]
    if len(found) != 1:
        raise ConnectError(f"There is no column {name} in {source}, but {', '.join(labels)}")
    return f"{prefix}{dot}{found[0]}"


def _index(columns: Sequence[SourceColumn], name: str) -> int:
    labels = [column.label for column in columns]
    return labels.index(name if name in labels else name.rpartition(".")[2]) + 1

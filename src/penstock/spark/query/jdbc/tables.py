"""The tables of a sink, which are created or altered until they have the columns of its records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from penstock.api.drift import DRIFT, SchemaDrift
from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.jdbc.columns import RowShape, SinkColumn
from penstock.connectors.jdbc.dialects.base import Dialect, TableName
from penstock.connectors.jdbc.sink_definition import DELIVERY
from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings
from penstock.connectors.jdbc.statements import LedgerStatements
from penstock.spark.query.dataframes import full_text, root_cause
from penstock.spark.query.jdbc.java import JavaError, JdbcJava, lacks_driver
from penstock.spark.query.sink.progress import Partition


class SinkTables:
    """Tables of a sink's database, with a cache of their columns; call ``forget`` after an error."""

    def __init__(self, java: JdbcJava, settings: JdbcSinkSettings) -> None:
        self._java, self._settings = java, settings
        self._dialect: Dialect = settings.connection.dialect
        self._columns: dict[TableName, dict[str, str]] = {}
        """With the names of their types."""
        self._rooms: dict[TableName, dict[str, str]] = {}
        """The values that columns hold, as Java's ``Room`` writes it."""
        self._types: dict[TableName, dict[str, str]] = {}
        self._ready: set[RowShape] = set()
        self._lacking: set[RowShape] = set()
        """The shapes of which fields are left out."""

    def forget(self) -> None:
        self._columns.clear()
        self._rooms.clear()
        self._types.clear()
        self._ready.clear()
        self._lacking.clear()

    def look_again(self) -> None:
        """Forget the columns of tables that lacked some. Called before each batch, as they may have been added."""
        if self._lacking:
            self.forget()

    def prepare(self, shape: RowShape) -> str | None:
        """Make sure that the table has the columns; return why its records are to be dead letters, if they are.

        Raises ConnectError if that is impossible, and Java's errors.
        """
        if shape in self._ready:
            return None
        name = self._dialect.table_name(shape.table)
        with self._database() as database:
            if name not in self._columns:
                self._columns[name] = self._existing(database, name) or self._create(database, name, shape)
                self._check_engine(database, name)
            if missing := self._missing(name, shape):
                drift, lacks = self._settings.drift, self._lacks(name, missing)
                if drift is SchemaDrift.DEAD_LETTER:
                    self._lacking.add(shape)
                    return f"{lacks}, and {DRIFT}={drift}"
                if drift is SchemaDrift.IGNORE and not any(each.key for each in missing):
                    self._lacking.add(shape)
                else:
                    self._add(database, name, missing)
            self._check_zone(database, name, shape)
        self._types.pop(name, None)
        self._ready.add(shape)
        return None

    def _check_zone(self, database: Any, name: TableName, shape: RowShape) -> None:
        """Raise ConnectError if the server would take times of the shape's columns for others."""

        def ask(sql: str) -> str | None:
            try:
                return next(iter(database.values(sql, self._java.list([]))), None)
            except JavaError:
                return None

        types = self._columns[name]
        written = {each.name: types[each.name] for each in shape.in_table(types).columns if each.name in types}
        if (problem := self._settings.connection.zone_problem(written, ask)) is not None:
            raise ConnectError(f"Table {name}: {problem}")

    def known(self, shape: RowShape) -> RowShape:
        """Return the shape with the columns of its table, which is prepared."""
        columns = self._columns[self._dialect.table_name(shape.table)]
        found = shape.in_table(columns)
        if shape not in self._lacking:
            return found
        return replace(found, columns=tuple(column for column in found.columns if column.name in columns))

    def rooms(self, shape: RowShape) -> Mapping[str, str]:
        """Return the ``Room`` of each column of a prepared table, as Java writes it; none if values may be changed."""
        return self._rooms.get(self._dialect.table_name(shape.table), {}) if self._settings.exact else {}

    def copy(self, shape: RowShape) -> str | None:
        """Return the COPY for rows of a shape that is ``known``, or None if they have to be inserted."""
        if not self._settings.copies or shape.delete:
            return None
        name = self._dialect.table_name(shape.table)
        if name not in self._types:
            self._types[name] = self._known_types(name)
        return self._dialect.copy(name, shape.columns, self._types[name])

    def _known_types(self, name: TableName) -> dict[str, str]:
        """Return the types of columns; none where the catalog is not PostgreSQL's, though the protocol is."""
        with self._database() as database:
            try:
                found = list(database.values(self._dialect.column_types, self._java.list([self._dialect.table(name)])))
            except JavaError:
                found = []
        return dict(zip(found[::2], found[1::2], strict=True))

    def ledger(self, statements: LedgerStatements, sink: str) -> dict[str, int]:
        """Return the number of the last batch of a sink in the database, by epoch; create the table if missing."""
        with self._database() as database:
            try:
                values = list(database.values(statements.known, self._java.list([sink])))
            except JavaError as error:
                if not self._java.is_missing_table(error):
                    raise
                self._execute_if_new(database, statements.create, self._dialect.table_name(self._settings.ledger or ""))
                values = []
        known: dict[str, int] = {}
        for epoch, number in zip(values[::2], values[1::2], strict=True):
            known[epoch] = max(known.get(epoch, 0), int(number))
        return known

    def claim(self, ledger: Any) -> None:
        """Let no transaction of an earlier run commit from now on; ``ledger``: Java's, of the run that begins."""
        with self._database() as database:
            self._check_engine(database, self._dialect.table_name(self._settings.ledger or ""))
            database.claim(ledger)

    def stored(self, statements: LedgerStatements, sink: str) -> dict[Partition, tuple[BatchVersion, int]]:
        """Return the offsets of a sink in the database, each with the batch that has written it."""
        with self._database() as database:
            texts = [str(text) for text in database.values(statements.stored, self._java.list([sink]))]
        return {
            (topic, int(part)): (BatchVersion(epoch, int(batch)), int(offset))
            for topic, part, epoch, batch, offset in zip(*[iter(texts)] * 5, strict=True)
        }

    def store(self, ledger: Any, place: Partition, before: int, offset: int) -> None:
        """Replace the offset ``before`` of a partition; ``ledger``: Java's, of the batch that has left it there."""
        with self._database() as database:
            database.store(ledger, *place, before, offset)

    def _check_engine(self, database: Any, name: TableName) -> None:
        """Raise ConnectError for a table whose rows could not be written exactly once, since it has no transactions."""
        if self._settings.ledger is None or not self._dialect.not_transactional:
            return
        full = ".".join(name.parts[-2:])
        if found := list(database.values(self._dialect.not_transactional, self._java.list([full, full]))):
            raise ConnectError(
                f'Table "{name}" has the engine {found[0]}, which has no transactions: rows can\'t be written exactly '
                f"once. Change it (ALTER TABLE ... ENGINE=InnoDB), or set {DELIVERY}=at-least-once"
            )

    @contextlib.contextmanager
    def _database(self) -> Iterator[Any]:
        try:
            database = self._java.entry.database(self._java.connections)
            try:
                yield database
            finally:
                with contextlib.suppress(JavaError):
                    database.close()
        except JavaError as error:
            if (
                self._java.sql_error(error) is None
                and lacks_driver(full_text(error), self._settings.connection) is None
            ):
                # The driver's own exceptions do not pass.
                raise ConnectError(f"The tables could not be looked up: {root_cause(error)}") from error
            raise

    def _existing(self, database: Any, name: TableName) -> dict[str, str] | None:
        try:
            found = list(database.columns(f"SELECT * FROM {self._dialect.table(name)} WHERE 1=0"))
            self._rooms[name] = dict(zip(found[::3], found[2::3], strict=True))
            return dict(zip(found[::3], found[1::3], strict=True))
        except JavaError as error:
            if self._java.is_missing_table(error):
                return None
            raise

    def _create(self, database: Any, name: TableName, shape: RowShape) -> dict[str, str]:
        if not self._settings.creates:
            raise ConnectError(f'Table "{name}" is missing and auto-creation is disabled (auto.create=false)')
        if shape.delete and not self._settings.evolves:
            raise ConnectError(
                f'Table "{name}" is missing, and a record without a value does not tell its columns: with '
                "auto.evolve=true it is created with those of the key, and gets the others later"
            )
        return self._execute_if_new(database, self._dialect.create(name, shape.columns), name)

    def _execute_if_new(self, database: Any, sql: str, name: TableName) -> dict[str, str]:
        """Create the table, unless another connector has created it meanwhile."""
        try:
            database.execute(sql)
        except JavaError:
            if (found := self._existing(database, name)) is None:
                raise
            return found
        return self._existing(database, name) or {}

    @staticmethod
    def _lacks(name: TableName, missing: list[SinkColumn]) -> str:
        return f'Table "{name}" is missing fields ({", ".join(column.name for column in missing)})'

    def _missing(self, name: TableName, shape: RowShape) -> list[SinkColumn]:
        known = self._columns[name]
        return [column for column in shape.in_table(known).columns if column.name not in known]

    def _add(self, database: Any, name: TableName, missing: list[SinkColumn]) -> None:
        if not self._settings.evolves:
            setting = "auto.evolve=false" if self._settings.drift_setting is None else self._settings.drift_setting
            known = ", ".join(self._columns[name])
            raise ConnectError(
                f"{self._lacks(name, missing)} and auto-evolution is disabled ({setting}); it has the columns {known}"
            )
        for column in missing:
            if not column.optional and column.default is None:
                raise ConnectError(
                    f'Cannot ALTER TABLE "{name}" to add missing field {column.name}, as the field is not optional and '
                    "does not have a default value"
                )
        try:
            for sql in self._dialect.alter(name, missing):
                database.execute(sql)
        finally:
            self._columns[name] = self._existing(database, name) or {}

"""Queries of a source about its database: by a connection of Spark's driver, opened again when it breaks."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.api.errors import ConnectError
from penstock.connectors.jdbc.connection import Connection
from penstock.connectors.jdbc.source.tables import SourceTable
from penstock.connectors.jdbc.source.types import SourceColumn
from penstock.connectors.jdbc.source.windows import Extent, Select, value_of
from penstock.connectors.jdbc.sql_errors import SqlVerdict
from penstock.spark.query.dataframes import full_text, root_cause
from penstock.spark.query.jdbc.java import JavaError, JdbcJava, caused, lacks_driver, refused
from penstock.spark.query.jdbc.source.origins import DatabaseFile, DatabaseOrigin, DatabaseServer

log = logging.getLogger(__name__)


class DatabaseError(Exception):
    """The database can't be reached, or does not work, for now."""


class NoTableError(Exception):
    """The table does not exist any more."""


class Database:
    def __init__(self, java: JdbcJava, connection: Connection) -> None:
        self._java, self._connection = java, connection
        self._catalog: Any = None
        self._file: tuple[str, DatabaseFile] | None = None
        """The file that ``origin`` has returned last, after its path."""

    def tables(self, catalog: str | None, schema: str | None, types: Sequence[str]) -> list[SourceTable]:
        texts = self._ask("tables", catalog, schema, self._java.list(types))
        return sorted({SourceTable(*texts[i : i + 3]) for i in range(0, len(texts), 3)})

    def columns(self, sql: str) -> list[SourceColumn]:
        return SourceColumn.several(self._ask("columns", sql))

    def key(self, table: SourceTable) -> list[str]:
        return self._ask("key", table.catalog, table.schema, table.name)

    def row(self, select: Select, kinds: str) -> list[str | None]:
        parameters: list[str | None] = self._ask("row", select.sql, self._java.list(select.parameters), kinds)
        return parameters

    def described(self, extent: Extent, table: SourceTable, column: SourceColumn, kind: str) -> Extent:
        """Complete the extent by the database's statistics of the values; ``kind``: N or T."""
        dialect = self._connection.dialect
        schema, name, label, sql = map(_literal, (table.schema, table.name, column.label, table.sql(dialect)))
        type = "numeric" if kind == "N" else "timestamptz" if column.type_name == "timestamptz" else "timestamp"
        try:
            if not dialect.described or not (rows := self._numbers(dialect.described.format(table=sql), "N")):
                return extent
            bounds = self._numbers(dialect.bounds.format(type=type, schema=schema, name=name, column=label), kind)
        except (ConnectError, DatabaseError, NoTableError) as error:
            # The protocol is PostgreSQL's, the catalog is not.
            log.debug("%s has no statistics that are understood: %s", table, error)
            return extent
        return replace(extent, bounds=tuple(bounds), described=rows[0])

    def texts(self, sql: str) -> list[str]:
        return self._ask("texts", sql)

    def answer(self, sql: str) -> str | None:
        """Return the first value of a query's answer; None if the server refuses the query. Raises DatabaseError."""
        try:
            return next(iter(self.texts(sql)), None)
        except (ConnectError, NoTableError) as error:
            log.debug("The database does not answer %s: %s", sql, error)
            return None

    def origin(self) -> DatabaseOrigin | None:
        """Return the server, or the database's file; None if it has no id or does not tell it.

        Raises DatabaseError.
        """
        dialect = self._connection.dialect
        if not dialect.origin:
            return None
        try:
            found = self.texts(dialect.origin)
        except (ConnectError, NoTableError) as error:
            log.debug("The id of the database's server can't be read: %s", error)
            return None
        if not found or not found[0]:  # a database in memory has no file
            return None
        if not dialect.origin_is_file:
            return DatabaseServer(found[0])
        file = found[0], _file_at(found[0])
        if file != self._file:
            # A connection that was opened before may still read an old file.
            self.close()
            self._file = file
        return file[1]

    def is_replaced(self) -> bool:
        """Return whether another file is at the path of the database's since ``origin``.

        Raises DatabaseError if there is none.
        """
        return self._file is not None and not _file_at(self._file[0]).is_same(self._file[1])

    def now(self) -> int:
        """Return the database's time, in nanoseconds since 1970."""
        (found,) = self._ask("row", self._connection.dialect.now, self._java.list([]), "T")
        return value_of(found)

    def _numbers(self, sql: str, kind: str) -> list[int]:
        return [value_of(text) for text in self._ask("parameters", sql, kind)]

    def close(self) -> None:
        if self._catalog is not None:
            with contextlib.suppress(Exception):
                self._catalog.close()
            self._catalog = None

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """Run a query. Raises DatabaseError, NoTableError, and ConnectError for permanent errors."""
        try:
            if self._catalog is None:
                self._catalog = self._java.entry.catalog(self._java.connections, self._connection.zone)
            return [None if text is None else str(text) for text in getattr(self._catalog, method)(*arguments)]
        except JavaError as error:
            self.close()
            raised = self._raised(error)
            raise raised from raised.__cause__

    def _raised(self, error: Exception) -> Exception:
        if (lacking := lacks_driver(full_text(error), self._connection)) is not None:
            return lacking
        found = self._java.sql_error(error)
        if found is None:
            return ConnectError(f"The database could not be read: {root_cause(error)}")
        if self._java.is_missing_table(error):
            return caused(NoTableError(str(found)), found)
        if self._connection.dialect.errors.verdict(found) is SqlVerdict.TRANSIENT:
            return caused(DatabaseError(str(found)), found)
        return refused("The database could not be read", found)


def _file_at(path: str) -> DatabaseFile:
    """Return the file at a path. Raises DatabaseError."""
    try:
        return DatabaseFile.at(path)
    except OSError as error:
        raise DatabaseError(f"The database's file can't be read: {error}") from None


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

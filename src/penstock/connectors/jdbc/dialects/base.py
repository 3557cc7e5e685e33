"""The SQL that all databases have in common; a dialect overrides what differs.

A ``Statement`` is text with parameters, and the names of the columns that are bound to them, in order: a column may
be bound more than once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from penstock.api.errors import ConnectError
from penstock.connectors.jdbc.columns import PER_SECOND, ColumnKind, SinkColumn
from penstock.connectors.jdbc.sql_errors import STANDARD, ErrorTable

_PLAIN = re.compile(r"\w[\w$#@]*")
NOT_FINITE = frozenset({"nan", "inf", "-inf"})
NUMBERS = frozenset(
    {
        ColumnKind.INT8,
        ColumnKind.INT16,
        ColumnKind.INT32,
        ColumnKind.INT64,
        ColumnKind.FLOAT32,
        ColumnKind.FLOAT64,
        ColumnKind.DECIMAL,
        ColumnKind.BOOLEAN,
    }
)


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionStatement:
    """A statement that a session needs. If the server refuses it, and the query ``fulfilled`` does not return 1, the
    task fails with the sentence ``refused`` and the server's message.
    """

    sql: str
    fulfilled: str
    refused: str


@dataclass(frozen=True, slots=True)
class TableName:
    """A table, by the parts of its name: table, schema.table or catalog.schema.table."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


class Dialect:
    """SQL of one kind of database. ``quoting``: whether identifiers are quoted (``quote.sql.identifiers``)."""

    name: ClassVar[str]
    """Confluent's name of it, for ``dialect.name``."""
    subprotocols: ClassVar[tuple[str, ...]]
    """The parts that follow ``jdbc:`` in its URLs."""
    driver: ClassVar[str]
    """The class of its driver."""
    quotes: ClassVar[tuple[str, str]] = ('"', '"')
    types: ClassVar[Mapping[ColumnKind, str]]
    key_types: ClassVar[Mapping[ColumnKind, str]] = {}
    """Types of columns of the primary key, where they differ."""
    null: ClassVar[str] = " NULL"
    """The text behind the type of a column that may be null."""
    errors: ClassVar[ErrorTable] = STANDARD
    """The errors of it that pass, and those of statements."""
    no_table: ClassVar[str] = "42P01|42S02|42X05|42Y07|S0002"
    """A regular expression of SQLSTATEs that mean that there is no such table."""
    no_table_codes: ClassVar[frozenset[int]] = frozenset()
    no_table_text: ClassVar[str] = ""
    """A part of the message, for databases that have no code for a missing table."""
    cast: ClassVar[frozenset[str]] = frozenset()
    """The types of columns, as the driver names them, to which values have to be cast."""
    not_finite: ClassVar[Mapping[str, str]] = {}
    """SQL of the values of ``NOT_FINITE`` that columns of floating-point numbers can hold."""
    opening: ClassVar[tuple[str, ...]] = ()
    """Statements for each new session, of which one that fails is left out: other servers speak the protocol, too."""
    sink_opening: ClassVar[tuple[SessionStatement, ...]] = ()
    """Statements for each new session of a sink."""
    session_zone: ClassVar[str] = ""
    """A query for the zone of a session; empty if no statement sets it, see ``in_zone``."""
    instants: ClassVar[frozenset[str]] = frozenset()
    """The types, as the driver names them in lower case, whose values depend on the zone of the session."""
    load_zones: ClassVar[str] = ""
    """The remedy for a server that does not know a region, as a part of a sentence."""
    folds_case: ClassVar[bool] = False
    """Whether columns whose names differ only in case, in quotes too, are one."""
    lock: ClassVar[str | None] = None
    """The end of a SELECT whose rows nobody can change before the transaction ends; None: an UPDATE does that."""
    not_transactional: ClassVar[str] = ""
    """A query for the engine of the table that its parameter names, if the engine has no transactions."""
    single_writer: ClassVar[bool] = False
    """Whether only one connection can write at a time."""

    insert_properties: ClassVar[Mapping[str, str]] = {}
    """Properties of the driver by which batches of plain INSERTs are quicker."""
    copied: ClassVar[Mapping[ColumnKind, frozenset[str]]] = {}
    """The types of columns, as ``column_types`` names them, in which COPY leaves the same as an INSERT; empty if there
    is no COPY.
    """
    column_types: ClassVar[str] = ""
    """A query for names and types of the columns that COPY can write of the table in its parameter."""
    read_properties: ClassVar[Mapping[str, str]] = {}
    """Properties of the driver without which it does not read all digits."""

    now: ClassVar[str] = "SELECT CURRENT_TIMESTAMP"
    """A query for the database's time."""
    origin: ClassVar[str] = ""
    """A query for the server's id, which its physical copies share, or for the path of the database's file; empty where
    there is none, or servers of one cluster have ids of their own.
    """
    origin_is_file: ClassVar[bool] = False
    """Whether ``origin`` finds the path of a file on the machine of the task."""
    other_origin: ClassVar[str] = (
        "The server's system identifier is {found}, and the connector's offsets belong to the server {before}"
    )
    """The sentence for offsets of another server, or of another file."""
    described: ClassVar[str] = ""
    bounds: ClassVar[str] = ""
    """Queries for values of a column with about as many rows between any two, and for the number of all these rows."""
    open_scale: ClassVar[int] = 0
    """The digits after the point with which a NUMERIC is read whose type says nothing of digits."""
    item_types: ClassVar[Mapping[ColumnKind, str]] = {}
    """Types of the items of arrays, as the driver names them; empty if columns can't be arrays."""
    has_booleans: ClassVar[bool] = False
    """Whether there is a type for BOOLEAN; elsewhere it is a number, 1 or 0."""

    def __init__(self, quoting: bool = True) -> None:
        self.quoting = quoting

    @classmethod
    def in_zone(cls, zone: str) -> tuple[str, ...]:
        """The statements by which a session has a zone (a name of Java's) for times that have none of their own.

        Otherwise it has that of the server or of Spark's JVM. Databases may lack regions, see ``zone_in_session``.
        """
        return ()

    @classmethod
    def zone_in_session(cls, zone: str) -> str:
        """Return the answer to ``session_zone`` of a server that knows the zone; empty if every server knows it."""
        return ""

    # -- names

    def quoted(self, name: str) -> str:
        """Quote an identifier. Raises ConnectError for one that must not be quoted and could be more than a name."""
        if not self.quoting:
            if _PLAIN.fullmatch(name) is None:
                raise ConnectError(f"`{name}` has to be quoted: set quote.sql.identifiers=always")
            return name
        begin, end = self.quotes
        return f"{begin}{name.replace(end, end * 2)}{end}"

    def table_name(self, text: str) -> TableName:
        """The parts of a name as a configuration writes it; parts in quotes may contain dots, and quotes that are
        doubled, as in SQL.
        """
        begin, end = self.quotes
        parts, part, inside = [], "", False
        letters = iter(enumerate(text, 1))
        for following, letter in letters:
            if inside and letter == end == text[following : following + 1]:  # doubled: one of the name
                part += end
                next(letters)
            elif letter == (end if inside else begin):
                inside = not inside
            elif letter == "." and not inside:
                parts.append(part)
                part = ""
            else:
                part += letter
        parts.append(part)
        if not all(parts) or len(parts) > 3:
            raise ConnectError(f"`{text}` is no name of a table: table, schema.table or catalog.schema.table")
        return TableName(tuple(parts))

    def table(self, name: TableName) -> str:
        return ".".join(map(self.quoted, name.parts))

    def _list(self, columns: Iterable[SinkColumn], form: Callable[[str], str] = str, between: str = ",") -> str:
        return between.join(form(self.quoted(column.name)) for column in columns)

    # -- rows

    def insert(self, table: TableName, columns: Sequence[SinkColumn]) -> Statement:
        marks = ",".join(map(self.mark, columns))
        return Statement(f"INSERT INTO {self.table(table)} ({self._list(columns)}) VALUES ({marks})", _names(columns))

    def update(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        changes = ", ".join(f"{self.quoted(column.name)} = {self.mark(column)}" for column in others)
        return Statement(
            f"UPDATE {self.table(table)} SET {changes} WHERE {self._where(keys)}", _names([*others, *keys])
        )

    def delete(self, table: TableName, keys: Sequence[SinkColumn]) -> Statement:
        return Statement(f"DELETE FROM {self.table(table)} WHERE {self._where(keys)}", _names(keys))

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        raise NotImplementedError

    def copy(self, table: TableName, columns: Sequence[SinkColumn], types: Mapping[str, str]) -> str | None:
        """The COPY for rows as PostgreSQL's text, of the columns that ``insert`` has; None if it could leave something
        else in the table than ``insert``. ``types``: what ``column_types`` has found.
        """
        for column in columns:
            name = column.name if self.quoting else column.name.lower()
            if column.array or types.get(name) not in self.copied.get(column.kind, ()):
                return None
        return f"COPY {self.table(table)} ({self._list(columns)}) FROM STDIN"

    def binding(self, column: SinkColumn) -> str:
        """Return how the Java class ``Shape`` binds a value of this column."""
        if column.array:
            return f"ARRAY {self.item_types[column.kind]}"
        if column.kind is ColumnKind.BOOLEAN and not self.has_booleans:
            return "FLAG"
        return "BLOB" if self.type_of(column).startswith("BLOB") else column.kind.value

    def mark(self, column: SinkColumn) -> str:
        """The parameter of a column."""
        return f"?::{column.type}" if column.type in self.cast else "?"

    def _where(self, keys: Sequence[SinkColumn]) -> str:
        return " AND ".join(f"{self.quoted(column.name)} = {self.mark(column)}" for column in keys)

    def locked(self, table: str, column: str, where: str) -> str:
        """A statement that finds rows, and keeps others from changing them before the transaction ends."""
        if self.lock is None:
            return f"UPDATE {table} SET {column} = {column} WHERE {where}"
        return f"SELECT {column} FROM {table} WHERE {where}{self.lock}"

    # -- tables

    def create(self, table: TableName, columns: Sequence[SinkColumn]) -> str:
        lines = list(map(self.specification, columns))
        if keys := [column for column in columns if column.key]:
            lines.append(f"PRIMARY KEY({self._list(keys)})")
        return f"CREATE TABLE {self.table(table)} (\n" + ",\n".join(lines) + ")"

    def alter(self, table: TableName, columns: Sequence[SinkColumn]) -> list[str]:
        """The statements that add columns."""
        added = ",\n".join(f"ADD {self.specification(column)}" for column in columns)
        return [f"ALTER TABLE {self.table(table)}\n{added}"]

    def specification(self, column: SinkColumn) -> str:
        default = None if column.default is None else self.literal(column, column.default)
        if default is not None:
            end = f" DEFAULT {default}"
            # A column of the primary key must not be null, whether it has a default or not.
            end += " NOT NULL" if column.key else ""
        else:
            end = self.null if column.optional else " NOT NULL"
        return f"{self.quoted(column.name)} {self.type_of(column)}{end}"

    def type_of(self, column: SinkColumn) -> str:
        types = {**self.types, **self.key_types} if column.key else self.types
        kind = column.kind if column.kind in types or column.kind not in PER_SECOND else ColumnKind.TIMESTAMP
        return types[kind].format(scale=column.scale) + ("[]" if column.array else "")

    def literal(self, column: SinkColumn, text: str) -> str | None:
        """A default as text, see ``columns.default_text``; None if no column can hold it."""
        match column.kind:
            case ColumnKind.FLOAT32 | ColumnKind.FLOAT64 if text in NOT_FINITE:
                return self.not_finite.get(text)
            case ColumnKind.BOOLEAN:
                return self.boolean(text == "true")
            case ColumnKind.BYTES:
                return self.binary(text)
            case kind if kind in NUMBERS:
                return text
        return "'" + text.replace("'", "''") + "'"

    def boolean(self, value: bool) -> str:
        return "1" if value else "0"

    def binary(self, digits: str) -> str:
        return f"X'{digits}'"


def _names(columns: Iterable[SinkColumn]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


def merged(
    dialect: Dialect,
    head: str,
    columns: tuple[Sequence[SinkColumn], Sequence[SinkColumn]],
    target: str,
    end: str = "",
) -> Statement:
    """The rest of a MERGE whose rows are called ``incoming``, from ON on; ``target`` is what precedes its columns."""
    keys, others = columns

    def quoted(column: SinkColumn) -> str:
        return dialect.quoted(column.name)

    on = " AND ".join(f"{target}{quoted(column)}=incoming.{quoted(column)}" for column in keys)
    sql = f"{head} ON ({on})"
    if others:
        changes = ",".join(f"{quoted(column)}=incoming.{quoted(column)}" for column in others)
        sql += f" WHEN MATCHED THEN UPDATE SET {changes}"
    every = [*others, *keys]
    names = ",".join(map(quoted, every))
    values = ",".join(f"incoming.{quoted(column)}" for column in every)
    return Statement(f"{sql} WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values}){end}", _names([*keys, *others]))

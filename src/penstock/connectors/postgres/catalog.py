"""Tables and types in PostgreSQL's catalog: the facts that the stream of changes lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from penstock.connectors.postgres.pgoutput import RelationColumn

_COLUMNS = """
SELECT a.attname, a.atttypid::bigint, a.atttypmod, a.attnotnull,
       pg_get_expr(d.adbin, d.adrelid), format_type(a.atttypid, a.atttypmod),
       coalesce(array_position((i.indkey::int2[])[0 : i.indnkeyatts - 1], a.attnum) - 1, -1)
FROM pg_attribute a
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_index i ON i.indexrelid = (
    SELECT x.indexrelid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE x.indrelid = a.attrelid AND x.indisunique AND x.indisvalid AND x.indpred IS NULL AND x.indexprs IS NULL
    ORDER BY x.indisreplident DESC, x.indisprimary DESC, c.relname LIMIT 1)
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
_TYPE = """
SELECT n.nspname, t.typname, t.typtype::text, t.typbasetype::bigint, t.typtypmod, t.typcategory::text,
       t.typelem::bigint, array(SELECT enumlabel::text FROM pg_enum WHERE enumtypid = t.oid ORDER BY enumsortorder)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = %s
"""
_CONSTANTS = r"^(NULL|true|false|[-(]*[0-9.]+\)?|'([^']|'')*')(::[a-z][a-z ]*(\([0-9,]+\))?( without time zone)?)?$"


@dataclass(frozen=True, slots=True)
class PgType:
    """``kind``: ``b`` (base), ``d`` (domain, of ``base``), ``e`` (enum, with ``labels``), ``r`` (range) …"""

    name: str
    kind: str
    base: int
    base_modifier: int
    element: int
    labels: tuple[str, ...]


GONE = PgType("", "b", 0, -1, 0, ())
"""A type that the catalog does not have any more; it has no form in a record."""


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """A column. ``default``: the text of a constant, None also if computed. ``key``: its place in the key, or -1."""

    name: str
    type_oid: int
    modifier: int
    optional: bool
    default: str | None
    key: int


@dataclass(frozen=True, slots=True)
class RelationName:
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


class PostgresCatalog:
    """Queries of the catalog by an ordinary connection in autocommit, with a cache of types."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._types: dict[int, PgType] = {}
        self._before: dict[int, PgType] = {}
        """The types as they were when they were last looked up."""

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else []

    def type(self, oid: int) -> PgType:
        if oid not in self._types:
            self._types[oid] = self._asked(oid)
        return self._types[oid]

    def _asked(self, oid: int) -> PgType:
        """Query a type; return what was known of one that has been dropped since its rows were written."""
        if not (found := self.rows(_TYPE, oid)):
            return self._before.get(oid, GONE)
        _, name, kind, base, modifier, category, element, labels = found[0]
        return PgType(name, kind, base, modifier, element if category == "A" else 0, tuple(labels))

    def forget_types(self) -> None:
        """An enum may have new labels."""
        self._before |= self._types
        self._types.clear()

    def columns(self, table: int) -> list[PostgresColumn]:
        """Return the table's columns except generated ones, which are not streamed; none if it has been dropped."""
        return [
            PostgresColumn(name, oid, modifier, not required, self._constant(default, type), key)
            for name, oid, modifier, required, default, type, key in self.rows(_COLUMNS, table)
        ]

    def _constant(self, expression: str | None, type: str) -> str | None:
        if expression is None or not self.rows("SELECT 1 WHERE %s ~ %s", expression, _CONSTANTS):
            return None
        return self.rows(f"SELECT ({expression})::{type}::text")[0][0]


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A table as its rows come: the columns in the order in which they are sent."""

    name: RelationName
    identity: str
    columns: tuple[PostgresColumn, ...]

    @classmethod
    def of(
        cls, name: RelationName, identity: str, sent: tuple[RelationColumn, ...], known: list[PostgresColumn]
    ) -> Self:
        """Make a table of its columns as sent; the catalog, which may know a later state, adds to the same ones."""
        by_name = {column.name: column for column in known}
        columns = []
        for number, each in enumerate(sent):
            found = by_name.get(each.name)
            of_key = each.key and identity != "f"
            key = found.key if found else (number if of_key else -1)
            same = found is not None and (found.type_oid, found.modifier) == (each.type_oid, each.modifier)
            columns.append(
                PostgresColumn(
                    each.name,
                    each.type_oid,
                    each.modifier,
                    found.optional if found else not of_key,
                    found.default if found and same else None,
                    key,
                )
            )
        return cls(name, identity, tuple(columns))

    def key(self) -> list[int]:
        """The columns of the key, in the key's order."""
        places = [(column.key, number) for number, column in enumerate(self.columns) if column.key >= 0]
        return [number for _, number in sorted(places)]

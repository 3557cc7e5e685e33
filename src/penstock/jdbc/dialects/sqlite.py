"""SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import ColumnKind, SinkColumn
from penstock.jdbc.dialects.base import Statement, TableName
from penstock.jdbc.dialects.postgres import PostgreSql


class Sqlite(PostgreSql):
    """Its upsert is PostgreSQL's."""

    name = "SqliteDatabaseDialect"
    subprotocols = ("sqlite",)
    driver = "org.sqlite.JDBC"
    refused = "2[23].*"
    insert_properties = {}
    read_properties = {}
    copied = {}
    column_types = ""
    refused_codes = frozenset({18, 19, 20})  # too big, constraint, mismatch; SQLite has no SQLSTATEs
    no_table_text = "no such table"
    now = "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"
    described = bounds = ""
    texts = frozenset()
    cast = frozenset()
    open_scale = 0
    bit_strings = False
    item_types = {}
    wide = True
    has_booleans = False
    not_finite = {"inf": "9e999", "-inf": "-9e999"}
    single_writer = True
    types = {
        **dict.fromkeys(
            (ColumnKind.INT8, ColumnKind.INT16, ColumnKind.INT32, ColumnKind.INT64, ColumnKind.BOOLEAN), "INTEGER"
        ),
        **dict.fromkeys((ColumnKind.DECIMAL, ColumnKind.DATE, ColumnKind.TIME, ColumnKind.TIMESTAMP), "NUMERIC"),
        ColumnKind.FLOAT32: "REAL",
        ColumnKind.FLOAT64: "REAL",
        ColumnKind.STRING: "TEXT",
        ColumnKind.BYTES: "BLOB",
    }

    def alter(self, table: TableName, columns: Sequence[SinkColumn]) -> list[str]:
        return [statement for column in columns for statement in super(PostgreSql, self).alter(table, [column])]

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        return super().upsert(table, keys, others)

    def boolean(self, value: bool) -> str:
        return "1" if value else "0"

    def binary(self, digits: str) -> str:
        return f"X'{digits}'"

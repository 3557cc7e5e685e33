"""SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import Column, Kind
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
        **dict.fromkeys((Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64, Kind.BOOLEAN), "INTEGER"),
        **dict.fromkeys((Kind.DECIMAL, Kind.DATE, Kind.TIME, Kind.TIMESTAMP), "NUMERIC"),
        Kind.FLOAT32: "REAL",
        Kind.FLOAT64: "REAL",
        Kind.STRING: "TEXT",
        Kind.BYTES: "BLOB",
    }

    def alter(self, table: TableName, columns: Sequence[Column]) -> list[str]:
        return [statement for column in columns for statement in super(PostgreSql, self).alter(table, [column])]

    def upsert(self, table: TableName, keys: Sequence[Column], others: Sequence[Column]) -> Statement:
        return super().upsert(table, keys, others)

    def boolean(self, value: bool) -> str:
        return "1" if value else "0"

    def binary(self, digits: str) -> str:
        return f"X'{digits}'"

"""PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import Column, Kind
from penstock.jdbc.dialects.base import Dialect, Statement, TableName


class PostgreSql(Dialect):
    name = "PostgreSqlDatabaseDialect"
    subprotocols = ("postgresql",)
    driver = "org.postgresql.Driver"
    texts = frozenset({"json", "jsonb", "uuid"})
    insert_properties = {"reWriteBatchedInserts": "true"}
    bit_strings = True
    has_booleans = True
    types = {
        Kind.INT8: "SMALLINT",
        Kind.INT16: "SMALLINT",
        Kind.INT32: "INT",
        Kind.INT64: "BIGINT",
        Kind.FLOAT32: "REAL",
        Kind.FLOAT64: "DOUBLE PRECISION",
        Kind.BOOLEAN: "BOOLEAN",
        Kind.STRING: "TEXT",
        Kind.BYTES: "BYTEA",
        Kind.DECIMAL: "DECIMAL",
        Kind.DATE: "DATE",
        Kind.TIME: "TIME",
        Kind.TIMESTAMP: "TIMESTAMP",
    }

    def upsert(self, table: TableName, keys: Sequence[Column], others: Sequence[Column]) -> Statement:
        insert = self.insert(table, [*keys, *others])
        if not others:
            return Statement(f"{insert.sql} ON CONFLICT ({self._list(keys)}) DO NOTHING", insert.parameters)
        changes = self._list(others, lambda name: f"{name}=EXCLUDED.{name}")
        return Statement(f"{insert.sql} ON CONFLICT ({self._list(keys)}) DO UPDATE SET {changes}", insert.parameters)

    def boolean(self, value: bool) -> str:
        return "TRUE" if value else "FALSE"

    def binary(self, digits: str) -> str:
        return f"'\\x{digits}'"

"""MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import Column, Kind
from penstock.jdbc.dialects.base import Dialect, Statement, TableName


class MySql(Dialect):
    name = "MySqlDatabaseDialect"
    subprotocols = ("mariadb", "mysql")
    driver = "org.mariadb.jdbc.Driver"
    quotes = ("`", "`")
    texts = frozenset({"uuid"})
    read_properties = {"useServerPrepStmts": "true"}  # otherwise FLOAT comes as text of six digits
    # Data too long, out of range, wrong values, and constraints; most have SQLSTATE 22 or 23, some HY000.
    refused_codes = frozenset({1048, 1264, 1292, 1364, 1366, 1406, 3819, 4025})
    busy_codes = frozenset({1203, 1226})  # a user has as many connections as he may
    no_table_codes = frozenset({1146})
    types = {
        Kind.INT8: "TINYINT",
        Kind.INT16: "SMALLINT",
        Kind.INT32: "INT",
        Kind.INT64: "BIGINT",
        Kind.FLOAT32: "FLOAT",
        Kind.FLOAT64: "DOUBLE",
        Kind.BOOLEAN: "TINYINT",
        Kind.STRING: "TEXT",
        Kind.BYTES: "VARBINARY(1024)",
        Kind.DECIMAL: "DECIMAL(65,{scale})",
        Kind.DATE: "DATE",
        Kind.TIME: "TIME(3)",
        Kind.TIMESTAMP: "DATETIME(3)",
        Kind.MICROS: "DATETIME(6)",
        Kind.NANOS: "DATETIME(6)",
    }
    key_types = {Kind.STRING: "VARCHAR(256)"}

    def upsert(self, table: TableName, keys: Sequence[Column], others: Sequence[Column]) -> Statement:
        insert = self.insert(table, [*keys, *others])
        changes = self._list(others or keys, lambda name: f"{name}=VALUES({name})")
        return Statement(f"{insert.sql} ON DUPLICATE KEY UPDATE {changes}", insert.parameters)

    def literal(self, column: Column, text: str) -> str | None:
        """MySQL escapes by backslashes, and gives a TEXT a default only if that is an expression, in parentheses."""
        found = super().literal(column, text.replace("\\", "\\\\"))
        return f"({found})" if self.type_of(column) == "TEXT" else found

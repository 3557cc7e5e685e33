"""MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import ColumnKind, SinkColumn
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
        ColumnKind.INT8: "TINYINT",
        ColumnKind.INT16: "SMALLINT",
        ColumnKind.INT32: "INT",
        ColumnKind.INT64: "BIGINT",
        ColumnKind.FLOAT32: "FLOAT",
        ColumnKind.FLOAT64: "DOUBLE",
        ColumnKind.BOOLEAN: "TINYINT",
        ColumnKind.STRING: "TEXT",
        ColumnKind.BYTES: "VARBINARY(1024)",
        ColumnKind.DECIMAL: "DECIMAL(65,{scale})",
        ColumnKind.DATE: "DATE",
        ColumnKind.TIME: "TIME(3)",
        ColumnKind.TIMESTAMP: "DATETIME(3)",
        ColumnKind.MICROS: "DATETIME(6)",
        ColumnKind.NANOS: "DATETIME(6)",
    }
    key_types = {ColumnKind.STRING: "VARCHAR(256)"}

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        insert = self.insert(table, [*keys, *others])
        changes = self._list(others or keys, lambda name: f"{name}=VALUES({name})")
        return Statement(f"{insert.sql} ON DUPLICATE KEY UPDATE {changes}", insert.parameters)

    def literal(self, column: SinkColumn, text: str) -> str | None:
        """MySQL escapes by backslashes, and gives a TEXT a default only if that is an expression, in parentheses."""
        found = super().literal(column, text.replace("\\", "\\\\"))
        return f"({found})" if self.type_of(column) == "TEXT" else found

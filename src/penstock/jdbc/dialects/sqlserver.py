"""Microsoft SQL Server."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import ColumnKind, SinkColumn
from penstock.jdbc.dialects.base import Dialect, Statement, TableName, merged


class SqlServer(Dialect):
    """``holdlock``: whether a MERGE locks the rows that it looks for, as it must beside other writers."""

    name = "SqlServerDatabaseDialect"
    subprotocols = ("sqlserver", "microsoft:sqlserver", "jtds:sqlserver")
    driver = "com.microsoft.sqlserver.jdbc.SQLServerDriver"
    has_booleans = True
    times = frozenset({-155})  # DATETIMEOFFSET
    quotes = ("[", "]")
    # Null, constraints, conversions, arithmetic, truncation.
    refused_codes = frozenset({220, 241, 242, 245, 515, 547, 2601, 2627, 2628, 8114, 8115, 8152})
    no_table_codes = frozenset({208})
    types = {
        ColumnKind.INT8: "SMALLINT",
        ColumnKind.INT16: "SMALLINT",
        ColumnKind.INT32: "INT",
        ColumnKind.INT64: "BIGINT",
        ColumnKind.FLOAT32: "REAL",
        ColumnKind.FLOAT64: "FLOAT",
        ColumnKind.BOOLEAN: "BIT",
        ColumnKind.STRING: "VARCHAR(MAX)",
        ColumnKind.BYTES: "VARBINARY(MAX)",
        ColumnKind.DECIMAL: "DECIMAL(38,{scale})",
        ColumnKind.DATE: "DATE",
        ColumnKind.TIME: "TIME",
        ColumnKind.TIMESTAMP: "DATETIME2",
    }
    key_types = {ColumnKind.STRING: "VARCHAR(900)", ColumnKind.BYTES: "VARBINARY(900)"}

    def __init__(self, quoting: bool = True, holdlock: bool = True) -> None:
        super().__init__(quoting)
        self._holdlock = holdlock

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        rows = ",".join(f"{self.mark(column)} AS {self.quoted(column.name)}" for column in [*keys, *others])
        lock = " WITH (HOLDLOCK)" if self._holdlock else ""
        head = f"MERGE INTO {self.table(table)}{lock} AS target USING (SELECT {rows}) AS incoming"
        return merged(self, head, (keys, others), "target.", ";")

    def alter(self, table: TableName, columns: Sequence[SinkColumn]) -> list[str]:
        added = ",\n".join(map(self.specification, columns))
        return [f"ALTER TABLE {self.table(table)} ADD\n{added}"]

    def binary(self, digits: str) -> str:
        return f"0x{digits}"

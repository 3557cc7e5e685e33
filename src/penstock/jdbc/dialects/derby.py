"""Derby, which is among Spark's own jars."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import ColumnKind, SinkColumn
from penstock.jdbc.dialects.base import Dialect, Statement, TableName


class Derby(Dialect):
    name = "DerbyDatabaseDialect"
    subprotocols = ("derby",)
    driver = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
    now = "VALUES CURRENT_TIMESTAMP"
    null = ""
    types = {
        ColumnKind.INT8: "SMALLINT",
        ColumnKind.INT16: "SMALLINT",
        ColumnKind.INT32: "INTEGER",
        ColumnKind.INT64: "BIGINT",
        ColumnKind.FLOAT32: "FLOAT",
        ColumnKind.FLOAT64: "DOUBLE",
        ColumnKind.BOOLEAN: "SMALLINT",
        ColumnKind.STRING: "VARCHAR(32672)",
        ColumnKind.BYTES: "BLOB(64000)",
        ColumnKind.DECIMAL: "DECIMAL(31,{scale})",
        ColumnKind.DATE: "DATE",
        ColumnKind.TIME: "TIME",
        ColumnKind.TIMESTAMP: "TIMESTAMP",
    }
    key_types = {ColumnKind.STRING: "VARCHAR(256)", ColumnKind.BYTES: "VARCHAR(256) FOR BIT DATA"}

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        """A MERGE from a table of one row: Derby's takes no rows of parameters."""
        name = self.table(table)
        on = " AND ".join(f"{name}.{self.quoted(column.name)} = {self.mark(column)}" for column in keys)
        sql = f"MERGE INTO {name} USING SYSIBM.SYSDUMMY1 ON {on}"
        parameters = [*keys]
        if others:
            sql += " WHEN MATCHED THEN UPDATE SET " + ", ".join(
                f"{self.quoted(column.name)} = {self.mark(column)}" for column in others
            )
            parameters += others
        every = [*keys, *others]
        marks = ",".join(map(self.mark, every))
        sql += f" WHEN NOT MATCHED THEN INSERT ({self._list(every)}) VALUES ({marks})"
        return Statement(sql, tuple(column.name for column in [*parameters, *every]))

    def literal(self, column: SinkColumn, text: str) -> str | None:
        """A TIME has no fraction of a second."""
        return super().literal(column, text.partition(".")[0] if column.kind is ColumnKind.TIME else text)

    def alter(self, table: TableName, columns: Sequence[SinkColumn]) -> list[str]:
        return [statement for column in columns for statement in super(Derby, self).alter(table, [column])]

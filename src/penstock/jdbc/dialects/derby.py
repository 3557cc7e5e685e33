"""Derby, which is among Spark's own jars."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import Column, Kind
from penstock.jdbc.dialects.base import Dialect, Statement, TableName


class Derby(Dialect):
    name = "DerbyDatabaseDialect"
    subprotocols = ("derby",)
    driver = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
    now = "VALUES CURRENT_TIMESTAMP"
    null = ""
    types = {
        Kind.INT8: "SMALLINT",
        Kind.INT16: "SMALLINT",
        Kind.INT32: "INTEGER",
        Kind.INT64: "BIGINT",
        Kind.FLOAT32: "FLOAT",
        Kind.FLOAT64: "DOUBLE",
        Kind.BOOLEAN: "SMALLINT",
        Kind.STRING: "VARCHAR(32672)",
        Kind.BYTES: "BLOB(64000)",
        Kind.DECIMAL: "DECIMAL(31,{scale})",
        Kind.DATE: "DATE",
        Kind.TIME: "TIME",
        Kind.TIMESTAMP: "TIMESTAMP",
    }
    key_types = {Kind.STRING: "VARCHAR(256)", Kind.BYTES: "VARCHAR(256) FOR BIT DATA"}

    def upsert(self, table: TableName, keys: Sequence[Column], others: Sequence[Column]) -> Statement:
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

    def literal(self, column: Column, text: str) -> str | None:
        """A TIME has no fraction of a second."""
        return super().literal(column, text.partition(".")[0] if column.kind is Kind.TIME else text)

    def alter(self, table: TableName, columns: Sequence[Column]) -> list[str]:
        return [statement for column in columns for statement in super(Derby, self).alter(table, [column])]

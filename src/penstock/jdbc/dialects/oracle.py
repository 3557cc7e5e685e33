"""Oracle."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import ColumnKind, SinkColumn
from penstock.jdbc.dialects.base import NOT_FINITE, Dialect, Statement, TableName, merged


class Oracle(Dialect):
    name = "OracleDatabaseDialect"
    subprotocols = ("oracle",)
    driver = "oracle.jdbc.OracleDriver"
    # Constraints, nulls, numbers and text that are too large, conversions.
    refused_codes = frozenset({1, 1400, 1401, 1407, 1438, 1461, 1722, 1840, 1841, 1843, 2290, 2291, 2292, 12899})
    no_table_codes = frozenset({942})
    now = "SELECT CURRENT_TIMESTAMP FROM dual"
    types = {
        ColumnKind.INT8: "NUMBER(3,0)",
        ColumnKind.INT16: "NUMBER(5,0)",
        ColumnKind.INT32: "NUMBER(10,0)",
        ColumnKind.INT64: "NUMBER(19,0)",
        ColumnKind.FLOAT32: "BINARY_FLOAT",
        ColumnKind.FLOAT64: "BINARY_DOUBLE",
        ColumnKind.BOOLEAN: "NUMBER(1,0)",
        ColumnKind.STRING: "VARCHAR2(4000)",
        ColumnKind.BYTES: "BLOB",
        ColumnKind.DECIMAL: "NUMBER(*,{scale})",
        ColumnKind.DATE: "DATE",
        ColumnKind.TIME: "DATE",
        ColumnKind.TIMESTAMP: "TIMESTAMP",
        ColumnKind.MICROS: "TIMESTAMP(6)",
        ColumnKind.NANOS: "TIMESTAMP(9)",
    }
    key_types = {ColumnKind.STRING: "NVARCHAR2(255)", ColumnKind.BYTES: "RAW(255)"}

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        name = self.table(table)
        rows = ", ".join(f"{self.mark(column)} {self.quoted(column.name)}" for column in [*keys, *others])
        head = f"MERGE INTO {name} USING (SELECT {rows} FROM dual) incoming"
        return merged(self, head, (keys, others), f"{name}.")

    def alter(self, table: TableName, columns: Sequence[SinkColumn]) -> list[str]:
        added = ",\n".join(map(self.specification, columns))
        return [f"ALTER TABLE {self.table(table)} ADD (\n{added})"]

    def literal(self, column: SinkColumn, text: str) -> str | None:
        match column.kind:
            case ColumnKind.DATE:
                return f"DATE '{text}'"
            case ColumnKind.TIMESTAMP | ColumnKind.MICROS | ColumnKind.NANOS:
                return f"TIMESTAMP '{text}'"
            case ColumnKind.TIME:
                return f"TO_DATE('1970-01-01 {text[:8]}', 'YYYY-MM-DD HH24:MI:SS')"
            case ColumnKind.BYTES:
                return f"HEXTORAW('{text}')"
            case ColumnKind.FLOAT32 | ColumnKind.FLOAT64 if text in NOT_FINITE:
                sign, name = text.startswith("-") * "-", "NAN" if text == "nan" else "INFINITY"
                return f"{sign}{self.types[column.kind]}_{name}"
        return super().literal(column, text)

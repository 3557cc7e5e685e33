"""PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.jdbc.columns import ColumnKind, SinkColumn
from penstock.jdbc.dialects.base import Dialect, Statement, TableName

_WHOLE = frozenset({"int2", "int4", "int8", "numeric"})
_CAST = frozenset({"json", "jsonb", "uuid"})
"""Types that take a text only if it is cast."""


class PostgreSql(Dialect):
    name = "PostgreSqlDatabaseDialect"
    subprotocols = ("postgresql",)
    driver = "org.postgresql.Driver"
    texts = _CAST
    cast = _CAST
    # One INSERT of many rows can't change a row twice: of such a batch each row is written alone.
    refused = "2[23].*|21000"
    insert_properties = {"reWriteBatchedInserts": "true"}
    copied = {
        **dict.fromkeys((ColumnKind.INT8, ColumnKind.INT16, ColumnKind.INT32, ColumnKind.INT64), _WHOLE),
        ColumnKind.FLOAT32: frozenset({"float4"}),
        ColumnKind.FLOAT64: frozenset({"float8"}),
        ColumnKind.BOOLEAN: frozenset({"bool"}),
        ColumnKind.STRING: frozenset({"text", "varchar", "bpchar"}) | _CAST,
        ColumnKind.BYTES: frozenset({"bytea"}),
        ColumnKind.DECIMAL: frozenset({"numeric"}),
        ColumnKind.DATE: frozenset({"date"}),
        ColumnKind.TIME: frozenset({"time"}),
        ColumnKind.TIMESTAMP: frozenset({"timestamp"}),
    }
    # COPY does not mind rules, and writes columns that are GENERATED ALWAYS.
    column_types = (
        "SELECT a.attname, t.typname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
        "JOIN pg_type t ON t.oid = a.atttypid WHERE c.oid = to_regclass(?) AND c.relkind IN ('r', 'p') "
        "AND NOT c.relhasrules AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity <> 'a'"
    )
    # What the driver keeps of columns it would not look for again when a table has been altered.
    read_properties = {"databaseMetadataCacheFields": "0"}
    # Only ANALYZE writes them. Where much has changed since, they say little of where rows are now.
    described = (
        "SELECT c.reltuples::bigint FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid "
        "WHERE c.oid = to_regclass({table}) AND c.reltuples > 0 AND s.n_mod_since_analyze < c.reltuples"
    )
    bounds = (
        "SELECT b FROM (SELECT unnest(h) AS b FROM (SELECT histogram_bounds::text::{type}[] AS h FROM pg_stats WHERE "
        "schemaname = {schema} AND tablename = {name} AND attname = {column} ORDER BY inherited DESC LIMIT 1) s) u "
        "WHERE b::text NOT IN ('NaN', 'infinity', '-infinity') ORDER BY 1"
    )
    open_scale = 127
    bit_strings = True
    has_booleans = True
    not_finite = {"nan": "'NaN'", "inf": "'Infinity'", "-inf": "'-Infinity'"}
    item_types = {
        ColumnKind.INT8: "int2",
        ColumnKind.INT16: "int2",
        ColumnKind.INT32: "int4",
        ColumnKind.INT64: "int8",
        ColumnKind.FLOAT32: "float4",
        ColumnKind.FLOAT64: "float8",
        ColumnKind.BOOLEAN: "bool",
        ColumnKind.STRING: "text",
    }
    types = {
        ColumnKind.INT8: "SMALLINT",
        ColumnKind.INT16: "SMALLINT",
        ColumnKind.INT32: "INT",
        ColumnKind.INT64: "BIGINT",
        ColumnKind.FLOAT32: "REAL",
        ColumnKind.FLOAT64: "DOUBLE PRECISION",
        ColumnKind.BOOLEAN: "BOOLEAN",
        ColumnKind.STRING: "TEXT",
        ColumnKind.BYTES: "BYTEA",
        ColumnKind.DECIMAL: "DECIMAL",
        ColumnKind.DATE: "DATE",
        ColumnKind.TIME: "TIME",
        ColumnKind.TIMESTAMP: "TIMESTAMP",
    }

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        insert = self.insert(table, [*keys, *others])
        if not others:
            return Statement(f"{insert.sql} ON CONFLICT ({self._list(keys)}) DO NOTHING", insert.parameters)
        changes = self._list(others, lambda name: f"{name}=EXCLUDED.{name}")
        return Statement(f"{insert.sql} ON CONFLICT ({self._list(keys)}) DO UPDATE SET {changes}", insert.parameters)

    def boolean(self, value: bool) -> str:
        return "TRUE" if value else "FALSE"

    def binary(self, digits: str) -> str:
        return f"'\\x{digits}'"

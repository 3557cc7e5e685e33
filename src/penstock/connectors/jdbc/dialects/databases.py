"""Dialects of databases: PostgreSQL, SQLite, Derby, SQL Server, Oracle, and any other but MySQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from penstock.connectors.jdbc import sql_errors
from penstock.connectors.jdbc.columns import ColumnKind, SinkColumn, offset_of
from penstock.connectors.jdbc.dialects.base import NOT_FINITE, Dialect, Statement, TableName, merged

_WHOLE = frozenset({"int2", "int4", "int8", "numeric"})
_CAST = frozenset({"json", "jsonb", "uuid"})
"""Types that take a text only if it is cast."""


class PostgreSql(Dialect):
    name = "PostgreSqlDatabaseDialect"
    subprotocols = ("postgresql",)
    driver = "org.postgresql.Driver"
    origin = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()"
    cast = _CAST
    # One INSERT of many rows can't change a row twice (21000): of such a batch each row is written alone.
    errors = sql_errors.POSTGRESQL
    insert_properties = {"reWriteBatchedInserts": "true"}
    lock = " FOR SHARE"
    # A statement that waits for a lock checks whether its client is still there (PostgreSQL 14 and later).
    opening: ClassVar[tuple[str, ...]] = (
        "SELECT CASE WHEN current_setting('client_connection_check_interval', true) = '0' "
        "THEN set_config('client_connection_check_interval', '2000', false) END",
    )
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

    session_zone = "SELECT current_setting('TimeZone')"
    instants = frozenset({"timestamptz", "timetz"})
    load_zones = "bring the server's time zone data up to date"

    @classmethod
    def in_zone(cls, zone: str) -> tuple[str, ...]:
        offset = offset_of(zone)
        found = f"'{zone}'" if offset is None else f"INTERVAL '{offset}' HOUR TO MINUTE"
        return (f"SET TIME ZONE {found}",)

    @classmethod
    def zone_in_session(cls, zone: str) -> str:
        return zone if offset_of(zone) is None else ""

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


class Sqlite(PostgreSql):
    """SQLite, whose upsert is PostgreSQL's."""

    name = "SqliteDatabaseDialect"
    subprotocols = ("sqlite",)
    driver = "org.sqlite.JDBC"
    errors = sql_errors.SQLITE
    origin = "SELECT file FROM pragma_database_list WHERE name = 'main'"
    origin_is_file = True
    other_origin = "The database's file is {found}, and the connector's offsets belong to the file that was {before}"
    opening = ()
    session_zone = load_zones = ""
    instants = frozenset()
    insert_properties = {}
    lock = ""  # a transaction that has written is alone
    read_properties = {}
    copied = {}
    column_types = ""
    no_table_text = "no such table"
    now = "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"
    described = bounds = ""
    cast = frozenset()
    open_scale = 0
    item_types = {}
    has_booleans = False
    not_finite = {"inf": "9e999", "-inf": "-9e999"}
    folds_case = True
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

    @classmethod
    def in_zone(cls, zone: str) -> tuple[str, ...]:
        return ()

    def binding(self, column: SinkColumn) -> str:
        """A column keeps the digits of a decimal as text, or has about 15 of them, by the affinity of its type."""
        if column.kind is ColumnKind.DECIMAL:
            type = (column.type or self.type_of(column)).upper()
            return "DECIMAL" if any(part in type for part in ("CHAR", "CLOB", "TEXT", "BLOB")) else "DIGITS15"
        return super().binding(column)

    def alter(self, table: TableName, columns: Sequence[SinkColumn]) -> list[str]:
        return [statement for column in columns for statement in super(PostgreSql, self).alter(table, [column])]

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        return super().upsert(table, keys, others)

    def boolean(self, value: bool) -> str:
        return "1" if value else "0"

    def binary(self, digits: str) -> str:
        return f"X'{digits}'"


class Derby(Dialect):
    """Derby, which is among Spark's own jars."""

    name = "DerbyDatabaseDialect"
    subprotocols = ("derby",)
    driver = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
    errors = sql_errors.DERBY
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


class SqlServer(Dialect):
    """Microsoft SQL Server.

    ``holdlock``: whether a MERGE locks the rows that it looks for, as it must beside other writers.
    """

    name = "SqlServerDatabaseDialect"
    subprotocols = ("sqlserver", "microsoft:sqlserver", "jtds:sqlserver")
    driver = "com.microsoft.sqlserver.jdbc.SQLServerDriver"
    has_booleans = True
    quotes = ("[", "]")
    errors = sql_errors.SQL_SERVER
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


class Oracle(Dialect):
    name = "OracleDatabaseDialect"
    subprotocols = ("oracle",)
    driver = "oracle.jdbc.OracleDriver"
    errors = sql_errors.ORACLE
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


class Generic(Dialect):
    """Any other database, of which only what the SQL standard and the driver tell is known.

    Its tables are read, and rows are inserted, updated and deleted. It knows no types of columns, so it creates and
    alters no tables, and no upsert.
    """

    name = "GenericDatabaseDialect"
    subprotocols = ()
    driver = ""
    types = {}
    has_booleans = True

    def binding(self, column: SinkColumn) -> str:
        return column.kind.value

"""The dialect of MySQL and MariaDB."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from penstock.connectors.jdbc import sql_errors
from penstock.connectors.jdbc.columns import ColumnKind, SinkColumn, offset_of, tzinfo_of
from penstock.connectors.jdbc.dialects.base import Dialect, SessionStatement, Statement, TableName

_OFFSETS = dt.timedelta(hours=-12, minutes=-59), dt.timedelta(hours=13)
"""The least and the greatest offset that all versions of MariaDB and MySQL know."""


def _constant_offset(zone: str) -> str | None:
    """Return the offset of a zone, or of a region that has always had the same one.

    None of other regions, and of those whose offset MariaDB and MySQL do not know without tables of zones.
    """
    if (offset := offset_of(zone)) is not None:
        return offset
    found = dt.time(tzinfo=tzinfo_of(zone)).utcoffset()  # None if it depends on the date
    if found is None or found.seconds % 60 or not _OFFSETS[0] <= found <= _OFFSETS[1]:
        return None
    minutes = abs(found) // dt.timedelta(minutes=1)
    return f"{'-' if found < dt.timedelta() else '+'}{minutes // 60:02}:{minutes % 60:02}"


class MySql(Dialect):
    """MySQL and MariaDB."""

    name = "MySqlDatabaseDialect"
    subprotocols = ("mariadb", "mysql")
    driver = "org.mariadb.jdbc.Driver"
    folds_case = True
    quotes = ("`", "`")
    # A statement that waits for a row does not check whether its client is still there: it waits for shorter times.
    opening = (
        "SET @penstock_lock_wait = @@SESSION.innodb_lock_wait_timeout, "
        "SESSION innodb_lock_wait_timeout = LEAST(@@SESSION.innodb_lock_wait_timeout, 5)",
    )
    # Otherwise a server whose sql_mode is not strict cuts values to what fits into their columns.
    sink_opening = (
        SessionStatement(
            "SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@SESSION.sql_mode, ''), 'STRICT_ALL_TABLES')",
            "SELECT @@SESSION.sql_mode LIKE '%STRICT_%_TABLES%'",
            "The server does not let the sink's session have sql_mode STRICT_ALL_TABLES, without which it could cut "
            "values to what fits into their columns: set it on the server, as sql_mode of all its sessions",
        ),
    )
    session_zone = "SELECT @@SESSION.time_zone"
    instants = frozenset({"timestamp"})
    load_zones = "load its time zone tables (mariadb-tzinfo-to-sql, mysql_tzinfo_to_sql)"
    lock = " LOCK IN SHARE MODE"
    not_transactional = (
        "SELECT t.ENGINE FROM information_schema.TABLES t LEFT JOIN information_schema.ENGINES e "
        "ON e.ENGINE = t.ENGINE WHERE CONCAT(t.TABLE_SCHEMA, '.', t.TABLE_NAME) IN (?, CONCAT(DATABASE(), '.', ?)) "
        "AND t.TABLE_TYPE = 'BASE TABLE' AND COALESCE(e.TRANSACTIONS, 'NO') <> 'YES'"
    )
    read_properties = {"useServerPrepStmts": "true"}  # otherwise FLOAT comes as text of six digits
    errors = sql_errors.MYSQL
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

    @classmethod
    def in_zone(cls, zone: str) -> tuple[str, ...]:
        """With a server that does not know the region, ``NOW()`` at least is right, by the offset that it has now."""
        if (offset := _constant_offset(zone)) is not None:
            return (f"SET time_zone = '{offset}'",)
        now = dt.datetime.now(tzinfo_of(zone)).strftime("%z")
        return (f"SET time_zone = '{now[:3]}:{now[3:5]}'", f"SET time_zone = '{zone}'")

    @classmethod
    def zone_in_session(cls, zone: str) -> str:
        offset = _constant_offset(zone)
        return "" if offset == "+00:00" else offset or zone

    def upsert(self, table: TableName, keys: Sequence[SinkColumn], others: Sequence[SinkColumn]) -> Statement:
        insert = self.insert(table, [*keys, *others])
        changes = self._list(others or keys, lambda name: f"{name}=VALUES({name})")
        return Statement(f"{insert.sql} ON DUPLICATE KEY UPDATE {changes}", insert.parameters)

    def literal(self, column: SinkColumn, text: str) -> str | None:
        """MySQL escapes by backslashes, and gives a TEXT a default only if that is an expression, in parentheses."""
        found = super().literal(column, text.replace("\\", "\\\\"))
        return f"({found})" if self.type_of(column) == "TEXT" else found

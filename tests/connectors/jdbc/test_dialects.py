"""The SQL of every dialect, beside golden files.

``python tests/connectors/jdbc/test_dialects.py`` writes them again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.api.errors import ConfigError, ConnectError
from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn, default_text
from penstock.connectors.jdbc.connection import CONNECTION, Connection
from penstock.connectors.jdbc.dialects import DIALECTS, dialect_of
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.dialects.databases import Oracle, PostgreSql, Sqlite, SqlServer
from penstock.connectors.jdbc.dialects.mysql import MySql
from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings
from penstock.connectors.jdbc.source.definition import JDBC_SOURCE_CONFIG
from penstock.connectors.jdbc.statements import LedgerStatements, statement_of

GOLDEN = Path(__file__).parent / "golden"


def column(name: str, kind: ColumnKind, **more: object) -> SinkColumn:
    return SinkColumn(name, kind, RecordPart.VALUE, name, **more)  # type: ignore[arg-type]


KEYS = (column("id", ColumnKind.INT64, key=True), column('na"me', ColumnKind.STRING, key=True))
DEFAULTS = {
    ColumnKind.BOOLEAN: "true",
    ColumnKind.STRING: "it's",
    ColumnKind.BYTES: "00ff",
    ColumnKind.DECIMAL: "-1.50",
    ColumnKind.DATE: "2026-11-22",
    ColumnKind.TIME: "13:14:15.678",
    ColumnKind.TIMESTAMP: "2026-11-22 13:14:15.678",
    ColumnKind.MICROS: "2026-11-22 13:14:15.678901",
    ColumnKind.NANOS: "2026-11-22 13:14:15.678901",
}
OPTIONAL = tuple(column(kind.lower(), kind, optional=True, scale=2) for kind in ColumnKind)
DEFAULTED = tuple(column(f"{kind.lower()}_d", kind, scale=2, default=DEFAULTS.get(kind, "7")) for kind in ColumnKind)
TWO = (column("b", ColumnKind.STRING, optional=True), column("c", ColumnKind.INT32))


def text_of(dialect: Dialect) -> str:
    """Return all statements of a dialect."""
    table = dialect.table_name("sales.orders")
    rows = RowShape("sales.orders", (*KEYS, *TWO))
    keys = RowShape("sales.orders", KEYS)
    ledger = LedgerStatements.of(dialect, "penstock_batches")
    parts = [
        dialect.create(table, (*KEYS, *OPTIONAL, *DEFAULTED)),
        dialect.create(table, TWO),
        *dialect.alter(table, (TWO[0], DEFAULTED[0])),
    ]
    for mode, shape in [("insert", rows), ("upsert", rows), ("upsert", keys), ("update", rows)]:
        statement = statement_of(dialect, mode, shape)
        parts.append(f"-- {mode}: {', '.join(statement.parameters)}\n{statement.sql}")
    parts.append(statement_of(dialect, "upsert", RowShape("sales.orders", KEYS, delete=True)).sql)
    parts += [ledger.create, ledger.select, ledger.update, ledger.insert, ledger.known]
    parts += [ledger.stored, ledger.fence]
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("kind", DIALECTS, ids=lambda kind: kind.name)
def test_statements_of_each_dialect_equal_the_golden_file(kind: type[Dialect]) -> None:
    assert text_of(kind()) == (GOLDEN / f"{kind.name}.sql").read_text("utf-8")


def test_identifiers_are_plain_without_quoting() -> None:
    dialect = PostgreSql(quoting=False)
    assert statement_of(dialect, "insert", RowShape("t", TWO)).sql == "INSERT INTO t (b,c) VALUES (?,?)"


@pytest.mark.parametrize("name", ["a b", "a)--", "t;DROP TABLE t", '"t"', "", "t-1"])
def test_unquoted_identifiers_that_are_no_plain_names_are_refused(name: str) -> None:
    with pytest.raises(ConnectError, match=r"has to be quoted: set quote\.sql\.identifiers=always"):
        PostgreSql(quoting=False).quoted(name)
    assert PostgreSql(quoting=False).quoted("größe_1$") == "größe_1$"


def test_a_default_of_mysql_ends_where_it_says() -> None:
    dialect = MySql()
    assert dialect.literal(column("a", ColumnKind.STRING), "it's a \\") == r"('it''s a \\')"
    assert dialect.literal(column("a", ColumnKind.STRING, key=True), r"\'); x") == r"'\\''); x'"


def test_sql_server_without_holdlock() -> None:
    def sql(**more: str) -> str:
        config = {"connection.url": "jdbc:sqlserver://db", "insert.mode": "upsert", "pk.mode": "record_key", **more}
        dialect = JdbcSinkSettings.of(config).connection.dialect
        return statement_of(dialect, "upsert", RowShape("t", (*KEYS, *TWO))).sql

    assert "HOLDLOCK" in sql()
    assert "HOLDLOCK" not in sql(**{"mssql.use.merge.holdlock": "false"})


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ("a",)),
        ("s.a", ("s", "a")),
        ("c.s.a", ("c", "s", "a")),
        ('s."a.b"', ("s", "a.b")),
        ('s."a"".""b"', ("s", 'a"."b')),
    ],
)
def test_table_names_are_split_into_catalog_schema_and_table(text: str, parts: tuple[str, ...]) -> None:
    assert PostgreSql().table_name(text).parts == parts


def test_names_of_tables_in_brackets() -> None:
    assert SqlServer().table_name("s.[a[.]]b]").parts == ("s", "a[.]b")


@pytest.mark.parametrize(
    ("dialect", "infinite", "negative", "no_number"),
    [
        (PostgreSql(), "REAL DEFAULT 'Infinity'", "REAL DEFAULT '-Infinity'", "REAL DEFAULT 'NaN'"),
        (
            Oracle(),
            "BINARY_FLOAT DEFAULT BINARY_FLOAT_INFINITY",
            "BINARY_FLOAT DEFAULT -BINARY_FLOAT_INFINITY",
            "BINARY_FLOAT DEFAULT BINARY_FLOAT_NAN",
        ),
        (Sqlite(), "REAL DEFAULT 9e999", "REAL DEFAULT -9e999", "REAL NULL"),
        (MySql(), "FLOAT NULL", "FLOAT NULL", "FLOAT NULL"),
    ],
)
def test_defaults_that_are_no_finite_numbers(dialect: Dialect, infinite: str, negative: str, no_number: str) -> None:
    for value, wanted in ((math.inf, infinite), (-math.inf, negative), (math.nan, no_number)):
        one = column("f", ColumnKind.FLOAT32, optional=True, default=default_text(value))
        assert dialect.specification(one) == f"{dialect.quoted('f')} {wanted}"
    assert MySql().specification(replace(one, optional=False)) == "`f` FLOAT NOT NULL"


@pytest.mark.parametrize("text", ["", "a.", "a.b.c.d"])
def test_malformed_table_names_are_refused(text: str) -> None:
    with pytest.raises(ConnectError, match="is no name of a table"):
        PostgreSql().table_name(text)


def test_an_update_without_columns_to_change() -> None:
    with pytest.raises(ConnectError, match="no column of t to change"):
        statement_of(PostgreSql(), "update", RowShape("t", KEYS))


def test_plain_inserts_are_sent_together_unless_the_configuration_says_otherwise() -> None:
    def given(**more: str) -> object:
        config = {"connection.url": "jdbc:postgresql://db/app", "pk.mode": "record_key", **more}
        return JdbcSinkSettings.of(config).connection.properties.get("reWriteBatchedInserts")

    assert given() == "true"
    assert given(**{"connection.reWriteBatchedInserts": "false"}) == "false"
    # Two rows of one key can't be upserted by one statement.
    assert given(**{"insert.mode": "upsert"}) is None


COPIED = (column("Id", ColumnKind.INT32), column("name", ColumnKind.STRING))
TYPES = {"Id": "int8", "name": "varchar"}


def test_rows_are_copied_into_columns_that_take_them_as_an_insert_does() -> None:
    dialect = PostgreSql()
    table = dialect.table_name("sales.orders")
    assert dialect.copy(table, COPIED, TYPES) == 'COPY "sales"."orders" ("Id","name") FROM STDIN'
    without_quotes = PostgreSql(quoting=False)
    assert without_quotes.copy(table, COPIED, {"id": "int4", "name": "text"}) == (
        "COPY sales.orders (Id,name) FROM STDIN"
    )
    # An INSERT would cast, or refuse.
    for other in ({"Id": "float8"}, {"Id": "text"}, {"name": "xml"}, {"name": "a_domain"}):
        assert dialect.copy(table, COPIED, {**TYPES, **other}) is None
    assert dialect.copy(table, COPIED, {"Id": "int4"}) is None
    assert dialect.copy(table, (column("tags", ColumnKind.STRING, array=True),), {"tags": "_text"}) is None
    assert [kind.name for kind in DIALECTS if kind.copied] == [PostgreSql.name]


@pytest.mark.parametrize("name", ["uuid", "json", "jsonb"])
def test_texts_are_cast_to_what_postgresql_does_not_take_them_for(name: str) -> None:
    shape = RowShape("t", (*KEYS, *TWO)).in_table({"id": "uuid", 'na"me': "text", "b": name, "c": "int4"})
    dialect = PostgreSql()
    insert, update = (statement_of(dialect, mode, shape).sql for mode in ("insert", "update"))
    assert insert.endswith(f"VALUES (?::uuid,?,?::{name},?)")
    assert update == f'UPDATE "t" SET "b" = ?::{name}, "c" = ? WHERE "id" = ?::uuid AND "na""me" = ?'
    assert f"VALUES (?::uuid,?,?::{name},?) ON CONFLICT" in statement_of(dialect, "upsert", shape).sql
    deletion = statement_of(dialect, "upsert", RowShape("t", shape.keys, delete=True)).sql
    assert deletion == 'DELETE FROM "t" WHERE "id" = ?::uuid AND "na""me" = ?'
    assert dialect.copy(dialect.table_name("t"), (TWO[0],), {"b": name}) is not None
    assert "::" not in statement_of(Sqlite(), "upsert", shape).sql


def test_columns_are_named_as_the_table_has_them() -> None:
    def names(*types: str) -> list[str]:
        return [each.name for each in RowShape("t", COPIED).in_table(dict.fromkeys(types, "text")).columns]

    assert names("ID", "NAME") == ["ID", "NAME"]
    assert names("id", "Id", "name") == ["Id", "name"]
    assert names("id") == ["id", "name"]
    both = RowShape("t", (column("id", ColumnKind.INT32), column("ID", ColumnKind.INT32)))
    assert [each.name for each in both.in_table({"ID": "int4"}).columns] == ["id", "ID"]


@pytest.mark.parametrize(
    ("config", "copies"),
    [
        ({}, True),
        ({"insert.mode": "upsert", "pk.mode": "record_key"}, False),
        ({"insert.mode": "upsert", "pk.mode": "record_key", "connection.reWriteBatchedInserts": "true"}, False),
        ({"connection.reWriteBatchedInserts": "false"}, False),
        ({"connection.url": "jdbc:postgresql://db/app?ssl=true&reWriteBatchedInserts=false"}, False),
        ({"connection.url": "jdbc:sqlite:x"}, False),
    ],
)
def test_copy_is_used_where_it_equals_inserts(config: dict[str, str], copies: bool) -> None:
    assert JdbcSinkSettings.of({"connection.url": "jdbc:postgresql://db/app", **config}).copies is copies


def test_the_table_of_batches_is_that_of_the_setting() -> None:
    def ledger(**more: str) -> str | None:
        return JdbcSinkSettings.of({"connection.url": "jdbc:postgresql://db/app", **more}).ledger

    once = {"penstock.delivery": "exactly-once"}
    assert ledger() is None
    assert ledger(**once) == "penstock_batches"
    assert ledger(**once, **{"penstock.batches.table": "audit.batches"}) == "audit.batches"
    statements = LedgerStatements.of(PostgreSql(), "audit.batches")
    for sql in (statements.create, statements.select, statements.update, statements.insert, statements.known):
        assert '"audit"."batches"' in sql


def test_dialects_by_url_and_by_name() -> None:
    assert dialect_of("jdbc:MySQL://db/app").name == "MySqlDatabaseDialect"
    assert dialect_of("jdbc:mariadb://db/app").name == "MySqlDatabaseDialect"
    assert dialect_of("jdbc:other:x", "SqliteDatabaseDialect").name == "SqliteDatabaseDialect"
    assert dialect_of("jdbc:other:x").name == dialect_of("jdbc:sqlite:x", "GenericDatabaseDialect").name
    with pytest.raises(ConfigError, match=r"connection\.url has to begin with jdbc:"):
        dialect_of("postgresql://db")
    with pytest.raises(ConfigError, match=r"Db2DatabaseDialect for configuration dialect\.name: there are Postgre"):
        dialect_of("jdbc:db2:x", "Db2DatabaseDialect")


@pytest.mark.security
def test_sql_reads_no_files_of_the_machine_of_the_driver() -> None:
    def properties(url: str, **more: str) -> Mapping[str, str]:
        config = {"connection.url": url, "mode": "bulk", "topic.prefix": "t", **more}
        return Connection.of(config, JDBC_SOURCE_CONFIG.parse(config)).properties

    off = {"allowLocalInfile": "false", "allowLoadLocalInfile": "false"}
    for url in ("jdbc:mysql://h/db", "jdbc:mariadb:sequential://h,g/allowLocalInfile", " JDBC:MariaDB://h/db"):
        assert properties(url, **{"dialect.name": "GenericDatabaseDialect"}) == off
    given = {"connection.ALLOWLOCALINFILE": "true", "connection.user": "me"}  # if the worker allows it
    found = properties("jdbc:mysql://h/db", **given)
    assert found == {"ALLOWLOCALINFILE": "true", "allowLoadLocalInfile": "false", "user": "me"}
    assert properties("jdbc:snowflake://a.snowflakecomputing.com/?db=D") == {"enablePutGet": "false"}
    assert properties("jdbc:vertica://h:5433/db") == {"DisableCopyLocal": "true"}
    assert properties("jdbc:postgresql://h/db") == {}


def test_the_server_of_postgresql_and_the_file_of_sqlite_have_an_identity() -> None:
    urls = ("jdbc:postgresql://h/d", "jdbc:sqlite:f", "jdbc:mariadb://h/d", "jdbc:derby:f")
    assert [bool(dialect_of(url).origin) for url in urls] == [True, True, False, False]


if __name__ == "__main__":
    for each in DIALECTS:
        (GOLDEN / f"{each.name}.sql").write_text(text_of(each()), "utf-8")


@pytest.mark.parametrize(
    ("zone", "statements"),
    [
        ("UTC", ["SET time_zone = '+00:00'"]),
        ("GMT+02:00", ["SET time_zone = '+02:00'"]),
        ("Etc/UTC", ["SET time_zone = '+00:00'"]),
        ("Zulu", ["SET time_zone = '+00:00'"]),
        ("Etc/GMT-2", ["SET time_zone = '+02:00'"]),
        ("Etc/GMT+12", ["SET time_zone = '-12:00'"]),
        ("Etc/GMT-14", ["SET time_zone = '+14:00'", "SET time_zone = 'Etc/GMT-14'"]),
        ("Asia/Tokyo", ["SET time_zone = '+09:00'", "SET time_zone = 'Asia/Tokyo'"]),
    ],
)
def test_mariadb_gets_the_offset_of_a_zone_that_has_only_one(zone: str, statements: list[str]) -> None:
    assert list(MySql.in_zone(zone)) == statements


TIMESTAMPS = {"id": "INT", "at": "TIMESTAMP"}


@pytest.mark.parametrize(
    ("url", "zone", "columns", "answer", "refused"),
    [
        ("jdbc:mysql://db/app", "Europe/Berlin", TIMESTAMPS, "+01:00", True),
        ("jdbc:mysql://db/app", "Europe/Berlin", TIMESTAMPS, "SYSTEM", True),
        ("jdbc:mysql://db/app", "+18:00", TIMESTAMPS, "SYSTEM", True),
        ("jdbc:mysql://db/app", "Europe/Berlin", TIMESTAMPS, "Europe/Berlin", False),
        ("jdbc:mysql://db/app", "+02:00", TIMESTAMPS, "+02:00", False),
        ("jdbc:mysql://db/app", "UTC", TIMESTAMPS, "SYSTEM", False),
        ("jdbc:mariadb://db/app", "Etc/UTC", TIMESTAMPS, "+00:00", False),
        ("jdbc:mariadb://db/app", "Zulu", TIMESTAMPS, "+00:00", False),
        ("jdbc:mysql://db/app", "UCT", TIMESTAMPS, "+00:00", False),
        ("jdbc:mysql://db/app", "GMT0", TIMESTAMPS, "+00:00", False),
        ("jdbc:mysql://db/app", "Etc/GMT-2", TIMESTAMPS, "+02:00", False),
        ("jdbc:mysql://db/app", "Etc/GMT+12", TIMESTAMPS, "-12:00", False),
        ("jdbc:mysql://db/app", "Etc/GMT-2", TIMESTAMPS, "SYSTEM", True),
        ("jdbc:mysql://db/app", "Etc/GMT-14", TIMESTAMPS, "Etc/GMT-14", False),
        ("jdbc:mysql://db/app", "Africa/Abidjan", TIMESTAMPS, "+00:00", True),
        ("jdbc:mysql://db/app", "Europe/Berlin", {"at": "DATETIME"}, "SYSTEM", False),
        ("jdbc:mysql://db/app", "Europe/Berlin", TIMESTAMPS, None, False),
        ("jdbc:postgresql://db/app", "Europe/Berlin", {"at": "timestamptz"}, "GMT", True),
        ("jdbc:postgresql://db/app", "Europe/Berlin", {"at": "timetz"}, "Europe/Berlin", False),
        ("jdbc:postgresql://db/app", "Europe/Berlin", {"at": "timestamp"}, "GMT", False),
        ("jdbc:postgresql://db/app", "+02:00", {"at": "timestamptz"}, "<+02>-02", False),
        ("jdbc:sqlite:/db", "Europe/Berlin", TIMESTAMPS, "", False),
        ("jdbc:sqlserver://db", "Europe/Berlin", TIMESTAMPS, "", False),
    ],
)
def test_a_zone_that_the_server_does_not_know_is_a_problem_of_columns_with_instants(
    url: str, zone: str, columns: dict[str, str], answer: str | None, refused: bool
) -> None:
    config = {"connection.url": url, "db.timezone": zone}
    connection = Connection.of(config, CONNECTION.parse(config))
    problem = connection.zone_problem(columns, lambda sql: answer)
    assert (problem is not None) == refused
    if problem is not None:
        assert problem.startswith("Column at has instants (")
        assert f"db.timezone={connection.zone}: " in problem

"""The types of databases, made from the tables that the JDBC connectors use."""

from __future__ import annotations

from penstock.connectors.jdbc.columns import PER_SECOND, ColumnKind
from penstock.connectors.jdbc.dialects import DIALECTS
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.source.mappings import types_of
from penstock.connectors.jdbc.source.source_type import ALL_FIT, Reading, SourceType

TITLES = {
    "PostgreSqlDatabaseDialect": "PostgreSQL",
    "MySqlDatabaseDialect": "MariaDB and MySQL",
    "SqliteDatabaseDialect": "SQLite",
    "DerbyDatabaseDialect": "Derby",
    "SqlServerDatabaseDialect": "SQL Server",
    "OracleDatabaseDialect": "Oracle",
}
UNTESTED = ("SqlServerDatabaseDialect", "OracleDatabaseDialect")
"""Dialects without a database on the machines that tests run on."""


def sections() -> list[str]:
    parts = [
        "## Databases by JDBC",
        "What JdbcSource makes of each type of a column, and which column JdbcSink creates for each type of a field. "
        "Tests declare a column of each type in PostgreSQL, MariaDB and SQLite, and pass random and extreme values "
        "through them. See [databases](../how-to/databases.md) for the settings named here.",
        "A column of a type that Connect has nothing for is left out, with a warning. Any other database has the types "
        "of JDBC, as Derby does here. In other columns than those that the sink creates, a value that the column would "
        "round or cut is refused, unless `penstock.coercion=java`; texts in columns of other types, and items of "
        "arrays, are taken as the database assigns them. MariaDB and SQLite store -0.0 as 0.0.",
    ]
    for dialect in DIALECTS:
        parts += [f"### {TITLES[dialect.name]}", *_parts(dialect)]
    return parts


def _parts(dialect: type[Dialect]) -> list[str]:
    untested = ["**Not tested**: there is no such database where tests run."] if dialect.name in UNTESTED else []
    lines = ["| column | field | values | others |", "|---|---|---|---|"]
    lines += [_source(each) for each in types_of(dialect.name)]
    written = ["| field | column that the sink creates |", "|---|---|"]
    written += [f"| {_kind(kind)} | `{type}` |" for kind, type in dialect.types.items()]
    return [*untested, "\n".join(lines), "\n".join(written)]


def _source(type: SourceType) -> str:
    field = "left out" if type.reading is Reading.NONE else f"`{_schema(type)}`"
    if type.needs:
        field += f" with `{type.needs}`, otherwise left out"
    beyond = "" if type.reading is Reading.NONE else type.beyond
    return f"| {type.name} | {field} | {type.range or ('all' if beyond == ALL_FIT else '')} | {beyond} |"


def _schema(type: SourceType) -> str:
    if type.schema.value_schema is not None:
        return f"ARRAY of {type.schema.value_schema.type.name}"
    return (type.schema.name or type.schema.type.name).rpartition(".")[2]


def _kind(kind: ColumnKind) -> str:
    if kind in PER_SECOND:
        return f"numbers of {kind.lower()} of `timestamp.fields.list`"
    return f"`{kind.value}`"

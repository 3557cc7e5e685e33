"""Tables of a database: the choice of those that are read, and the source partitions of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.patterns import JavaPattern, PatternError, compile_regex
from penstock.api.topic_names import topic_name
from penstock.connectors.jdbc.dialects.base import Dialect, TableName


@dataclass(frozen=True, slots=True, order=True)
class SourceTable:
    """A table; ``catalog`` and ``schema`` are empty where a database has none."""

    catalog: str
    schema: str
    name: str

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.catalog, self.schema, self.name)))

    def __str__(self) -> str:
        return ".".join(self.parts)

    def names(self) -> list[str]:
        """The full name, and those without the catalog and without the schema."""
        return [".".join(self.parts[i:]) for i in range(len(self.parts))]

    def sql(self, dialect: Dialect) -> str:
        return dialect.table(TableName(self.parts))

    def partition(self) -> dict[str, Any]:
        return {"protocol": "1", "table": str(self)}

    def known_partitions(self) -> list[dict[str, Any]]:
        """Return the partitions its offset may have: ours, that of drivers without catalogs, that of old versions."""
        return [*({"protocol": "1", "table": name} for name in self.names()[:2]), {"table": self.name}]


@dataclass(frozen=True, slots=True)
class Choice:
    """The tables that are read, by names or by regular expressions of names."""

    names: tuple[str, ...] = ()
    except_names: tuple[str, ...] = ()
    include: tuple[JavaPattern, ...] = ()
    exclude: tuple[JavaPattern, ...] = ()

    def takes(self, table: SourceTable) -> bool:
        names = table.names()
        if self.names and not set(names) & set(self.names):
            return False
        if set(names) & set(self.except_names):
            return False
        if self.include and not any(matches(each, names) for each in self.include):
            return False
        return not any(matches(each, names) for each in self.exclude)


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Columns of the tables whose name the expression matches."""

    expression: JavaPattern
    columns: tuple[str, ...]


def check_names(tables: Iterable[SourceTable], prefix: str) -> None:
    """Raise ConnectError if two tables would share a topic, which is named like the table alone, after a prefix."""
    found: dict[str, SourceTable] = {}
    for table in tables:
        other = found.setdefault(topic_name(prefix + table.name), table)
        if other is not table:
            raise ConnectError(
                f"Tables {other} and {table} would be sent to the same topic: choose one of them by "
                f"{_pattern(table, other)}table.whitelist, table.blacklist, table.include.list or table.exclude.list, "
                "and read the other one by a connector with its own topic.prefix"
            )


def _pattern(table: SourceTable, other: SourceTable) -> str:
    """Return the start of a list of settings: the one that tells apart where these tables are, if there is one."""
    if table.schema != other.schema:
        return "schema.pattern, "
    return "catalog.pattern, " if table.catalog != other.catalog else ""


def columns_for(table: SourceTable, mappings: Iterable[ColumnMapping]) -> tuple[str, ...] | None:
    """Return the columns of the first mapping that fits, or None if none does."""
    return next((each.columns for each in mappings if matches(each.expression, table.names())), None)


def mapping_of(setting: str, entry: str) -> ColumnMapping:
    """Parse ``expression:column`` or ``expression:[column|column]``. Raises ConfigError."""
    expression, colon, columns = entry.rpartition(":")
    names = tuple(filter(None, map(str.strip, columns.strip().removeprefix("[").removesuffix("]").split("|"))))
    if not colon or not names:
        raise ConfigError(setting, entry, "it has to be `regular expression:column`, or `...:[column|column]`")
    return ColumnMapping(expression_of(setting, expression.strip()), names)


def expression_of(setting: str, text: str) -> JavaPattern:
    """Compile a regular expression. Raises ConfigError."""
    try:
        return compile_regex(text)
    except PatternError as error:
        raise ConfigError(setting, text, f"it is no regular expression: {error}") from None


def matches(expression: JavaPattern, names: Sequence[str]) -> bool:
    return any(expression.fullmatch(name) is not None for name in names)

"""The settings of one JDBC source, and what contradicts each other in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.errors import ConfigError
from penstock.api.origin import ON_ORIGIN_CHANGED, OriginPolicy
from penstock.connectors.jdbc.connection import Connection, connection_problems
from penstock.connectors.jdbc.dialects import dialect_of
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.dialects.databases import Oracle, PostgreSql, Sqlite, SqlServer
from penstock.connectors.jdbc.source.definition import (
    BOTH,
    BULK,
    HORIZON,
    INCREMENTING,
    ISOLATION,
    JDBC_SOURCE_CONFIG,
    PARTITIONS,
    ROWS,
    TIME_MAPPING,
    TIMESTAMP,
)
from penstock.connectors.jdbc.source.tables import Choice, ColumnMapping, expression_of, mapping_of

BOUNDARY = "transaction.boundary"
_NAMES = ("table.whitelist", "table.blacklist", "table.include.list", "table.exclude.list")
_ISOLATION = "transaction.isolation.mode"
_UNSUPPORTED = {
    "table.monitoring.startup.polling.limit.ms": "the task itself looks for tables: leave it out",
    "max.buffer.size": "what is read ahead waits in at most 64 MB, whatever its rows are: leave it out",
    "poll.linger.ms": "rows are sent as soon as they are read: leave it out",
    "incrementing.initial": "alter the connector's offsets instead",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSourceSettings:
    """Settings of a JDBC source; intervals in seconds, ``delay`` and ``initial`` in milliseconds."""

    connection: Connection
    mode: str
    prefix: str
    number: str
    times: tuple[str, ...]
    number_mapping: tuple[ColumnMapping, ...]
    times_mapping: tuple[ColumnMapping, ...]
    initial: int | None
    not_null: bool
    choice: Choice
    types: tuple[str, ...]
    catalog: str | None
    schema: str | None
    query: str | None
    suffix: str
    retries: int
    interval: float
    table_interval: float
    batch_rows: int
    numbers: str
    delay: int
    granularity: str
    arrays: bool
    durations: bool
    """Whether times of day and intervals are sent as text."""
    isolation: int
    partitions: int
    rows: int
    horizon: bool
    policy: OriginPolicy

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """Make settings of a connector's configuration. Raises ConfigError."""
        values = JDBC_SOURCE_CONFIG.parse(config)
        if found := jdbc_source_problems(config):
            name, sentence = found[0]
            raise ConfigError(name, config.get(name), sentence)
        masked = values["query.masked"]
        query = values["query"].strip() or (masked.value.strip() if masked is not None else "")
        numbers = values["numeric.mapping"] or ("precision_only" if values["numeric.precision.mapping"] else "none")
        connection = Connection.of(config, values)
        return cls(
            connection=connection.with_defaults(connection.dialect.read_properties),
            mode=values["mode"],
            prefix=values["topic.prefix"].strip(),
            number=values["incrementing.column.name"].strip(),
            times=tuple(values["timestamp.column.name"]),
            number_mapping=_mappings(values, "incrementing.column.mapping"),
            times_mapping=_mappings(values, "timestamp.columns.mapping"),
            initial=values["timestamp.initial"],
            not_null=values["validate.non.null"],
            choice=_choice(values, connection.dialect),
            types=tuple(map(str.upper, values["table.types"])),
            catalog=values["catalog.pattern"],
            schema=values["schema.pattern"],
            query=query.rstrip(";") or None,
            suffix=values["query.suffix"].strip(),
            retries=values["query.retry.attempts"],
            interval=values["poll.interval.ms"] / 1000,
            table_interval=values["table.poll.interval.ms"] / 1000,
            batch_rows=values["batch.max.rows"],
            numbers=numbers.casefold(),
            delay=values["timestamp.delay.interval.ms"],
            granularity=values["timestamp.granularity"].casefold(),
            arrays=values["sql.complex.types.enable"],
            durations=values[TIME_MAPPING].casefold() == "string",
            isolation=ISOLATION[values[_ISOLATION].upper()],
            partitions=values[PARTITIONS],
            rows=values[ROWS],
            horizon=values[HORIZON],
            policy=OriginPolicy(values[ON_ORIGIN_CHANGED]),
        )

    @property
    def has_positions(self) -> bool:
        return self.mode != BULK

    @property
    def by_number(self) -> bool:
        return self.mode in (INCREMENTING, BOTH)

    @property
    def by_time(self) -> bool:
        return self.mode in (TIMESTAMP, BOTH)


def jdbc_source_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find settings that contradict each other or are unsupported; return pairs of the setting and a sentence."""

    def given(name: str) -> str:
        return (config.get(name) or "").strip()

    found = connection_problems(config)
    found += [(name, f"is not supported: {why}") for name, why in _UNSUPPORTED.items() if given(name)]
    mode, query = given("mode"), given("query") or given("query.masked")
    named = [name for name in _NAMES if given(name)]
    if query and named:
        found.append((named[0], "a `query` takes the place of tables: leave out one of them"))
    if given("query") and given("query.masked"):
        found.append(("query.masked", "`query` is set, too: leave out one of them"))
    for one, other in (
        ("table.whitelist", "table.blacklist"),
        ("table.include.list", "table.whitelist"),
        ("table.include.list", "table.blacklist"),
        ("table.exclude.list", "table.whitelist"),
        ("table.exclude.list", "table.blacklist"),
    ):
        if given(one) and given(other):
            found.append((one, f"{other} is set, too: leave out one of them"))
    for column, mapping in (
        ("timestamp.column.name", "timestamp.columns.mapping"),
        ("incrementing.column.name", "incrementing.column.mapping"),
    ):
        if given(column) and given(mapping):
            found.append((mapping, f"{column} is set, too: leave out one of them"))
        if query and given(mapping):
            found.append((mapping, f"a `query` has no tables: set {column}"))
        for entry in filter(None, map(str.strip, given(mapping).split(","))):
            found += _problem(mapping, lambda mapping=mapping, entry=entry: mapping_of(mapping, entry))
    if mode in (TIMESTAMP, BOTH) and not given("timestamp.column.name") and not given("timestamp.columns.mapping"):
        found.append(("timestamp.column.name", f"mode={mode} needs a column with the time of the last change"))
    for name in ("table.include.list", "table.exclude.list"):
        for entry in filter(None, map(str.strip, given(name).split(","))):
            found += _problem(name, lambda name=name, entry=entry: expression_of(name, entry))
    if (name := given(_ISOLATION)) and (sentence := _isolation_problem(config, name.upper())):
        found.append((_ISOLATION, sentence))
    if given(HORIZON).casefold() == "true":
        found += _horizon_problems(config, mode, query)
    if given(BOUNDARY).casefold() == "interval":
        found.append((BOUNDARY, "a JDBC source ends its transactions itself: leave it out"))
    return found


def _isolation_problem(config: Mapping[str, str], name: str) -> str:
    """Return why the database lacks an isolation level, as far as its kind tells, or an empty text."""
    kind = _dialect(config)
    if kind is None or name not in ISOLATION or name == "DEFAULT":
        return ""
    if name == "SQL_SERVER_SNAPSHOT" and kind is not SqlServer:
        return "SQL_SERVER_SNAPSHOT is for SQL Server: take another, or DEFAULT"
    if kind is Sqlite and name not in ("READ_UNCOMMITTED", "SERIALIZABLE"):
        return "SQLite has READ_UNCOMMITTED and SERIALIZABLE only"
    if kind is Oracle and name not in ("READ_COMMITTED", "SERIALIZABLE"):
        return "Oracle has READ_COMMITTED and SERIALIZABLE only"
    return ""


def _dialect(config: Mapping[str, str]) -> type[Dialect] | None:
    """Return the dialect, or None if it is not known, which is reported already."""
    try:
        return dialect_of(config.get("connection.url") or "", (config.get("dialect.name") or "").strip())
    except ConfigError:
        return None


def _horizon_problems(config: Mapping[str, str], mode: str, query: str) -> list[tuple[str, str]]:
    if query or mode == BULK:
        return [(HORIZON, "is for tables, in the modes incrementing, timestamp and timestamp+incrementing")]
    return (
        []
        if _dialect(config) in (PostgreSql, None)
        else [(HORIZON, "is for PostgreSQL: set timestamp.delay.interval.ms")]
    )


def _problem(name: str, made: Any) -> list[tuple[str, str]]:
    try:
        made()
    except ConfigError as error:
        return [(name, str(error))]
    return []


def _mappings(values: Mapping[str, Any], name: str) -> tuple[ColumnMapping, ...]:
    return tuple(mapping_of(name, entry) for entry in values[name])


def _choice(values: Mapping[str, Any], dialect: Dialect) -> Choice:
    def names(name: str) -> tuple[str, ...]:
        """Return names without quotes, which Confluent's takes, too."""
        begin, end = dialect.quotes
        quoted = [text.startswith(begin) and text.endswith(end) for text in values[name]]
        return tuple(str(dialect.table_name(t)) if q else t for t, q in zip(values[name], quoted, strict=True))

    def expressions(name: str) -> Sequence[Any]:
        return [expression_of(name, text) for text in values[name]]

    return Choice(
        names("table.whitelist"),
        names("table.blacklist"),
        tuple(expressions("table.include.list")),
        tuple(expressions("table.exclude.list")),
    )

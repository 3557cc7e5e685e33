"""The settings of a connection that the source and the sink share, under Confluent's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError
from penstock.api.validators import ValidString, at_least
from penstock.connectors.jdbc.columns import zone
from penstock.connectors.jdbc.dialects import NAMES, dialect_of, dialect_of_url
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.dialects.databases import SqlServer

PREFIX = "connection."
OWN = frozenset({"connection.url", "connection.user", "connection.password"})
OWN_NUMBERS = frozenset({"connection.attempts", "connection.backoff.ms"})
CALENDAR = "date.calendar.system"
CALENDARS = ("LEGACY", "PROLEPTIC_GREGORIAN")
"""Both of Confluent's values keep each day as it is: no path goes through Java's calendar, Julian before 1582."""
CREDENTIALS = "jdbc.credentials.provider.class"
HOLDLOCK = "mssql.use.merge.holdlock"
_NO_FILES: Mapping[str, Mapping[str, str]] = {
    "mariadb": {"allowLocalInfile": "false", "allowLoadLocalInfile": "false"},
    "mysql": {"allowLocalInfile": "false", "allowLoadLocalInfile": "false"},
    "snowflake": {"enablePutGet": "false"},
    "vertica": {"DisableCopyLocal": "true"},
}
"""Properties by which drivers carry out no statement that reads or writes files of their own machine, such as LOAD DATA
LOCAL INFILE in ``query``; by the kind of database in the URL. Those of a configuration, which the operator has to
allow, come before them.
"""


class AnyCase(ValidString):
    """One of these strings, in lower or upper case: Confluent's take both."""

    def __call__(self, name: str, value: Any) -> None:
        cases = {each.casefold(): each for each in self.allowed if each is not None}
        super().__call__(name, value if value is None else cases.get(value.casefold(), value))


CONNECTION = (
    ConfigDef()
    .define(
        "connection.url",
        ConfigType.STRING,
        NO_DEFAULT,
        None,
        Importance.HIGH,
        "The JDBC URL of the database, such as jdbc:postgresql://localhost/app.",
    )
    .define("connection.user", ConfigType.STRING, None, None, Importance.HIGH, "The user to connect as.")
    .define("connection.password", ConfigType.PASSWORD, None, None, Importance.HIGH, "The user's password.")
    .define(
        "connection.attempts",
        ConfigType.INT,
        3,
        at_least(1),
        Importance.LOW,
        "How often a connection is attempted before the attempt counts as a failure.",
    )
    .define(
        "connection.backoff.ms",
        ConfigType.LONG,
        10_000,
        at_least(0),
        Importance.LOW,
        "How long to wait between two attempts, in milliseconds.",
    )
    .define(
        "dialect.name",
        ConfigType.STRING,
        "",
        ValidString("", *NAMES),
        Importance.LOW,
        "The dialect of SQL; empty: by the URL.",
    )
    .define(
        "db.timezone",
        ConfigType.STRING,
        "UTC",
        None,
        Importance.MEDIUM,
        "The zone of times and timestamps in the database, which has them without a zone: a region such as "
        "Europe/Berlin, or an offset such as +02:00.",
    )
    .define(
        "quote.sql.identifiers",
        ConfigType.STRING,
        "always",
        AnyCase("always", "never"),
        Importance.MEDIUM,
        "Whether the names of tables and columns are quoted in SQL.",
    )
)


@dataclass(frozen=True, slots=True)
class Connection:
    """Address and properties of a database; ``backoff`` in milliseconds."""

    url: str
    properties: Mapping[str, str]
    """For the driver."""
    attempts: int
    backoff: int
    dialect: Dialect
    zone: str

    @property
    def driver(self) -> type[Dialect] | None:
        """Return the dialect whose driver the URL needs: with ``dialect.name`` it may be another than that.

        None if no dialect is for such URLs: any driver that accepts it will do.
        """
        return dialect_of_url(self.url)

    @property
    def attempted(self) -> tuple[str, ...]:
        """Return statements for each new session; one that fails, since the server does not have it, is left out."""
        return () if self.driver is None else (*self.driver.in_zone(self.zone), *self.driver.opening)

    @classmethod
    def of(cls, config: Mapping[str, str], values: Mapping[str, Any]) -> Self:
        """Make a connection of a configuration and its typed values. Raises ConfigError."""
        kind = dialect_of(values["connection.url"], values["dialect.name"])
        quoting = values["quote.sql.identifiers"].casefold() == "always"
        dialect = SqlServer(quoting, values.get(HOLDLOCK, True)) if kind is SqlServer else kind(quoting)
        properties = driver_properties(config)
        given = {name.casefold() for name in properties}
        defaults = _NO_FILES.get(_kind(values["connection.url"]), {})
        properties |= {name: value for name, value in defaults.items() if name.casefold() not in given}
        if values["connection.user"]:
            properties["user"] = values["connection.user"]
        if values["connection.password"] is not None:
            properties["password"] = values["connection.password"].value
        return cls(
            values["connection.url"].strip(),
            properties,
            values["connection.attempts"],
            values["connection.backoff.ms"],
            dialect,
            zone(values["db.timezone"].strip(), "db.timezone"),
        )

    def zone_problem(self, columns: Mapping[str, str], ask: Callable[[str], str | None]) -> str | None:
        """Return why values of columns, by name with their types, would be off, since the server lacks the zone.

        ``ask`` returns the first value of a query's answer, or None where the server does not understand the query.
        """
        driver = self.driver
        if driver is None or not driver.session_zone or not (expected := driver.zone_in_session(self.zone)):
            return None
        found = [name for name, type in columns.items() if type.casefold() in driver.instants]
        if not found or (answer := ask(driver.session_zone)) is None or answer.casefold() == expected.casefold():
            return None
        return (
            f"Column {found[0]} has instants ({columns[found[0]]}), and the server does not know the time zone "
            f"db.timezone={self.zone}: {driver.load_zones}, or set db.timezone to UTC or an offset that it knows, such "
            "as +02:00"
        )

    def with_defaults(self, properties: Mapping[str, str]) -> Self:
        """Return the connection with defaults for the driver's properties."""
        return replace(self, properties={**properties, **self.properties})


def _kind(url: str) -> str:
    return url.strip().casefold().removeprefix("jdbc:").lstrip().partition(":")[0]


def driver_properties(config: Mapping[str, str | None]) -> dict[str, str]:
    """The settings ``connection.*`` that are the driver's own, without the prefix."""
    return {
        name.removeprefix(PREFIX): value
        for name, value in config.items()
        if name.startswith(PREFIX) and name not in OWN | OWN_NUMBERS and value is not None
    }


def connection_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find settings that can't be used; return pairs of the setting and a sentence."""
    found = []
    if config.get(CREDENTIALS):
        found.append((CREDENTIALS, "is not supported: give connection.user and connection.password"))
    if (config.get(CALENDAR) or "").strip().upper() not in ("", *CALENDARS):
        found.append((CALENDAR, f"has to be {' or '.join(CALENDARS)}: with both, days are those of ISO 8601"))
    if (url := config.get("connection.url")) is not None:
        try:
            dialect_of(url, (config.get("dialect.name") or "").strip())
        except ConfigError as error:
            if not config.get("dialect.name"):
                found.append(("connection.url", str(error)))
    if name := (config.get("db.timezone") or "").strip():
        try:
            zone(name, "db.timezone")
        except ConfigError as error:
            found.append(("db.timezone", str(error)))
    return found

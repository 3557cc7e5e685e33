"""The settings of one ``PostgresSource``, typed, and what in a configuration is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.errors import ConfigError
from penstock.api.origin import ON_ORIGIN_CHANGED, OriginPolicy
from penstock.api.patterns import JavaPattern, PatternError, compile_regex
from penstock.connectors.postgres.definition import POSTGRES_CONFIG

_ONLY = {
    "plugin.name": "pgoutput",
    "include.unknown.datatypes": "false",
    "slot.drop.on.stop": "false",
    "publish.via.partition.root": "true",
    "replica.identity.autoset.values": "",
    "schema.name.adjustment.mode": "none",
    "field.name.adjustment.mode": "none",
    "hstore.handling.mode": "",
    "topic.delimiter": ".",
    "topic.naming.strategy": "io.debezium.schema.SchemaTopicNamingStrategy",
    "flush.lsn.source": "true",
}
"""Debezium's settings that have one value here."""
_REFUSED = (
    "column.",
    "message.key.columns",
    "message.prefix.",
    "signal.",
    "incremental.",
    "read.only",
    "converters",
    "snapshot.include.collection.list",
    "snapshot.select.",
    "snapshot.mode.",
    "snapshot.query.",
    "snapshot.locking.",
    "snapshot.isolation.",
    "slot.stream.params",
    "database.initial.statements",
    "datatype.propagate.source.type",
    "post.processors",
    "sourceinfo.struct.maker",
)
"""Settings of Debezium, or prefixes of them, that would change what comes and are not built."""
OPERATIONS = ("c", "u", "d", "t", "none")
_NAME = re.compile(r"[a-z0-9_]{1,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSettings:
    """Settings of a connector; intervals in seconds. ``connection`` has psycopg2's names."""

    connection: dict[str, Any]
    prefix: str
    slot: str
    failover: bool
    publication: str
    publication_mode: str
    include: tuple[tuple[JavaPattern, ...], tuple[JavaPattern, ...]]
    """Patterns of schemas, and of tables."""
    exclude: tuple[tuple[JavaPattern, ...], tuple[JavaPattern, ...]]
    snapshot: bool
    fetch_size: int
    decimals: str
    times: str
    binary: str
    intervals: str
    money_digits: int
    tombstones: bool
    skipped: frozenset[str]
    placeholder: str
    transactions: bool
    transaction_topic: str
    heartbeat: float
    heartbeat_query: str | None
    heartbeat_topic: str
    batch: int
    poll_interval: float
    status_interval: float
    origin_policy: OriginPolicy

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """Make settings of a configuration. Raises ConfigError."""
        values = POSTGRES_CONFIG.parse(config)
        if found := problems(config):
            name, sentence = found[0]
            raise ConfigError(name, config.get(name), sentence)
        password = values["database.password"]
        connection = {
            "host": values["database.hostname"],
            "port": values["database.port"],
            "user": values["database.user"],
            "password": password.value if password else None,
            "dbname": values["database.dbname"],
            **{key: values[f"database.{key}"] for key in ("sslmode", "sslrootcert", "sslcert", "sslkey")},
        }
        return cls(
            connection={key: value for key, value in connection.items() if value is not None},
            prefix=values["topic.prefix"],
            slot=values["slot.name"],
            failover=values["slot.failover"],
            publication=values["publication.name"],
            publication_mode=values["publication.autocreate.mode"],
            include=(_patterns(values["schema.include.list"]), _patterns(values["table.include.list"])),
            exclude=(_patterns(values["schema.exclude.list"]), _patterns(values["table.exclude.list"])),
            snapshot=values["snapshot.mode"] == "initial",
            fetch_size=values["snapshot.fetch.size"],
            decimals=values["decimal.handling.mode"],
            times=values["time.precision.mode"],
            binary=values["binary.handling.mode"],
            intervals=values["interval.handling.mode"],
            money_digits=values["money.fraction.digits"],
            tombstones=values["tombstones.on.delete"],
            skipped=frozenset(values["skipped.operations"]) - {"none"},
            placeholder=values["unavailable.value.placeholder"],
            transactions=values["provide.transaction.metadata"],
            transaction_topic=values["topic.transaction"],
            heartbeat=values["heartbeat.interval.ms"] / 1000,
            heartbeat_query=values["heartbeat.action.query"],
            heartbeat_topic=f"{values['topic.heartbeat.prefix']}.{values['topic.prefix']}",
            batch=values["max.batch.size"],
            poll_interval=values["poll.interval.ms"] / 1000,
            status_interval=values["status.update.interval.ms"] / 1000,
            origin_policy=OriginPolicy(values[ON_ORIGIN_CHANGED]),
        )

    def captures(self, schema: str, table: str) -> bool:
        for names, patterns, wanted in (
            (schema, self.include[0], True),
            (f"{schema}.{table}", self.include[1], True),
            (schema, self.exclude[0], False),
            (f"{schema}.{table}", self.exclude[1], False),
        ):
            if patterns and any(pattern.fullmatch(names) for pattern in patterns) is not wanted:
                return False
        return True

    def place(self, schema: str, table: str) -> tuple[int, int]:
        """Return the place of a captured table among the others: by the first entries that include it."""
        names = (schema, f"{schema}.{table}")
        first, second = (
            next((number for number, pattern in enumerate(patterns) if pattern.fullmatch(name)), 0)
            for name, patterns in zip(names, self.include, strict=True)
        )
        return first, second


def problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find settings to refuse; return pairs of the setting at fault and a sentence. Types are checked elsewhere."""

    def given(name: str) -> str:
        return (config.get(name) or "").strip()

    found = []
    for name, only in _ONLY.items():
        if name in config and given(name) != only:
            found.append((name, f"is not built in PostgresSource: {f'only {only} is' if only else 'leave it out'}"))
    found += [
        (name, "is not built in PostgresSource: leave it out, or use Debezium's connector")
        for name in config
        if name.startswith(_REFUSED)
    ]
    for kind in ("schema", "table"):
        if given(f"{kind}.include.list") and given(f"{kind}.exclude.list"):
            found.append((f"{kind}.exclude.list", f"can't be given beside {kind}.include.list"))
        for name in (f"{kind}.include.list", f"{kind}.exclude.list"):
            found += [(name, problem) for text in _split(given(name)) if (problem := _wrong_pattern(text))]
    if given("slot.name") and not _NAME.fullmatch(given("slot.name")):
        found.append(("slot.name", "must be 1 to 63 lower case letters, digits and underscores"))
    wrong = [each for each in _split(given("skipped.operations")) if each not in OPERATIONS]
    if wrong:
        found.append(("skipped.operations", f"{wrong[0]} is none of {', '.join(OPERATIONS)}"))
    return found


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _wrong_pattern(text: str) -> str | None:
    try:
        compile_regex(text)
    except PatternError as error:
        return f"{text} is no regular expression: {error}"
    return None


def _patterns(texts: list[str]) -> tuple[JavaPattern, ...]:
    return tuple(compile_regex(f"(?i){text}") for text in texts)

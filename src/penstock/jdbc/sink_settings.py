"""Settings of the JDBC sink: Confluent's names, defaults and meanings; ours begin with ``penstock.``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError
from penstock.api.validators import ValidString, at_least, between
from penstock.jdbc.connection import CONNECTION, HOLDLOCK, AnyCase, Connection, connection_problems

DELIVERY, LEDGER = "penstock.delivery", "penstock.batches.table"
EXACTLY_ONCE = "exactly-once"
COORDINATES = ("__connect_topic", "__connect_partition", "__connect_offset")
_TYPES = ("TABLE", "PARTITIONED TABLE", "VIEW")
_UNSUPPORTED = {
    "timestamp.fields.list": "fields of type INT64 are written as numbers: make them timestamps by TimestampConverter",
    "string.output.value.column.name": "values have to be structs: make them by HoistField",
    "timestamp.precision.mode": "timestamps are written to the millisecond, as Connect has them",
}

JDBC_SINK_CONFIG = (
    ConfigDef(CONNECTION)
    .define(
        "insert.mode",
        ConfigType.STRING,
        "insert",
        AnyCase("insert", "upsert", "update"),
        Importance.HIGH,
        "insert: add rows. upsert: add rows, or change those with the same primary key. update: change rows only.",
    )
    .define(
        "batch.size",
        ConfigType.INT,
        3000,
        at_least(0),
        Importance.MEDIUM,
        "How many rows are sent to the database at a time; 0: one.",
    )
    .define(
        "delete.enabled",
        ConfigType.BOOLEAN,
        False,
        None,
        Importance.MEDIUM,
        "Whether a record without a value deletes the row of its key; needs pk.mode=record_key.",
    )
    .define(
        "table.name.format",
        ConfigType.STRING,
        "${topic}",
        None,
        Importance.MEDIUM,
        "The table of a record, in which ${topic} stands for its topic; may begin with a schema and a dot.",
    )
    .define(
        "pk.mode",
        ConfigType.STRING,
        "none",
        AnyCase("none", "kafka", "record_key", "record_value"),
        Importance.HIGH,
        "What the primary key is. kafka: topic, partition and offset. record_key: the key, or fields of it. "
        "record_value: fields of the value.",
    )
    .define(
        "pk.fields",
        ConfigType.LIST,
        [],
        None,
        Importance.MEDIUM,
        "The columns of the primary key: for kafka three names, for record_key and record_value names of fields "
        "(empty: all), for a key that is no struct the one name of its column. Ignored for none.",
    )
    .define(
        "fields.whitelist",
        ConfigType.LIST,
        [],
        None,
        Importance.MEDIUM,
        "The fields of values that are written, beside the primary key; empty: all.",
    )
    .define(
        "auto.create",
        ConfigType.BOOLEAN,
        False,
        None,
        Importance.MEDIUM,
        "Whether a table that does not exist is created, by the schema of the first record.",
    )
    .define(
        "auto.evolve",
        ConfigType.BOOLEAN,
        False,
        None,
        Importance.MEDIUM,
        "Whether columns that a table lacks are added to it.",
    )
    .define(
        "date.timezone",
        ConfigType.STRING,
        "DB_TIMEZONE",
        AnyCase("DB_TIMEZONE", "UTC"),
        Importance.MEDIUM,
        "The zone in which dates, midnight UTC in Connect, become days: that of db.timezone, or UTC.",
    )
    .define(
        "max.retries",
        ConfigType.INT,
        10,
        at_least(0),
        Importance.MEDIUM,
        "How often a batch that can't be written is tried again before the task fails.",
    )
    .define(
        "retry.backoff.ms",
        ConfigType.INT,
        3000,
        at_least(0),
        Importance.MEDIUM,
        "How long to wait before a batch is tried again, in milliseconds.",
    )
    .define(
        "replace.null.with.default",
        ConfigType.BOOLEAN,
        True,
        None,
        Importance.LOW,
        "Whether a field that is null is written as the default value of its schema.",
    )
    .define(
        HOLDLOCK,
        ConfigType.BOOLEAN,
        True,
        None,
        Importance.LOW,
        "Whether an upsert into SQL Server uses HOLDLOCK.",
    )
    .define(
        DELIVERY,
        ConfigType.STRING,
        "at-least-once",
        ValidString("at-least-once", EXACTLY_ONCE),
        Importance.MEDIUM,
        "exactly-once: a table of the database keeps the number of the last batch, in the transaction of its rows, so "
        "that a batch that is repeated after a crash is not written again.",
    )
    .define(
        LEDGER,
        ConfigType.STRING,
        "penstock_batches",
        None,
        Importance.LOW,
        f"The table for {DELIVERY}=exactly-once; created if it does not exist.",
    )
    .define(
        "penstock.batch.max.records",
        ConfigType.LONG,
        1_000_000,
        between(1, 100_000_000),
        Importance.LOW,
        "How many records are written at most before offsets are committed.",
    )
    .define(
        "penstock.batch.interval.ms",
        ConfigType.LONG,
        0,
        at_least(0),
        Importance.LOW,
        "How often a batch is written, in milliseconds; 0: as soon as there are records and the previous one is done.",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSinkSettings:
    """The settings of one JDBC sink; ``interval`` and ``backoff`` in seconds."""

    connection: Connection
    mode: str
    key_mode: str
    key_fields: tuple[str, ...]
    fields: frozenset[str]
    table_format: str
    deletes: bool
    creates: bool
    evolves: bool
    batch_size: int
    date_zone: str
    retries: int
    backoff: float
    defaults: bool
    ledger: str | None
    """The table of batches, for exactly once."""
    most: int
    interval: float

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """From the connector's configuration. Raises ConfigError."""
        values = JDBC_SINK_CONFIG.parse(config)
        if found := jdbc_sink_problems(config):
            name, sentence = found[0]
            raise ConfigError(name, config.get(name), sentence)
        connection, mode = Connection.of(config, values), values["insert.mode"].casefold()
        if mode == "insert":
            connection = connection.with_defaults(connection.dialect.insert_properties)
        return cls(
            connection=connection,
            mode=mode,
            key_mode=values["pk.mode"].casefold(),
            key_fields=tuple(values["pk.fields"]),
            fields=frozenset(values["fields.whitelist"]),
            table_format=values["table.name.format"].strip(),
            deletes=values["delete.enabled"],
            creates=values["auto.create"],
            evolves=values["auto.evolve"],
            batch_size=max(1, values["batch.size"]),
            date_zone="UTC" if values["date.timezone"].upper() == "UTC" else connection.zone,
            retries=values["max.retries"],
            backoff=values["retry.backoff.ms"] / 1000,
            defaults=values["replace.null.with.default"],
            ledger=values[LEDGER].strip() if values[DELIVERY] == EXACTLY_ONCE else None,
            most=values["penstock.batch.max.records"],
            interval=values["penstock.batch.interval.ms"] / 1000,
        )

    @property
    def copies(self) -> bool:
        """Whether rows may be sent by COPY: where the driver may send INSERTs together, too."""
        dialect, properties, url = self.connection.dialect, self.connection.properties, self.connection.url
        # What the URL says counts more.
        together = all(
            properties.get(name) == value and f"{name}=false" not in url
            for name, value in dialect.insert_properties.items()
        )
        return self.mode == "insert" and bool(dialect.copied) and together

    def table(self, topic: str) -> str:
        return self.table_format.replace("${topic}", topic)


def _type_problems(types: str) -> list[tuple[str, str]]:
    """``table.types`` can allow what is written anyway, and forbid nothing."""
    given = [each.strip().upper() for each in types.split(",") if each.strip()]
    if unknown := [each for each in given if each not in _TYPES]:
        return [("table.types", f"{unknown[0]} is no type of tables: there are {', '.join(_TYPES)}")]
    if given and "TABLE" not in given:
        sentence = "has to contain TABLE: what has the table's name is written, be it a table or a view"
        return [("table.types", sentence)]
    return []


def jdbc_sink_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """What settings contradict each other or are not supported: the setting to blame, and a sentence."""
    found = connection_problems(config)
    found += [(name, f"is not supported: {why}") for name, why in _UNSUPPORTED.items() if config.get(name)]
    if (config.get("trim.sensitive.log") or "").strip().casefold() not in ("", "false"):
        found.append(("trim.sensitive.log", "is not supported: errors say what the database says; leave it out"))
    found += _type_problems(config.get("table.types") or "")
    mode = (config.get("pk.mode") or "none").strip().casefold()
    fields = [each.strip() for each in (config.get("pk.fields") or "").split(",") if each.strip()]
    if (config.get("delete.enabled") or "").strip().casefold() == "true" and mode != "record_key":
        found.append(("delete.enabled", "Deletes are only supported for pk.mode record_key"))
    insert = (config.get("insert.mode") or "insert").strip().casefold()
    if insert in ("upsert", "update") and mode == "none":
        found.append(("pk.mode", f"insert.mode={insert} needs a primary key: kafka, record_key or record_value"))
    if mode == "kafka" and fields and len(fields) != len(COORDINATES):
        found.append(("pk.fields", "pk.mode=kafka needs three names: of the topic, the partition and the offset"))
    if not (config.get("table.name.format") or "${topic}").strip():
        found.append(("table.name.format", "has to name a table"))
    return found

"""The settings of one JDBC sink, and what contradicts each other in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.api.drift import DRIFT, SchemaDrift, drift_of, drift_problems
from penstock.api.errors import ConfigError
from penstock.connectors.jdbc.columns import ColumnKind
from penstock.connectors.jdbc.connection import Connection, connection_problems
from penstock.connectors.jdbc.dialects import dialect_of
from penstock.connectors.jdbc.dialects.databases import Generic
from penstock.connectors.jdbc.sink_definition import COERCION, DELIVERY, EXACTLY_ONCE, JDBC_SINK_CONFIG, LEDGER

COORDINATES = ("__connect_topic", "__connect_partition", "__connect_offset")
_TYPES = ("TABLE", "PARTITIONED TABLE", "VIEW")
_UNSUPPORTED = {
    "string.output.value.column.name": "values have to be structs: make them by HoistField",
}


EVOLVE = "auto.evolve"
_DRIFTS = {"true": SchemaDrift.EVOLVE, "false": SchemaDrift.STOP}
_ALLOWED = {"true": frozenset({SchemaDrift.EVOLVE}), "false": frozenset(SchemaDrift) - {SchemaDrift.EVOLVE}}
"""The values that ``schema.drift`` may have beside each value of ``auto.evolve``."""


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
    drift: SchemaDrift
    drift_setting: str | None
    """``schema.drift`` with its value, if it is set."""
    batch_size: int
    date_zone: str
    moments: frozenset[str]
    """The fields that are times in the ``unit``, MICROS or NANOS."""
    unit: ColumnKind
    retries: int
    backoff: float
    defaults: bool
    exact: bool
    """Whether a row is refused if a column would change its value."""
    ledger: str | None
    """The table of batches, for exactly once."""
    most: int
    interval: float

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """Make settings of a connector's configuration. Raises ConfigError."""
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
            drift=drift_of(config, EVOLVE, _DRIFTS) or SchemaDrift.STOP,
            drift_setting=f"{DRIFT}={values[DRIFT]}" if values[DRIFT] else None,
            batch_size=max(1, values["batch.size"]),
            date_zone="UTC" if values["date.timezone"].upper() == "UTC" else connection.zone,
            moments=frozenset(values["timestamp.fields.list"]),
            unit=ColumnKind.MICROS
            if values["timestamp.precision.mode"].casefold() == "microseconds"
            else ColumnKind.NANOS,
            retries=values["max.retries"],
            backoff=values["retry.backoff.ms"] / 1000,
            defaults=values["replace.null.with.default"],
            exact=values[COERCION] == "none",
            ledger=values[LEDGER].strip() if values[DELIVERY] == EXACTLY_ONCE else None,
            most=values["penstock.batch.max.records"],
            interval=values["penstock.batch.interval.ms"] / 1000,
        )

    @property
    def evolves(self) -> bool:
        """Whether tables get the columns that they lack."""
        return self.drift is SchemaDrift.EVOLVE

    @property
    def zones(self) -> tuple[str, str]:
        """The zones of times, and of dates."""
        return self.connection.zone, self.date_zone

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

    def moment(self, name: str) -> ColumnKind | None:
        return self.unit if name in self.moments else None

    def table(self, topic: str) -> str:
        return self.table_format.replace("${topic}", topic)


def _generic_problems(config: Mapping[str, str], insert: str) -> list[tuple[str, str]]:
    """Find settings that a database whose SQL is not known does not support."""
    try:
        kind = dialect_of(config.get("connection.url") or "", (config.get("dialect.name") or "").strip())
    except ConfigError:
        return []
    if kind is not Generic:
        return []
    why = (
        f"is not possible with {Generic.name}, which knows no types of columns: create the tables, or set dialect.name"
    )
    given = {name: (config.get(name) or "").strip() for name in ("auto.create", EVOLVE, DELIVERY, DRIFT)}
    impossible = ("true", EXACTLY_ONCE, SchemaDrift.EVOLVE)
    found = [(name, why) for name, value in given.items() if value.casefold() in impossible]
    if insert == "upsert":
        found.append(("insert.mode", f"upsert needs another dialect than {Generic.name}: set dialect.name"))
    return found


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
    """Find settings that contradict each other or are unsupported; return pairs of the setting and a sentence."""
    found = connection_problems(config)
    found += [(name, f"is not supported: {why}") for name, why in _UNSUPPORTED.items() if config.get(name)]
    if (config.get("trim.sensitive.log") or "").strip().casefold() not in ("", "false"):
        found.append(("trim.sensitive.log", "is not supported: errors say what the database says; leave it out"))
    found += drift_problems(config, EVOLVE, _ALLOWED)
    found += _type_problems(config.get("table.types") or "")
    mode = (config.get("pk.mode") or "none").strip().casefold()
    fields = [each.strip() for each in (config.get("pk.fields") or "").split(",") if each.strip()]
    if (config.get("delete.enabled") or "").strip().casefold() == "true" and mode != "record_key":
        found.append(("delete.enabled", "Deletes are only supported for pk.mode record_key"))
    insert = (config.get("insert.mode") or "insert").strip().casefold()
    found += _generic_problems(config, insert)
    if insert in ("upsert", "update") and mode == "none":
        found.append(("pk.mode", f"insert.mode={insert} needs a primary key: kafka, record_key or record_value"))
    if mode == "kafka" and fields and len(fields) != len(COORDINATES):
        found.append(("pk.fields", "pk.mode=kafka needs three names: of the topic, the partition and the offset"))
    if not (config.get("table.name.format") or "${topic}").strip():
        found.append(("table.name.format", "has to name a table"))
    return found

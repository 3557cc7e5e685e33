"""Settings of a Spark sink: where to write, in which format, and how to shape the rows.

Everything that starts with ``option.`` goes to Spark's writer as it is, so whatever Spark can write can be written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from penstock.api.config import ConfigDef, ConfigType, Importance, with_prefix
from penstock.api.drift import DRIFT, SchemaDrift, define_drift, drift_of, drift_problems
from penstock.api.validators import ValidString, at_least
from penstock.connectors.spark.iceberg_settings import (
    CATALOG,
    ICEBERG,
    IcebergSettings,
    define_iceberg,
    drift_of_iceberg,
    has_catalog,
    iceberg_problems,
)

OPTION = "option."
RECORD_KEY = "record_key"
ON_DATA_LOSS = "on.data.loss"
EVOLUTION = "schema.evolution"
_DRIFTS = {"add": SchemaDrift.EVOLVE, "ignore": SchemaDrift.IGNORE, "fail": SchemaDrift.STOP}

SINK_CONFIG = (
    ConfigDef()
    .define(
        "format",
        ConfigType.STRING,
        "parquet",
        None,
        Importance.HIGH,
        "The format to write, by its name in Spark: parquet, orc, json, csv, delta, iceberg, jdbc, ...",
    )
    .define(
        "path",
        ConfigType.STRING,
        None,
        None,
        Importance.HIGH,
        "The folder to write to, as Spark names it (file:, s3a:, hdfs:, ...). Either this or `table` is given, unless "
        "the format has its destination among the options, as jdbc has.",
    )
    .define("table", ConfigType.STRING, None, None, Importance.HIGH, "The table of Spark's catalog to write to.")
    .define(
        "mode",
        ConfigType.STRING,
        "append",
        ValidString("append", "overwrite"),
        Importance.MEDIUM,
        "append: add each batch of records. overwrite: each batch replaces the previous one.",
    )
    .define(
        "insert.mode",
        ConfigType.STRING,
        "insert",
        ValidString("insert", "upsert"),
        Importance.MEDIUM,
        "insert: add rows. upsert: add rows, or change those with the same key, in a Delta table.",
    )
    .define(
        "pk.mode",
        ConfigType.STRING,
        "none",
        ValidString("none", RECORD_KEY),
        Importance.MEDIUM,
        "By what insert.mode=upsert finds a row. record_key: by the key of the record.",
    )
    .define(
        "pk.fields",
        ConfigType.LIST,
        [],
        None,
        Importance.MEDIUM,
        "The columns by which a row is found: names of fields of the key; for a key that is no struct the one name of "
        "its column.",
    )
    .define(
        "delete.enabled",
        ConfigType.BOOLEAN,
        False,
        None,
        Importance.MEDIUM,
        "Whether a record without a value deletes the row of its key; otherwise such records are left out.",
    )
    .define(
        "partition.by",
        ConfigType.LIST,
        [],
        None,
        Importance.MEDIUM,
        "Columns by whose values files are partitioned into folders.",
    )
    .define(
        "sql",
        ConfigType.STRING,
        None,
        None,
        Importance.MEDIUM,
        "A SELECT from `records` whose result is written. `records` has the fields of the values, or `value`, and "
        "`_topic`, `_partition`, `_offset`, `_timestamp`, `_key` and `_headers`.",
    )
    .define(
        "schema",
        ConfigType.STRING,
        None,
        None,
        Importance.MEDIUM,
        "The columns of values that have no schema, as in CREATE TABLE: `id BIGINT, name STRING`. Without it such "
        "values are written as JSON in one column, `value`.",
    )
    .define(
        EVOLUTION,
        ConfigType.STRING,
        "add",
        ValidString("fail", "add", "ignore"),
        Importance.MEDIUM,
        "Handling of columns that the table does not have. add: they are written, if the format can add columns; "
        "ignore: they are left out; fail: the task fails.",
    )
    .define(
        "trigger.interval.ms",
        ConfigType.LONG,
        0,
        at_least(0),
        Importance.MEDIUM,
        "How often a batch is written, in milliseconds; 0: as soon as there are records and the previous one is done.",
    )
    .define(
        "batch.max.records",
        ConfigType.LONG,
        1_000_000,
        at_least(1),
        Importance.LOW,
        "How many records a batch has at most.",
    )
    .define(
        ON_DATA_LOSS,
        ConfigType.STRING,
        "continue",
        ValidString("continue", "fail"),
        Importance.MEDIUM,
        "What to do if records were deleted before they were read, by retention or with their topic. continue: name "
        "their offsets in the status and the log, and read on. fail: the task fails and says so.",
    )
)


define_drift(SINK_CONFIG, EVOLUTION)
define_iceberg(SINK_CONFIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSettings:
    """The settings of one Spark sink; ``interval`` in seconds."""

    format: str
    path: str | None
    table: str | None
    mode: str
    keys: tuple[str, ...] | None
    """The columns by which rows are changed; None if rows are only added."""
    deletes: bool
    partition_by: tuple[str, ...]
    sql: str | None
    schema: str | None
    drift: SchemaDrift
    drift_setting: tuple[str, str] = (EVOLUTION, "add")
    """The setting that says so, with its value, for messages."""
    interval: float
    most: int
    options: Mapping[str, str]
    iceberg: IcebergSettings | None = None
    """The catalog and table of Iceberg, if the sink has a catalog of its own."""

    @property
    def target(self) -> str:
        """The name of the target in messages."""
        if self.iceberg is not None:
            return self.iceberg.table
        return self.table or self.path or self.options.get("dbtable", self.format)

    def at_once(self) -> Self:
        """Return the settings with which Spark writes a batch to a database in one transaction, unless its options say
        otherwise: when a row is refused, no others are there yet that would be written again.
        """
        if self.format != "jdbc" or any(name.casefold() == "numpartitions" for name in self.options):
            return self
        return replace(self, options={**self.options, "numPartitions": "1"})

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """From the connector's configuration. Raises ConfigError."""
        values = SINK_CONFIG.parse(config)
        iceberg = IcebergSettings.of(config, values)
        drift = drift_of(config, EVOLUTION, _DRIFTS) or SchemaDrift.EVOLVE
        return cls(
            format=format_named(values["format"]),
            path=values["path"] or None,
            table=values["table"] or None,
            mode=values["mode"],
            keys=tuple(values["pk.fields"]) if values["insert.mode"] == "upsert" else None,
            deletes=values["delete.enabled"],
            partition_by=tuple(values["partition.by"]),
            sql=(values["sql"] or "").strip().rstrip(";") or None,
            schema=(values["schema"] or "").strip() or None,
            drift=drift if iceberg is None else drift_of_iceberg(config, iceberg.evolves),
            drift_setting=(DRIFT, values[DRIFT]) if values[DRIFT] else (EVOLUTION, values[EVOLUTION]),
            interval=values["trigger.interval.ms"] / 1000,
            most=values["batch.max.records"],
            options=with_prefix(config, OPTION),
            iceberg=iceberg,
        )


_ABSOLUTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)?(//[^/]*/|/(?!/))")
IN_FOLDERS = frozenset({"parquet", "orc", "json", "csv", "text", "xml", "avro"})
"""The formats that are files in a folder."""
_KNOWN = IN_FOLDERS | {"delta", ICEBERG, "jdbc", "kafka", "rate", "rate-micro-batch", "socket"}


def format_named(text: str) -> str:
    """Spark takes the short names of formats in any case; what it takes for a class is left as it is."""
    name = text.strip()
    return name.casefold() if name.casefold() in _KNOWN else name


def format_of_spark(config: Mapping[str, str]) -> str:
    """Return the format that Spark has to know, or an empty text if Spark's own writers and readers are not used."""
    return "" if has_catalog(config) else config.get("format") or ""


def sink_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find settings that contradict each other; return pairs of the setting at fault and a sentence."""
    path, table = (config.get("path") or "").strip(), (config.get("table") or "").strip()
    kind = format_named(config.get("format") or "parquet")
    if given := next((name for name in config if name.startswith("iceberg.")), None):
        if kind != ICEBERG:
            return [(given, f"has no effect with format={kind}: set format={ICEBERG}, or leave it out")]
        if not has_catalog(config):
            return [(f"{CATALOG}type", f"is missing beside {given}: {CATALOG}* describe the catalog of the tables")]
        return [*iceberg_problems(config), *_drift_problems(config)]
    if path and table:
        return [("path", f"path={path} and table={table} are both set: a sink writes to one of them")]
    if not path and not table and kind in {*IN_FOLDERS, "delta"}:
        return [("path", f"format={kind} needs a path, the folder to write to, or a table")]
    allowed = {old: frozenset({meaning}) for old, meaning in _DRIFTS.items()}
    found = [*drift_problems(config, EVOLUTION, allowed), *_drift_problems(config)]
    return found + key_problems(config, kind)


def _drift_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    if (config.get(DRIFT) or "").strip() == SchemaDrift.DEAD_LETTER:
        why = "dead-letter looks at the fields of each record, and {} decides about columns: set ignore or stop"
        return [(DRIFT, why.format(name)) for name in ("sql", "schema") if (config.get(name) or "").strip()]
    return []


def key_problems(config: Mapping[str, str], kind: str) -> list[tuple[str, str]]:
    """Find the problems of settings that change rows by their keys, as ``sink_problems``."""
    given = {name: (config.get(name) or "").strip() for name in ("path", "mode", "sql", "pk.mode", "pk.fields")}
    deletes = (config.get("delete.enabled") or "").strip().casefold() == "true"
    if (config.get("insert.mode") or "").strip() != "upsert":
        idle = {"pk.mode": given["pk.mode"] not in ("", "none"), "pk.fields": given["pk.fields"]}
        return [
            (name, "has no effect without insert.mode=upsert: set that, or leave it out")
            for name, wrong in {**idle, "delete.enabled": deletes}.items()
            if wrong
        ]
    found = []
    if kind != "delta":
        found.append(("insert.mode", f"upsert needs format=delta: rows of format={kind} can't be changed"))
    if given["path"] and not _ABSOLUTE.match(given["path"]):
        found.append(("path", f"has to be absolute for insert.mode=upsert (/data/t, s3a://data/t): {given['path']}"))
    if given["mode"] == "overwrite":
        found.append(("mode", "overwrite replaces all rows with each batch, insert.mode=upsert changes them: set one"))
    if given["sql"]:
        found.append(("sql", "is not supported with insert.mode=upsert: change records by transforms"))
    if given["pk.mode"] != RECORD_KEY:
        found.append(("pk.mode", "insert.mode=upsert finds rows by the keys of records: set pk.mode=record_key"))
    if not given["pk.fields"].strip(", "):
        found.append(("pk.fields", "insert.mode=upsert needs the names of the key's columns"))
    return found

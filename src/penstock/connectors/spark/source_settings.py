"""Settings of a Spark source: what to read, in which format, how to shape the rows, and the topic.

Everything that starts with ``option.`` goes to Spark's reader as it is, so whatever Spark can stream can be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.api.config import ConfigDef, ConfigType, Importance, with_prefix
from penstock.api.origin import define_origin_policy
from penstock.api.validators import NonEmptyString, at_least
from penstock.connectors.spark.sink_settings import IN_FOLDERS, OPTION, format_named

BOUNDARY = "transaction.boundary"
CHECKPOINT = "checkpoint.location"
WITHOUT_SCHEMA = frozenset({"text"})
"""The formats in folders whose columns are always the same."""

SOURCE_CONFIG = (
    ConfigDef()
    .define(
        "topic", ConfigType.STRING, validator=NonEmptyString(), importance=Importance.HIGH, documentation="Where to."
    )
    .define(
        "format",
        ConfigType.STRING,
        "parquet",
        NonEmptyString(),
        Importance.HIGH,
        "The format to read, by its name in Spark: parquet, orc, json, csv, text, rate, kafka, delta, ...",
    )
    .define(
        "path",
        ConfigType.STRING,
        None,
        None,
        Importance.HIGH,
        "The folder to read, as Spark names it (file:, s3a:, hdfs:, ...), for formats that have one.",
    )
    .define(
        CHECKPOINT,
        ConfigType.STRING,
        validator=NonEmptyString(),
        importance=Importance.HIGH,
        documentation="A durable folder for Spark's checkpoints. Each connector has a subfolder in it with its name.",
    )
    .define(
        "schema",
        ConfigType.STRING,
        None,
        None,
        Importance.MEDIUM,
        "The columns of what is read, as in CREATE TABLE: `id BIGINT, name STRING`. Files but those of text need it.",
    )
    .define(
        "sql",
        ConfigType.STRING,
        None,
        None,
        Importance.MEDIUM,
        "A SELECT from `records`, which are the rows of a batch; its result is sent.",
    )
    .define(
        "key.columns",
        ConfigType.LIST,
        [],
        None,
        Importance.MEDIUM,
        "The columns that are the key of a record: the value of one, or a struct of several.",
    )
    .define(
        "trigger.interval.ms",
        ConfigType.LONG,
        0,
        at_least(0),
        Importance.MEDIUM,
        "How often to look for rows, in milliseconds; 0: as soon as the previous batch is committed.",
    )
)
define_origin_policy(
    SOURCE_CONFIG,
    "the checkpoint is emptied, and the query starts from the beginning",
    "the query continues after the batch with this number in the checkpoint that is there",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """The settings of one Spark source; ``interval`` in seconds."""

    topic: str
    format: str
    path: str | None
    checkpoint: str
    schema: str | None
    sql: str | None
    key: tuple[str, ...]
    interval: float
    options: Mapping[str, str]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """From the connector's configuration. Raises ConfigError."""
        values = SOURCE_CONFIG.parse(config)
        return cls(
            topic=values["topic"],
            format=format_named(values["format"]),
            path=values["path"] or None,
            checkpoint=values[CHECKPOINT],
            schema=(values["schema"] or "").strip() or None,
            sql=(values["sql"] or "").strip().rstrip(";") or None,
            key=tuple(values["key.columns"]),
            interval=values["trigger.interval.ms"] / 1000,
            options=with_prefix(config, OPTION),
        )


def source_problems(config: Mapping[str, str]) -> list[tuple[str, str]]:
    """Find settings that contradict each other; return pairs of the setting at fault and a sentence."""
    found = []
    kind = format_named(config.get("format") or "parquet")
    if kind in IN_FOLDERS and not (config.get("path") or "").strip():
        found.append(("path", f"format={kind} needs a path, the folder to read"))
    if kind in IN_FOLDERS - WITHOUT_SCHEMA and not (config.get("schema") or "").strip():
        found.append(("schema", f"format={kind} needs a schema, such as `id BIGINT, name STRING`"))
    if (config.get(BOUNDARY) or "").strip().lower() == "interval":
        why = "a Spark source ends a transaction with each batch of its query"
        found.append((BOUNDARY, f"{BOUNDARY}=interval can't be used, because {why}: leave it out"))
    return found

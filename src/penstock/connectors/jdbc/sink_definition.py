"""The settings of the JDBC sink: Confluent's names, defaults and meanings; ours begin with ``penstock.``."""

from __future__ import annotations

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.drift import define_drift
from penstock.api.validators import ValidString, at_least, between
from penstock.connectors.jdbc.connection import CONNECTION, HOLDLOCK, AnyCase

DELIVERY, LEDGER = "penstock.delivery", "penstock.batches.table"
COERCION = "penstock.coercion"
EXACTLY_ONCE = "exactly-once"

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
        "timestamp.fields.list",
        ConfigType.LIST,
        [],
        None,
        Importance.MEDIUM,
        "The fields of type INT64 or STRING that are times since 1970, and are written as timestamps.",
    )
    .define(
        "timestamp.precision.mode",
        ConfigType.STRING,
        "microseconds",
        AnyCase("microseconds", "nanoseconds"),
        Importance.LOW,
        "The unit of the fields of timestamp.fields.list.",
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
        COERCION,
        ConfigType.STRING,
        "none",
        ValidString("none", "java"),
        Importance.LOW,
        "What becomes of a value that its column would change: one with more digits than the column keeps, a time of "
        "day in a column of days, spaces at the end of a text that is too long, a number that a floating-point column "
        "does not have. none: its row is refused. java: the database changes it, as with Confluent's connector.",
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
define_drift(JDBC_SINK_CONFIG, "auto.evolve")

"""The settings of the JDBC source: Confluent's names and meanings; ours begin with ``penstock.``."""

from __future__ import annotations

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.origin import define_origin_policy
from penstock.api.validators import ValidString, at_least, between
from penstock.connectors.jdbc.connection import CONNECTION, AnyCase

BULK, INCREMENTING, TIMESTAMP, BOTH = "bulk", "incrementing", "timestamp", "timestamp+incrementing"
GRANULARITIES = {
    "connect_logical": "MICROS",
    "micros_long": "MICROS",
    "micros_string": "MICROS_TEXT",
    "micros_iso_datetime_string": "MICROS_ISO",
    "nanos_long": "NANOS",
    "nanos_string": "NANOS_TEXT",
    "nanos_iso_datetime_string": "NANOS_ISO",
}
"""Java's way of reading a timestamp for each granularity (``Reading`` of penstock/connectors/jdbc/java)."""
ISOLATION = {
    "DEFAULT": -1,
    "READ_UNCOMMITTED": 1,
    "READ_COMMITTED": 2,
    "REPEATABLE_READ": 4,
    "SERIALIZABLE": 8,
    "SQL_SERVER_SNAPSHOT": 4096,
}
"""Isolation levels by name, as numbers of ``java.sql.Connection``."""
RETRIES = "query.retry.attempts"
TIME_MAPPING = "penstock.time.mapping"
RESTART = "the tables are read from their beginning, as without offsets"
PROCEED = "the rows after the offsets are read"
PARTITIONS, ROWS, HORIZON = "penstock.read.partitions", "penstock.read.rows", "penstock.snapshot.horizon"

_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_TEXT, _LIST, _LONG, _INT = ConfigType.STRING, ConfigType.LIST, ConfigType.LONG, ConfigType.INT

JDBC_SOURCE_CONFIG = (
    ConfigDef(CONNECTION)
    .define(
        "mode",
        _TEXT,
        NO_DEFAULT,
        ValidString(BULK, INCREMENTING, TIMESTAMP, BOTH),
        _HIGH,
        "bulk: all rows, every time. incrementing: rows with a greater number than before. timestamp: rows with a "
        "later time. timestamp+incrementing: both together, which also tells rows of the same time apart.",
    )
    .define(
        "topic.prefix",
        _TEXT,
        NO_DEFAULT,
        None,
        _HIGH,
        "What precedes the name of the table in the name of its topic; of a `query`, the topic.",
    )
    .define(
        "incrementing.column.name",
        _TEXT,
        "",
        None,
        _MEDIUM,
        "The column that only grows; empty: the one that the database numbers itself.",
    )
    .define(
        "timestamp.column.name",
        _LIST,
        [],
        None,
        _MEDIUM,
        "The columns with the time of a row's last change; of several, the first that is not null counts.",
    )
    .define(
        "timestamp.columns.mapping",
        _LIST,
        [],
        None,
        _MEDIUM,
        "For each table its timestamp columns: `regular expression:[column|column]`.",
    )
    .define(
        "incrementing.column.mapping",
        _LIST,
        [],
        None,
        _MEDIUM,
        "For each table its incrementing column: `regular expression:column`.",
    )
    .define(
        "timestamp.initial",
        _LONG,
        None,
        None,
        _LOW,
        "The time from which rows are read at first, in milliseconds since 1970; -1: now; unset: all rows.",
    )
    .define(
        "validate.non.null",
        ConfigType.BOOLEAN,
        True,
        None,
        _LOW,
        "Whether the columns of the mode must be NOT NULL: rows that have no value there are never read.",
    )
    .define("table.whitelist", _LIST, [], None, _MEDIUM, "The tables to read; empty: all.")
    .define("table.blacklist", _LIST, [], None, _MEDIUM, "The tables that are not read.")
    .define(
        "table.include.list",
        _LIST,
        [],
        None,
        _MEDIUM,
        "Regular expressions of the full names of the tables to read.",
    )
    .define(
        "table.exclude.list",
        _LIST,
        [],
        None,
        _MEDIUM,
        "Regular expressions of the full names of tables that are not read.",
    )
    .define("table.types", _LIST, ["TABLE"], None, _LOW, "The kinds of tables to read: TABLE, VIEW, ...")
    .define(
        "catalog.pattern", _TEXT, None, None, _MEDIUM, "The catalog of the tables; empty: those that have no catalog."
    )
    .define(
        "schema.pattern",
        _TEXT,
        None,
        None,
        _HIGH,
        "The schema of the tables, in which % and _ stand for others; empty: those that have no schema.",
    )
    .define("query", _TEXT, "", None, _MEDIUM, "A SELECT to read instead of tables; the mode adds WHERE to it.")
    .define(
        "query.masked", ConfigType.PASSWORD, None, None, _MEDIUM, "`query`, where it is not to be shown in answers."
    )
    .define("query.suffix", _TEXT, "", None, _LOW, "What is appended to each query.")
    .define(
        RETRIES,
        _INT,
        -1,
        at_least(-1),
        _LOW,
        "How often a read that failed is tried again before the task fails; -1: until it succeeds.",
    )
    .define(
        "poll.interval.ms", _INT, 5000, at_least(0), _HIGH, "How often to look for rows in each table, in milliseconds."
    )
    .define(
        "table.poll.interval.ms", _LONG, 60_000, at_least(1), _LOW, "How often to look for tables, in milliseconds."
    )
    .define(
        "batch.max.rows",
        _INT,
        10_000,
        between(1, 1_000_000),
        _LOW,
        "The most rows in a batch, and how many are fetched from the database at a time.",
    )
    .define(
        "numeric.precision.mapping",
        ConfigType.BOOLEAN,
        False,
        None,
        _LOW,
        "As numeric.mapping=precision_only, which has replaced it.",
    )
    .define(
        "numeric.mapping",
        _TEXT,
        None,
        AnyCase(None, "none", "precision_only", "best_fit", "best_fit_eager_double"),
        _LOW,
        "How columns of type NUMERIC are sent. none: as Decimal. precision_only: as integers, those without digits "
        "after the point. best_fit: as integers or doubles, those with up to 18 digits. best_fit_eager_double: with "
        "digits after the point always as doubles.",
    )
    .define(
        "timestamp.delay.interval.ms",
        _LONG,
        0,
        at_least(0),
        _HIGH,
        "How old a row has to be before it is read, so that transactions that began before have ended.",
    )
    .define(
        "timestamp.granularity",
        _TEXT,
        "connect_logical",
        AnyCase(*GRANULARITIES),
        _LOW,
        "How timestamps are sent: as Connect's Timestamp (milliseconds), or as numbers or text of micro- or "
        "nanoseconds.",
    )
    .define(
        TIME_MAPPING,
        _TEXT,
        "connect_logical",
        AnyCase("connect_logical", "string"),
        _LOW,
        "How columns of type TIME are sent: as Connect's Time, which has times of a day only, or as the database's "
        "text, which MariaDB's and MySQL's durations need (36:30:00, -10:00:00). With string, PostgreSQL's intervals "
        "are sent as text too.",
    )
    .define(
        "sql.complex.types.enable",
        ConfigType.BOOLEAN,
        False,
        None,
        _LOW,
        "Whether arrays of PostgreSQL are sent, those of numbers, booleans, texts, json and uuid; other columns of "
        "such types are left out.",
    )
    .define(
        "transaction.isolation.mode",
        _TEXT,
        "DEFAULT",
        AnyCase(*ISOLATION),
        _LOW,
        "The isolation of the transactions in which rows are read; DEFAULT: the database's.",
    )
    .define(
        PARTITIONS,
        _INT,
        0,
        between(0, 1000),
        _MEDIUM,
        "How many connections read a table at the same time, each another range of keys; 0: as many as Spark has "
        "cores on one machine or in its cluster.",
    )
    .define(
        ROWS,
        _INT,
        100_000,
        at_least(1),
        _LOW,
        "Of about how many rows a range consists. What is read ahead waits in memory, up to 64 MB.",
    )
    .define(
        HORIZON,
        ConfigType.BOOLEAN,
        False,
        None,
        _MEDIUM,
        "PostgreSQL: read a row only when all transactions have ended that ran when it was first seen, so that none "
        "can commit an earlier one afterwards.",
    )
)
define_origin_policy(JDBC_SOURCE_CONFIG, RESTART, PROCEED)

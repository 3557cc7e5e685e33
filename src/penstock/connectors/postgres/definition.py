"""The settings of ``PostgresSource``: Debezium's names and meanings, of those that are built here."""

from __future__ import annotations

from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.origin import define_origin_policy
from penstock.api.validators import Validator, ValidString, at_least, between
from penstock.connectors.postgres.origin import PROCEED, RESTART

_TYPES = {
    "TEXT": ConfigType.STRING,
    "INT": ConfigType.INT,
    "BOOLEAN": ConfigType.BOOLEAN,
    "LIST": ConfigType.LIST,
    "PASSWORD": ConfigType.PASSWORD,
}
# A definition a line, with its documentation below: name, type, importance, default; `!` is required, nothing is null.
_DEFINITIONS = """
database.hostname TEXT HIGH !
    The host of the PostgreSQL server.
database.port INT HIGH 5432
    The port of the PostgreSQL server.
database.user TEXT HIGH !
    The user to connect as, who must be allowed to replicate.
database.password PASSWORD HIGH
    The user's password.
database.dbname TEXT HIGH !
    The database whose changes are captured.
database.sslmode TEXT MEDIUM prefer
    Whether connections are encrypted, and how far the server is trusted.
database.sslrootcert TEXT MEDIUM
    The file with the certificates of the authorities that are trusted.
database.sslcert TEXT MEDIUM
    The file with the client's certificate.
database.sslkey TEXT MEDIUM
    The file with the client's key, in PEM.
topic.prefix TEXT HIGH !
    What the names of topics begin with: prefix.schema.table. It also names the source of the offsets.
slot.name TEXT MEDIUM debezium
    The logical replication slot; it is created if it does not exist.
slot.failover BOOLEAN LOW false
    Whether a slot that is created is kept in step on standby servers; PostgreSQL 17 and later.
publication.name TEXT MEDIUM dbz_publication
    The publication that says of which tables changes are sent.
publication.autocreate.mode TEXT MEDIUM all_tables
    all_tables: a missing one is made for all tables. filtered: it has the captured ones. disabled: it must exist.
schema.include.list LIST HIGH
    Regular expressions of the schemas whose tables are captured; unset: all.
schema.exclude.list LIST MEDIUM
    Regular expressions of schemas whose tables are not captured.
table.include.list LIST HIGH
    Regular expressions of the tables that are captured, as schema.table; unset: all.
table.exclude.list LIST MEDIUM
    Regular expressions of tables that are not captured.
snapshot.mode TEXT MEDIUM initial
    initial: without an offset, first all rows of the captured tables are read. no_data: changes alone.
snapshot.fetch.size INT LOW 10240
    How many rows of a snapshot are fetched at a time.
decimal.handling.mode TEXT MEDIUM precise
    How numeric and money become values: precise (Connect's Decimal), string or double.
time.precision.mode TEXT MEDIUM adaptive
    How dates and times become values: as precise as the column, microseconds, ISO texts, or Connect's types.
binary.handling.mode TEXT LOW bytes
    How bytea becomes a value.
interval.handling.mode TEXT LOW numeric
    How interval becomes a value: microseconds, of a month 30.4375 days, or an ISO text.
money.fraction.digits INT LOW 2
    The digits of money after the point.
tombstones.on.delete BOOLEAN MEDIUM true
    Whether a record without a value follows a deletion, for compacted topics.
skipped.operations LIST LOW t
    The operations that give no records: c, u, d, t (truncate), or none.
unavailable.value.placeholder TEXT LOW __debezium_unavailable_value
    What stands for a long value that an update has not changed, and which PostgreSQL therefore does not send.
provide.transaction.metadata BOOLEAN LOW false
    Whether a topic has the beginning and the end of each transaction, and each event its place in its transaction.
topic.transaction TEXT LOW transaction
    The topic of transactions is the prefix of topics, a dot, and this.
heartbeat.interval.ms INT MEDIUM 0
    How often a heartbeat with the position is sent, in milliseconds; 0: never.
heartbeat.action.query TEXT LOW
    An SQL statement that is executed at each heartbeat.
topic.heartbeat.prefix TEXT LOW __debezium-heartbeat
    The topic of heartbeats is this, a dot, and the prefix of topics.
max.batch.size INT MEDIUM 2048
    The most records of a batch.
poll.interval.ms INT MEDIUM 500
    The longest time without a look at what the server has sent, in milliseconds.
status.update.interval.ms INT MEDIUM 10000
    How often the server hears of the connector while nothing happens, in milliseconds.
"""
_CHOICES = {
    "database.sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "publication.autocreate.mode": ("all_tables", "filtered", "disabled"),
    "snapshot.mode": ("initial", "no_data"),
    "decimal.handling.mode": ("precise", "string", "double"),
    "time.precision.mode": (
        "adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds"
    ),
    "binary.handling.mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "interval.handling.mode": ("numeric", "string"),
}  # fmt: skip
_MINIMA = {
    "snapshot.fetch.size": 1,
    "money.fraction.digits": 0,
    "heartbeat.interval.ms": 0,
    "max.batch.size": 1,
    "poll.interval.ms": 1,
    "status.update.interval.ms": 1000,
}


def _defined() -> ConfigDef:
    made = ConfigDef()
    lines = _DEFINITIONS.strip().splitlines()
    for head, text in zip(lines[::2], lines[1::2], strict=True):
        name, kind, importance, *rest = head.split(" ")
        type = _TYPES[kind]
        default: Any = rest[0] if rest else ("" if type is ConfigType.LIST else None)
        if default == "!":
            default = NO_DEFAULT
        validator: Validator | None = None
        if name in _CHOICES:
            validator = ValidString(*_CHOICES[name])
        elif name in _MINIMA:
            validator = at_least(_MINIMA[name])
        elif name == "database.port":
            validator = between(1, 65535)
        made.define(name, type, default, validator, Importance[importance], text.strip())
    return define_origin_policy(made, RESTART, PROCEED)


POSTGRES_CONFIG = _defined()

"""The types of PostgreSQL, and the fields of Connect that PostgresSource makes of them, as Debezium does: one table.

The connector looks its columns up here, and the reference page of types is made from it. Tests declare columns of these
types in a real database and pass values through them. Domains, enums and arrays are made of these types.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
)
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values import numbers, texts, times
from penstock.connectors.postgres.values.value_type import Read, TypeMapping, ValueType

_DECIMALS, _TIMES = "decimal.handling.mode", "time.precision.mode"
_BINARY, _INTERVALS = "binary.handling.mode", "interval.handling.mode"
REFUSED = "the task fails and names the column"
_FINITE = f"infinity: {REFUSED}"
_YEARS = "0001-01-01 to 9999-12-31"
_OTHER_YEARS = f"infinity, years before 1 and after 9999: {REFUSED}"
_MIDNIGHT = f"24:00: {REFUSED}"
_CUT = "without digits after the millisecond"
_UNLIMITED = 1 << 31
"""More than any type modifier."""


def _same(schema: Schema, read: Read, nothing: str | None = None) -> Callable[[int, PostgresSettings], ValueType]:
    """Make the same field of every modifier."""
    found = ValueType(schema, read, nothing)
    return lambda modifier, settings: found


def _plain(name: str, types: str, schema: Schema, read: Read, *declared: str, range: str = "") -> TypeMapping:
    return TypeMapping(name, frozenset(types.split()), _same(schema, read), range=range, declared=declared)


def _chosen(
    name: str,
    types: str,
    setting: str,
    modes: str,
    of: Callable[[int, PostgresSettings], ValueType],
    *declared: str,
    **more: Any,
) -> TypeMapping:
    return TypeMapping(name, frozenset(types.split()), of, setting, tuple(modes.split()), declared=declared, **more)


def _numeric_text(modifier: int, settings: PostgresSettings) -> ValueType:
    return ValueType(STRING, str, f"{0:.{max(numbers.scale_of(modifier), 0)}f}" if modifier >= 0 else "0")


def _money_text(modifier: int, settings: PostgresSettings) -> ValueType:
    return ValueType(STRING, lambda text: str(numbers.amount(text)), f"{0:.{settings.money_digits}f}")


def _zoned_timestamp(modifier: int, settings: PostgresSettings) -> ValueType:
    digits = modifier if modifier >= 0 else 6
    return ValueType(times.ZONED_TIMESTAMP, lambda text: times.iso_timestamp(text, digits))


def _coded(encode: Callable[[bytes], bytes]) -> Callable[[int, PostgresSettings], ValueType]:
    return _same(STRING, lambda text: encode(numbers.binary(text)).decode())


_NUMBERS = (
    _plain("BOOLEAN", "bool", BOOLEAN, lambda text: text in ("t", "true"), "boolean"),
    _plain("SMALLINT, SMALLSERIAL", "int2", INT16, int, "smallint", "smallserial"),
    _plain("INTEGER, SERIAL", "int4", INT32, int, "integer", "serial"),
    _plain("BIGINT, BIGSERIAL", "int8", INT64, int, "bigint", "bigserial"),
    _plain("OID", "oid", INT64, int, "oid"),
    _plain("REAL", "float4", FLOAT32, numbers.single, "real"),
    _plain("DOUBLE PRECISION", "float8", FLOAT64, float, "float8"),
    _chosen(
        *("NUMERIC(precision, scale)", "numeric", _DECIMALS, "precise", numbers.numeric),
        *("numeric(12)", "numeric(12, 3)", "numeric(3, -2)"),
        modifiers=(0, _UNLIMITED),
        beyond=f"NaN: {REFUSED}",
    ),
    _chosen(
        *("NUMERIC", "numeric", _DECIMALS, "precise", _same(numbers.VARIABLE, numbers.variable), "numeric"),
        range="as many digits after the point as the value has, without zeros at the end",
        beyond=f"NaN, Infinity: {REFUSED}",
    ),
    _chosen("NUMERIC", "numeric", _DECIMALS, "string", _numeric_text),
    _chosen("NUMERIC", "numeric", _DECIMALS, "double", _same(FLOAT64, float), range="the nearest number of 64 bits"),
    _chosen(
        *("MONEY", "money", _DECIMALS, "precise", numbers.money, "money"),
        range="where `lc_monetary` has two digits after the point; as many as `money.fraction.digits` says",
        beyond=f"more digits: {REFUSED}",
    ),
    _chosen(
        *("MONEY", "money", _DECIMALS, "string", _money_text),
        range="where `lc_monetary` has two digits after the point",
    ),
    _chosen(
        *("MONEY", "money", _DECIMALS, "double", _same(FLOAT64, lambda text: float(numbers.amount(text)))),
        range="the nearest number of 64 bits, where `lc_monetary` has two digits after the point",
    ),
    TypeMapping(
        "BIT(1)", frozenset({"bit"}), _same(BOOLEAN, lambda text: text == "1"), modifiers=(1, 1), declared=("bit",)
    ),
    TypeMapping(
        *("BIT, BIT VARYING", frozenset({"bit", "varbit"}), numbers.bits),
        range="bytes, the lowest first, without zeros at the end",
        declared=("bit(9)", "varbit", "varbit(3)"),
    ),
)

_TEXTS = (
    _plain(
        *("CHAR, VARCHAR, TEXT, NAME, CITEXT, LTREE", "text varchar bpchar char name citext ltree", STRING, str),
        *("text", "varchar", "varchar(9)", "char(5)", '"char"', "name"),
    ),
    _plain(
        *("INET, CIDR, MACADDR, MACADDR8", "inet cidr macaddr macaddr8", STRING, str),
        *("inet", "cidr", "macaddr", "macaddr8"),
    ),
    _plain(
        *("ranges of numbers and times", "int4range int8range numrange tsrange tstzrange daterange", STRING, str),
        *("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange"),
    ),
    _plain("JSON, JSONB", "json jsonb", numbers.named(STRING, "Json"), str, "json", "jsonb"),
    _plain("XML", "xml", numbers.named(STRING, "Xml"), str, "xml"),
    _plain("UUID", "uuid", numbers.named(STRING, "Uuid"), str, "uuid"),
    _chosen("BYTEA", "bytea", _BINARY, "bytes", _same(BYTES, numbers.binary), "bytea"),
    _chosen("BYTEA", "bytea", _BINARY, "hex", _same(STRING, lambda text: text[2:])),
    _chosen("BYTEA", "bytea", _BINARY, "base64", _coded(base64.b64encode)),
    _chosen("BYTEA", "bytea", _BINARY, "base64-url-safe", _coded(base64.urlsafe_b64encode)),
    _plain("POINT", "point", numbers.POINT, numbers.point, "point"),
)

_DATES_AND_TIMES = (
    _chosen(
        *("DATE", "date", _TIMES, "adaptive adaptive_time_microseconds microseconds", _same(times.DAYS, texts.days)),
        "date",
        range="days since 1970, of all years",
        beyond=_FINITE,
    ),
    _chosen(
        *("DATE", "date", _TIMES, "isostring", _same(times.ISO_DATE, times.iso_date)), range=_YEARS, beyond=_OTHER_YEARS
    ),
    _chosen("DATE", "date", _TIMES, "connect", _same(DATE, times.connect_date), range=_YEARS, beyond=_OTHER_YEARS),
    _chosen(
        *("TIME(0) to TIME(3)", "time", _TIMES, "adaptive"),
        *(_same(times.MILLIS, lambda text: texts.micros_of_day(text) // 1000), "time(0)", "time(3)"),
        modifiers=(0, 3),
    ),
    _chosen(
        *("TIME", "time", _TIMES, "adaptive adaptive_time_microseconds microseconds"),
        *(_same(times.MICROS, texts.micros_of_day), "time", "time(6)"),
    ),
    _chosen("TIME", "time", _TIMES, "isostring", _same(times.ISO_TIME, times.iso_time)),
    _chosen("TIME", "time", _TIMES, "connect", _same(TIME, times.connect_time), range=_CUT, beyond=_MIDNIGHT),
    TypeMapping(
        *("TIMETZ", frozenset({"timetz"}), _same(times.ZONED_TIME, times.zoned_time)),
        range="the time in UTC",
        beyond=_MIDNIGHT,
        declared=("timetz", "timetz(3)"),
    ),
    _chosen(
        *("TIMESTAMP(0) to TIMESTAMP(3)", "timestamp", _TIMES, "adaptive adaptive_time_microseconds"),
        *(_same(times.MILLI_TIMESTAMP, lambda text: texts.micros(text) // 1000), "timestamp(0)", "timestamp(3)"),
        modifiers=(0, 3),
        range="of all years",
        beyond=_FINITE,
    ),
    _chosen(
        *("TIMESTAMP", "timestamp", _TIMES, "adaptive adaptive_time_microseconds microseconds"),
        *(_same(times.MICRO_TIMESTAMP, texts.micros), "timestamp", "timestamp(6)"),
        range="of all years",
        beyond=_FINITE,
    ),
    _chosen(
        *("TIMESTAMP", "timestamp", _TIMES, "isostring", _same(times.ISO_TIMESTAMP, times.iso_timestamp)),
        range=_YEARS,
        beyond=_OTHER_YEARS,
    ),
    _chosen(
        *("TIMESTAMP", "timestamp", _TIMES, "connect", _same(TIMESTAMP, times.connect_timestamp)),
        range=f"{_YEARS}, {_CUT}",
        beyond=_OTHER_YEARS,
    ),
    TypeMapping(
        *("TIMESTAMPTZ", frozenset({"timestamptz"}), _zoned_timestamp),
        range=f"{_YEARS}, in UTC",
        beyond=_OTHER_YEARS,
        declared=("timestamptz", "timestamptz(3)"),
    ),
    _chosen(
        *("INTERVAL", "interval", _INTERVALS, "numeric", _same(times.MICRO_DURATION, times.micro_duration)),
        *("interval", "interval day to second"),
        range="microseconds of 64 bits; a month has 30.4375 days",
        beyond=f"infinity, longer ones: {REFUSED}",
    ),
    _chosen(
        *("INTERVAL", "interval", _INTERVALS, "string"),
        _same(times.INTERVAL, times.iso_interval, times.iso_interval("00:00:00")),
        beyond=_FINITE,
    ),
)

LEFT_OUT = (
    "pg_lsn",
    *("tsvector", "tsquery", "jsonpath"),
    *("line", "lseg", "box", "path", "polygon", "circle"),
    *("int4multirange", "int8multirange", "nummultirange", "tsmultirange", "tstzmultirange", "datemultirange"),
    *("xid", "xid8", "cid", "tid", "txid_snapshot", "pg_snapshot"),
)
"""Types in ``pg_type``, besides those of extensions and of the catalog itself, without a form in a record."""

MAPPINGS = (*_NUMBERS, *_TEXTS, *_DATES_AND_TIMES)
"""The first that takes a column counts."""


def mapping(type: str, modifier: int, settings: PostgresSettings) -> TypeMapping | None:
    """Return the mapping of a type by its name in ``pg_type``, or None if it has no form in a record."""
    return next((each for each in MAPPINGS if each.takes(type, modifier, settings)), None)

"""The columns of a record in a table, and the shape that records with the same columns share.

Every shape has one SQL statement: a record without a field leaves its column as it is, and a record with one more field
has another shape. Times are stored in a zone of Java's names (``zone``).
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from zoneinfo import ZoneInfo

from penstock.api import schema as s
from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import SchemaType


class ColumnKind(enum.StrEnum):
    """The types of columns: Connect's primitive types and logical types."""

    INT8 = "INT8"
    INT16 = "INT16"
    INT32 = "INT32"
    INT64 = "INT64"
    FLOAT32 = "FLOAT32"
    FLOAT64 = "FLOAT64"
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    BYTES = "BYTES"
    DECIMAL = "DECIMAL"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    MICROS = "MICROS"
    NANOS = "NANOS"
    """Timestamps, as whole numbers or texts of so many micro- or nanoseconds since 1970."""


_LOGICAL = {
    s.DECIMAL_NAME: ColumnKind.DECIMAL,
    s.DATE_NAME: ColumnKind.DATE,
    s.TIME_NAME: ColumnKind.TIME,
    s.TIMESTAMP_NAME: ColumnKind.TIMESTAMP,
}


PER_SECOND = {ColumnKind.MICROS: 10**6, ColumnKind.NANOS: 10**9}
_NUMBERS = (SchemaType.INT64, SchemaType.STRING)
"""Schemas of values that can be MICROS or NANOS."""


class RecordPart(enum.StrEnum):
    """The part of a record that has a column's value; ``KAFKA``: its topic, partition and offset."""

    KEY = "key"
    VALUE = "value"
    KAFKA = "kafka"


@dataclass(frozen=True, slots=True)
class SinkColumn:
    """``field``: the field of the key or value; None: the key itself. ``default`` is the schema's, as text.

    An ``array`` has items of the ``kind``.
    """

    name: str
    kind: ColumnKind
    part: RecordPart
    field: str | None
    key: bool = False
    """Whether it belongs to the primary key."""
    optional: bool = False
    default: str | None = None
    scale: int = 0
    array: bool = False
    type: str = ""
    """The type of the table's column, as the driver names it; empty until the table is known."""

    @classmethod
    def of(
        cls,
        name: str,
        schema: s.Schema,
        part: RecordPart,
        field: str | None,
        *,
        key: bool = False,
        moment: ColumnKind | None = None,
        zones: tuple[str, str] = ("UTC", "UTC"),
    ) -> Self:
        """``moment``: MICROS or NANOS if numbers and texts are to be timestamps. ``zones``: of times and of dates in
        the database. Raises DataError for types that a column can't have.
        """
        moment = moment if schema.type in _NUMBERS else None
        kind = _LOGICAL.get(schema.name or "") or moment
        items = None if key or schema.type is not SchemaType.ARRAY else _items(schema.value_schema)
        if kind is None and items is None and not schema.type.primitive:
            raise no_column(name, schema.name or schema.type.name)
        return cls(
            name,
            kind or items or ColumnKind(schema.type.name),
            part,
            field,
            key,
            schema.optional and not key,
            None if schema.default is None or items is not None else default_text(schema.default, moment, *zones),
            int(schema.parameters["scale"]) if kind is ColumnKind.DECIMAL else 0,
            items is not None,
        )


@dataclass(frozen=True, slots=True)
class RowShape:
    """The columns of a table that some records have. ``delete``: records without a value, which have only keys."""

    table: str
    columns: tuple[SinkColumn, ...]
    delete: bool = False

    @property
    def keys(self) -> tuple[SinkColumn, ...]:
        return tuple(column for column in self.columns if column.key)

    @property
    def others(self) -> tuple[SinkColumn, ...]:
        return tuple(column for column in self.columns if not column.key)

    def in_table(self, types: Mapping[str, str]) -> Self:
        """Return the shape with the columns of a table instead, named as the table has them.

        Names that differ only in case are the same, unless both are there. ``types``: the table's, by the names of its
        columns.
        """
        free = types.keys() - {column.name for column in self.columns}
        names = {name.casefold(): name for name in sorted(free)}
        found = []
        for column in self.columns:
            name = column.name if column.name in types else names.get(column.name.casefold(), column.name)
            found.append(replace(column, name=name, type=types.get(name, "")))
        return replace(self, columns=tuple(found))


def no_column(name: str, type: str) -> DataError:
    return DataError(f"{name} ({type}) type doesn't have a mapping to the SQL database column type")


def _items(schema: s.Schema | None) -> ColumnKind | None:
    """Return the element type of an array that a column can hold, or None for any other schema."""
    if schema is None or not schema.type.primitive or schema.type is SchemaType.BYTES or schema.name in _LOGICAL:
        return None
    return ColumnKind(schema.type.name)


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MAX_SECONDS = 10**13
"""Java has no longer ones."""


def moment_of(value: Any, kind: ColumnKind) -> int:
    """The number of micro- or nanoseconds. Raises DataError for what is no number of them."""
    try:
        number = int(value)
    except ValueError:
        raise DataError(f"{value!r} of timestamp.fields.list is no whole number") from None
    if abs(number) >= _MAX_SECONDS * PER_SECOND[kind]:
        raise DataError(f"{value!r} of timestamp.fields.list is no time")
    return number


def default_text(value: Any, unit: ColumnKind | None = None, zone: str = "UTC", date_zone: str = "UTC") -> str:
    """A default value as text: dates and times in ISO 8601, as rows have them in these zones; bytes in hexadecimal
    digits. ``unit``: MICROS or NANOS of a number that is a time.
    """
    if unit is not None:
        at = _EPOCH + dt.timedelta(microseconds=moment_of(value, unit) * 10**6 // PER_SECOND[unit])
        return _local(at, zone).isoformat(" ", "microseconds")
    match value:
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case dt.datetime():
            return _local(value, zone).isoformat(" ", "milliseconds")
        case dt.date():
            return _local(dt.datetime.combine(value, dt.time()), date_zone).date().isoformat()
        case dt.time():
            return _local(dt.datetime.combine(_EPOCH, value), zone).time().isoformat("milliseconds")
        case decimal.Decimal():
            return format(value, "f")
    return str(value)


def _local(value: dt.datetime, zone: str) -> dt.datetime:
    """Convert a time to local time in ``zone``; one without a zone is UTC."""
    at = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return at.astimezone(tzinfo_of(zone)).replace(tzinfo=None)


_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?:(?<=\d\d):?([0-5]\d))?")
_UTC = ("Z", "UTC", "GMT", "UT")
_SHORT = {"EST": "GMT-05:00", "MST": "GMT-07:00", "HST": "GMT-10:00"}
"""Names that Java's ``TimeZone`` knows, and its ``ZoneId`` not before Java 24, with their offsets."""
_MAX_OFFSET_MINUTES = 18 * 60


def zone(name: str, setting: str) -> str:
    """Return the zone's name for Java's ``TimeZone`` and ``ZoneId``: a region, or an offset such as ``GMT+02:00``.

    Raises ConfigError if there is no such zone.
    """
    if name in _UTC:
        return "UTC"
    if name in _SHORT:
        return _SHORT[name]
    if found := _OFFSET.fullmatch(name):
        sign, hours, minutes = found[1], int(found[2]), int(found[3] or 0)
        if hours * 60 + minutes <= _MAX_OFFSET_MINUTES:
            return f"GMT{sign}{hours:02}:{minutes:02}" if hours or minutes else "UTC"
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise ConfigError(
            setting,
            name,
            "there is no such time zone: name a region such as Europe/Berlin, or an offset such as +02:00",
        ) from None
    return name


def tzinfo_of(zone: str) -> dt.tzinfo:
    """Return the zone of a name that ``zone`` has returned."""
    if zone == "UTC":
        return dt.UTC
    if found := _OFFSET.fullmatch(zone):
        offset = dt.timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return dt.timezone(offset if found[1] == "+" else -offset)
    return ZoneInfo(zone)


def offset_of(zone: str) -> str | None:
    """Return the offset of a zone that ``zone`` has returned; None of a region."""
    return "+00:00" if zone == "UTC" else zone[3:] if re.match("GMT[+-]", zone) else None

"""From the columns of a database to fields of Connect, as Confluent's documentation maps them.

A column of a type that Connect has nothing for (arrays, intervals, ...) is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from penstock.api import schema as s
from penstock.api.errors import DataError
from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.source.definition import GRANULARITIES
from penstock.connectors.jdbc.source.mappings import source_type
from penstock.connectors.jdbc.source.source_type import (
    COMPLEX,
    DECIMAL,
    NUMERIC,
    TIME_TEXTS,
    WHOLE,
    Reading,
    SourceType,
)

_MAX_DIGITS = 18
"""Numbers of so many digits fit in INT64."""
_MIN_SCALE, _NO_SCALE, _MAX_SCALE = -84, -127, 127
"""Oracle's: -127 stands for a number whose digits after the point are not limited."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column as the driver describes it; ``type`` is a number of ``java.sql.Types``."""

    label: str
    type: int
    type_name: str = ""
    precision: int = 0
    scale: int = 0
    nullable: bool = True
    signed: bool = True
    numbered: bool = False
    """Whether the database numbers it itself."""

    @property
    def whole(self) -> bool:
        """Return whether its values are whole numbers, as far as its type tells."""
        return self.type in WHOLE or (self.type in (NUMERIC, DECIMAL) and (self.precision <= 0 or self.scale <= 0))

    @classmethod
    def several(cls, texts: Sequence[str]) -> list[Self]:
        """Parse the answer of Java's ``Query.columns``."""
        found = []
        for i in range(0, len(texts), 8):
            label, type, name, precision, scale, nullable, unsigned, numbered = texts[i : i + 8]
            numbers = int(type), name, int(precision), _signed(int(scale))
            found.append(cls(label, *numbers, nullable != "", unsigned == "", numbered != ""))
        return found


@dataclass(frozen=True, slots=True)
class SourceField:
    """A column that is sent: its number from 1, how Java reads it, and its schema."""

    name: str
    column: int
    reading: str
    schema: s.Schema

    @property
    def scale(self) -> int:
        return int(self.schema.parameters.get("scale", "0"))


def fields_of(
    columns: Sequence[SourceColumn],
    dialect: Dialect,
    mapping: str,
    granularity: str,
    arrays: bool = False,
    durations: bool = False,
) -> list[SourceField]:
    """``mapping``, ``granularity``, ``arrays``, ``durations``: of the settings. Raises DataError where these can't
    be fields of one record.
    """
    fields = []
    given = {COMPLEX: arrays, TIME_TEXTS: durations}
    for number, column in enumerate(columns, 1):
        type = source_type(dialect.name, column.type, column.type_name, column.signed, column.precision)
        if type is None or type.reading is Reading.NONE or not given.get(type.needs, True):
            continue
        reading, schema = _field(type, column, dialect, mapping, granularity, durations)
        fields.append(SourceField(column.label, number, reading, schema.with_(optional=column.nullable)))
    names = [field.name for field in fields]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"Several columns are named {', '.join(twice)}: give them other names by AS in `query`")
    if not fields:
        raise DataError(f"Connect has nothing for any of the columns {', '.join(map(_named, columns))}")
    return fields


def left_out(columns: Sequence[SourceColumn], fields: Sequence[SourceField]) -> list[str]:
    """Return the columns that are not sent, with their types."""
    sent = {field.column for field in fields}
    return [_named(column) for number, column in enumerate(columns, 1) if number not in sent]


def _named(column: SourceColumn) -> str:
    return f"{column.label} ({column.type_name})"


def _field(
    type: SourceType, column: SourceColumn, dialect: Dialect, mapping: str, granularity: str, durations: bool
) -> tuple[str, s.Schema]:
    match type.reading:
        case Reading.NUMBER:
            return _narrowed(column, mapping) or (Reading.DECIMAL, s.decimal(_scale(column, dialect)))
        case Reading.DECIMAL:
            return Reading.DECIMAL, s.decimal(_scale(column, dialect))
        case Reading.MOMENT:
            return GRANULARITIES[granularity], _time_schema(granularity)
        case Reading.TIME if durations:
            return Reading.TIME_TEXT, s.STRING
    return type.reading, type.schema


def _signed(scale: int) -> int:
    """Correct a scale: PostgreSQL's driver reports 2046 for -2; no database has so many digits after the point."""
    return scale - 2048 if 1024 <= scale < 2048 else scale


def _scale(column: SourceColumn, dialect: Dialect) -> int:
    if column.scale == _NO_SCALE:
        return _MAX_SCALE
    return dialect.open_scale if column.precision <= 0 and column.scale == 0 else column.scale


def _narrowed(column: SourceColumn, mapping: str) -> tuple[str, s.Schema] | None:
    """A NUMERIC as a primitive type; None: as Decimal. One without a precision has any number of digits."""
    digits, scale = column.precision, column.scale
    if digits <= 0:
        return None
    if _MIN_SCALE <= scale < 0:
        digits -= scale  # the zeros in front of the point
    fits = digits <= _MAX_DIGITS
    match mapping:
        case "precision_only":
            return _whole(digits) if scale == 0 and fits else None
        case "best_fit" if not fits:
            return None
        case "best_fit" | "best_fit_eager_double":
            if scale > 0:
                return Reading.FLOAT64, s.FLOAT64
            return _whole(digits) if scale >= _MIN_SCALE and fits else None
    return None


def _whole(digits: int) -> tuple[str, s.Schema]:
    if digits > 9:
        return Reading.INT64, s.INT64
    if digits > 4:
        return Reading.INT32, s.INT32
    return (Reading.INT16, s.INT16) if digits > 2 else (Reading.INT8, s.INT8)


def _time_schema(granularity: str) -> s.Schema:
    if granularity == "connect_logical":
        return s.TIMESTAMP
    return s.INT64 if granularity.endswith("_long") else s.STRING

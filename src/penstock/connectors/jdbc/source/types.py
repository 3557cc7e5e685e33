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

# Numbers of java.sql.Types
BIT, TINYINT, SMALLINT, INTEGER, BIGINT, BOOLEAN, REAL, NUMERIC, DECIMAL = -7, -6, 5, 4, -5, 16, 7, 2, 3
TIMES = (93, 2014)
"""TIMESTAMP, TIMESTAMP_WITH_TIMEZONE."""
OTHER, ARRAY = 1111, 2003
WHOLE = (TINYINT, SMALLINT, INTEGER, BIGINT)
_MAX_DIGITS = 18
"""Numbers of so many digits fit in INT64."""
_MIN_SCALE, _NO_SCALE, _MAX_SCALE = -84, -127, 127
"""Oracle's: -127 stands for a number whose digits after the point are not limited."""

_SIGNED = {
    TINYINT: ("INT8", s.INT8),
    SMALLINT: ("INT16", s.INT16),
    INTEGER: ("INT32", s.INT32),
    BIGINT: ("INT64", s.INT64),
}
_UNSIGNED = {**_SIGNED, TINYINT: _SIGNED[SMALLINT], SMALLINT: _SIGNED[INTEGER], INTEGER: _SIGNED[BIGINT]}
_FIXED = {
    BOOLEAN: ("BOOLEAN", s.BOOLEAN),
    BIT: ("INT8", s.INT8),
    REAL: ("FLOAT32", s.FLOAT32),
    **dict.fromkeys((6, 8), ("FLOAT64", s.FLOAT64)),  # FLOAT, DOUBLE
    # CHAR, VARCHAR, LONGVARCHAR, the same with N, CLOB, NCLOB, DATALINK, SQLXML
    **dict.fromkeys((1, 12, -1, -15, -9, -16, 2005, 2011, 70, 2009), ("STRING", s.STRING)),
    **dict.fromkeys((-2, -3, -4, 2004), ("BYTES", s.BYTES)),  # BINARY, VARBINARY, LONGVARBINARY, BLOB
    91: ("DATE", s.DATE),
    **dict.fromkeys((92, 2013), ("TIME", s.TIME)),
}

_ITEMS = {
    "_bool": ("BOOLEANS", s.BOOLEAN),
    "_int2": ("INT16S", s.INT16),
    "_int4": ("INT32S", s.INT32),
    "_int8": ("INT64S", s.INT64),
    "_float4": ("FLOAT32S", s.FLOAT32),
    "_float8": ("FLOAT64S", s.FLOAT64),
    **dict.fromkeys(("_text", "_varchar", "_bpchar", "_uuid", "_json", "_jsonb"), ("STRINGS", s.STRING)),
}
"""Arrays of PostgreSQL."""


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
    columns: Sequence[SourceColumn], dialect: Dialect, mapping: str, granularity: str, arrays: bool = False
) -> list[SourceField]:
    """``mapping``, ``granularity``, ``arrays``: of the settings. Raises DataError where these can't be fields of one
    record.
    """
    fields = []
    for number, column in enumerate(columns, 1):
        found = _array(column, dialect) if arrays else None
        found = found or _mapped(column, dialect, mapping, granularity)
        if found is not None:
            reading, schema = found
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


def _mapped(column: SourceColumn, dialect: Dialect, mapping: str, granularity: str) -> tuple[str, s.Schema] | None:
    kind = column.type
    if kind == INTEGER and dialect.wide:
        return _SIGNED[BIGINT]
    if kind in WHOLE:
        return (_SIGNED if column.signed else _UNSIGNED)[kind]
    if kind in (NUMERIC, DECIMAL):
        narrow = _narrowed(column, mapping) if kind == NUMERIC else None
        return narrow or ("DECIMAL", s.decimal(_scale(column, dialect)))
    if kind in TIMES or kind in dialect.times:
        return GRANULARITIES[granularity], _time_schema(granularity)
    if kind == BIT and dialect.bit_strings:
        if column.precision <= 1:
            return _FIXED[BOOLEAN]
        return ("BITS", s.INT8) if column.precision <= 8 else ("BYTES", s.BYTES)
    if kind == REAL and dialect.wide:
        return "FLOAT64", s.FLOAT64
    if kind == OTHER and column.type_name.casefold() in dialect.texts:
        return "STRING", s.STRING
    return _FIXED.get(kind)


def _array(column: SourceColumn, dialect: Dialect) -> tuple[str, s.Schema] | None:
    if column.type != ARRAY or not dialect.item_types or column.type_name not in _ITEMS:
        return None
    reading, items = _ITEMS[column.type_name]
    return reading, s.array(items.with_(optional=True))


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
                return "FLOAT64", s.FLOAT64
            return _whole(digits) if scale >= _MIN_SCALE and fits else None
    return None


def _whole(digits: int) -> tuple[str, s.Schema]:
    if digits > 9:
        return _SIGNED[BIGINT]
    if digits > 4:
        return _SIGNED[INTEGER]
    return _SIGNED[SMALLINT] if digits > 2 else _SIGNED[TINYINT]


def _time_schema(granularity: str) -> s.Schema:
    if granularity == "connect_logical":
        return s.TIMESTAMP
    return s.INT64 if granularity.endswith("_long") else s.STRING

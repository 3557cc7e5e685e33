"""The types of the registry's formats and Connect's, as one table: what converters map to each other, with the ranges.

The dictionaries of both directions are made from it, and so is the reference page. Structs, arrays, maps, unions and
enums are made of other types and are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, SchemaType

NUMBERS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
"""Bits of Connect's integers."""
CONNECT_TYPE, LOGICAL_TYPE = "connect.type", "logicalType"


@dataclass(frozen=True, slots=True)
class TypeRow:
    """A type of a format, and Connect's type of its values."""

    foreign: str
    """Its name in the format: Avro's kind, Protobuf's scalar or message, JSON Schema's type."""
    type: SchemaType
    logical: str | None = None
    """Name of Connect's logical type."""
    mark: tuple[str, str] | None = None
    """A property of the foreign schema that tells it from others of its name: ``connect.type``, ``logicalType``."""
    written: bool = True
    """Whether Connect's type is written as it; otherwise it is only read, or written where the schema says so."""
    bits: int = 0
    """Bits of an integer's foreign type, if not those of Connect's."""
    signed: bool = True
    loses: str = ""
    """Part of a value that is left out, as Java's converters leave it out."""

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The least and the greatest integer that pass both ways; None for what is no plain integer."""
        own = NUMBERS.get(self.type)
        if own is None or self.logical is not None:
            return None
        low, high = -(1 << own - 1), (1 << own - 1) - 1
        bits = self.bits or own
        if not self.signed:
            return 0, min(high, (1 << bits) - 1)
        return max(low, -(1 << bits - 1)), min(high, (1 << bits - 1) - 1)


_DIGITS = "digits after the millisecond"
_ZERO = "the sign of zero, when read"

AVRO = (
    TypeRow("boolean", SchemaType.BOOLEAN),
    TypeRow("int", SchemaType.INT32),
    TypeRow("int", SchemaType.INT8, mark=(CONNECT_TYPE, "int8")),
    TypeRow("int", SchemaType.INT16, mark=(CONNECT_TYPE, "int16")),
    TypeRow("long", SchemaType.INT64),
    TypeRow("float", SchemaType.FLOAT32),
    TypeRow("double", SchemaType.FLOAT64),
    TypeRow("string", SchemaType.STRING),
    TypeRow("bytes", SchemaType.BYTES),
    TypeRow("bytes", SchemaType.BYTES, DECIMAL_NAME, (LOGICAL_TYPE, "decimal")),
    TypeRow("int", SchemaType.INT32, DATE_NAME, (LOGICAL_TYPE, "date")),
    TypeRow("int", SchemaType.INT32, TIME_NAME, (LOGICAL_TYPE, "time-millis"), loses=_DIGITS),
    TypeRow("long", SchemaType.INT64, TIMESTAMP_NAME, (LOGICAL_TYPE, "timestamp-millis"), loses=_DIGITS),
)

PROTOBUF = (
    TypeRow("bool", SchemaType.BOOLEAN),
    TypeRow("int32", SchemaType.INT32),
    TypeRow("int32", SchemaType.INT8, mark=(CONNECT_TYPE, "int8")),
    TypeRow("int32", SchemaType.INT16, mark=(CONNECT_TYPE, "int16")),
    TypeRow("sint32", SchemaType.INT32, written=False),
    TypeRow("sfixed32", SchemaType.INT32, written=False),
    TypeRow("int64", SchemaType.INT64),
    TypeRow("sint64", SchemaType.INT64, written=False),
    TypeRow("sfixed64", SchemaType.INT64, written=False),
    TypeRow("uint32", SchemaType.INT64, written=False, bits=32, signed=False),
    TypeRow("fixed32", SchemaType.INT64, written=False, bits=32, signed=False),
    TypeRow("uint64", SchemaType.INT64, written=False, bits=64, signed=False),
    TypeRow("fixed64", SchemaType.INT64, written=False, bits=64, signed=False),
    TypeRow("float", SchemaType.FLOAT32),
    TypeRow("double", SchemaType.FLOAT64),
    TypeRow("string", SchemaType.STRING),
    TypeRow("bytes", SchemaType.BYTES),
    TypeRow("confluent.type.Decimal", SchemaType.BYTES, DECIMAL_NAME),
    TypeRow("google.type.Date", SchemaType.INT32, DATE_NAME),
    TypeRow("google.type.TimeOfDay", SchemaType.INT32, TIME_NAME, loses=_DIGITS),
    TypeRow("google.protobuf.Timestamp", SchemaType.INT64, TIMESTAMP_NAME, loses=_DIGITS),
)

JSON_SCHEMA = (
    TypeRow("boolean", SchemaType.BOOLEAN),
    TypeRow("integer", SchemaType.INT64, written=False),
    *(TypeRow("integer", kind, mark=(CONNECT_TYPE, kind.value)) for kind in NUMBERS),
    TypeRow("number", SchemaType.FLOAT64, written=False, loses=_ZERO),
    *(
        TypeRow("number", kind, mark=(CONNECT_TYPE, kind.value), loses=_ZERO)
        for kind in (SchemaType.FLOAT32, SchemaType.FLOAT64)
    ),
    TypeRow("string", SchemaType.STRING),
    TypeRow("string", SchemaType.BYTES, mark=(CONNECT_TYPE, "bytes")),
    TypeRow("string", SchemaType.BYTES, DECIMAL_NAME, (CONNECT_TYPE, "bytes")),
    TypeRow("integer", SchemaType.INT32, DATE_NAME, (CONNECT_TYPE, "int32")),
    TypeRow("integer", SchemaType.INT32, TIME_NAME, (CONNECT_TYPE, "int32"), loses=_DIGITS),
    TypeRow("integer", SchemaType.INT64, TIMESTAMP_NAME, (CONNECT_TYPE, "int64"), loses=_DIGITS),
)

FORMATS = {"Avro": AVRO, "Protobuf": PROTOBUF, "JSON Schema": JSON_SCHEMA}


def written_as(rows: tuple[TypeRow, ...]) -> dict[SchemaType, str]:
    """Return the foreign names by which Connect's plain types are written."""
    return {row.type: row.foreign for row in rows if row.written and row.logical is None}


def read_as(rows: tuple[TypeRow, ...]) -> dict[str, SchemaType]:
    """Return Connect's types of the foreign names that have no mark."""
    return {row.foreign: row.type for row in rows if row.mark is None and row.logical is None}


def marked(rows: tuple[TypeRow, ...], foreign: str) -> dict[str, SchemaType]:
    """Return Connect's types by the values of ``connect.type`` at a foreign name."""
    return {
        row.mark[1]: row.type
        for row in rows
        if row.foreign == foreign and row.mark is not None and row.mark[0] == CONNECT_TYPE and row.logical is None
    }


def logical_names(rows: tuple[TypeRow, ...]) -> dict[str, str]:
    """Return the foreign names, or values of ``logicalType``, of Connect's logical types."""
    return {row.logical: row.foreign if row.mark is None else row.mark[1] for row in rows if row.logical is not None}

"""The conversions of Cast: Java's narrowing of numbers, its parsing of texts, its printing of everything.

``caster(schema, target)`` chooses once per schema; for a schemaless value the type of the value itself decides. Java:
``Cast.castValueToType``.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.java.errors import NumberFormatError
from penstock.java.numbers import double_text, float32, float32_of, float_text, rounded_once
from penstock.java.parsing import BLANKS, decimal_digits, double, whole_number
from penstock.pipeline.transforms.structs import ClassCastError
from penstock.values.class_names import class_name
from penstock.values.logical import DAY, milliseconds
from penstock.values.text import moment_text

Caster = Callable[[Any], Any]

OUTPUTS = (
    SchemaType.INT8,
    SchemaType.INT16,
    SchemaType.INT32,
    SchemaType.INT64,
    SchemaType.FLOAT32,
    SchemaType.FLOAT64,
    SchemaType.BOOLEAN,
    SchemaType.STRING,
)
INPUTS = (*OUTPUTS, SchemaType.BYTES)
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_SHORT = (SchemaType.INT8, SchemaType.INT16)
_DAYS_AND_TIMES = (DATE_NAME, TIME_NAME, TIMESTAMP_NAME)
_DATES = (datetime.date, datetime.time)


def caster(schema: Schema | None, target: SchemaType) -> Caster:
    """The function that casts values of this schema (none of them null) to a type; it may raise DataError.

    Raises DataError at once if nothing of this schema can be cast.
    """
    if schema is None:
        return _of_any(target)
    if schema.type not in INPUTS:
        raise DataError(_refused("from", schema.type, INPUTS))
    if target is SchemaType.STRING:
        return _to_text(schema)
    if schema.name in _DAYS_AND_TIMES:
        of_long = _number(SchemaType.INT64, target)
        return lambda value: of_long(_encoded(schema, value))
    if schema.type is SchemaType.STRING:
        return _parser(target)
    if schema.type is SchemaType.BYTES:
        return _of_decimal(target)
    cast = _number(schema.type, target)
    if schema.type is SchemaType.FLOAT32:
        return lambda value: cast(float32(value))
    return cast


def refused_output(target: SchemaType) -> str:
    return _refused("to", target, OUTPUTS)


def _refused(direction: str, type: SchemaType, supported: tuple[SchemaType, ...]) -> str:
    names = ", ".join(each.name for each in supported)
    return f"Cast transformation does not support casting {direction} {type.name}; supported types are [{names}]"


def _encoded(schema: Schema, value: Any) -> int:
    """The integer that stands for a date, a time or a timestamp."""
    if not isinstance(value, _DATES):  # the schema of a cast whole value keeps its name
        raise ClassCastError(class_name(schema, value), "java.util.Date")
    time = milliseconds(value)
    return time // DAY if schema.name == DATE_NAME else time


def _number(source: SchemaType, target: SchemaType) -> Caster:
    """Return the caster of numbers and booleans."""
    if target in (SchemaType.FLOAT32, SchemaType.FLOAT64):
        if target is SchemaType.FLOAT64:
            return float
        return float32_of if source is SchemaType.INT64 else lambda value: float32(float(value))
    if target is SchemaType.BOOLEAN:
        # A number is true if its whole part is not zero.
        return _truth if source in (SchemaType.FLOAT32, SchemaType.FLOAT64) else bool
    if source in (SchemaType.FLOAT32, SchemaType.FLOAT64):
        return _float_to_int(_BITS[target])
    if source is SchemaType.BOOLEAN or _BITS[source] <= _BITS[target]:
        return int
    return _narrow(_BITS[target])


def wrapped(value: Any, bits: int) -> int:
    """The whole part of a number, of which only the lower bits are kept."""
    half = 1 << bits - 1
    return (int(value) + half & (1 << bits) - 1) - half


def _narrow(bits: int) -> Caster:
    half, mask = 1 << bits - 1, (1 << bits) - 1
    return lambda value: (int(value) + half & mask) - half


def _float_to_int(bits: int) -> Caster:
    """Towards zero; what is too large becomes the largest int (or long), of which shorter types keep the lower bits."""
    limit = 1 << max(bits, 32) - 1
    narrow = _narrow(bits)

    def cast(value: float) -> int:
        if value != value:
            return 0
        if value >= limit:
            return narrow(limit - 1)
        return narrow(-limit if value <= -limit else int(value))

    return cast


def _truth(value: float) -> bool:
    return abs(value) >= 1


def _of_decimal(target: SchemaType) -> Caster:
    """Return the caster of Decimal values; plain bytes can only become text."""

    def cast(value: Any) -> Any:
        if not isinstance(value, Decimal):
            raise DataError(f"Unexpected type in Cast transformation: class {class_name(None, value)}")
        match target:
            case SchemaType.FLOAT32:
                return float32_of(value)
            case SchemaType.FLOAT64:
                return float(value)
            case SchemaType.BOOLEAN:
                return _narrow(64)(value) != 0
            case _:
                return _narrow(_BITS[target])(value)

    return cast


def _parser(target: SchemaType) -> Caster:
    match target:
        case SchemaType.FLOAT32:
            return lambda text: rounded_once(_parse_float(text), lambda: _exact(text))
        case SchemaType.FLOAT64:
            return _parse_float
        case SchemaType.BOOLEAN:
            return lambda text: text.lower() == "true"
    bits = _BITS[target]

    def parse(text: str) -> int:
        number = whole_number(text, bits)
        if number is not None:
            return number
        if target in _SHORT and whole_number(text, 32) is not None:
            raise _out_of_range(text, f'Value out of range. Value:"{text}" Radix:10')
        raise _out_of_range(text, f'For input string: "{text}"')

    return parse


def _parse_float(text: str) -> float:
    number = double(text)
    if number is not None:
        return number
    trimmed = text.strip(BLANKS)
    raise _out_of_range(text, f'For input string: "{trimmed}"' if trimmed else "empty String")


def _exact(text: str) -> Decimal | float:
    """The number that a text stands for, digit by digit; of hexadecimal ones the nearest of 64 bits."""
    digits = decimal_digits(text)
    return _parse_float(text) if digits is None else Decimal(digits)


def _out_of_range(text: str, cause: str) -> DataError:
    error = DataError(f"Value ({text}) was out of range for requested data type")
    error.__cause__ = NumberFormatError(cause)
    return error


def _to_text(schema: Schema) -> Caster:
    match schema.type:
        case _ if schema.name in _DAYS_AND_TIMES:
            plain = _to_text(schema.with_(name=None))
            return lambda value: _date_text(value) if isinstance(value, _DATES) else plain(value)
        case SchemaType.FLOAT32:
            return float_text
        case SchemaType.FLOAT64:
            return double_text
        case SchemaType.BOOLEAN:
            return _boolean_text
        case SchemaType.BYTES:
            return _bytes_text
        case _:
            return str


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _bytes_text(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else base64.b64encode(value).decode()


def _date_text(value: datetime.date | datetime.time) -> str:
    """The form follows from the moment, not from the type."""
    return moment_text(milliseconds(value))


_INFERRED = {
    int: SchemaType.INT64,
    float: SchemaType.FLOAT64,
    bool: SchemaType.BOOLEAN,
    str: SchemaType.STRING,
    bytes: SchemaType.BYTES,
    list: SchemaType.ARRAY,
    dict: SchemaType.MAP,
}


def _of_any(target: SchemaType) -> Caster:
    """Return the caster of schemaless values, by class."""
    casters: dict[type, Caster] = {}

    def cast(value: Any) -> Any:
        kind = type(value)
        chosen = casters.get(kind)
        if chosen is None:
            if kind not in _INFERRED:
                raise DataError(
                    f"Cast transformation was passed a value of type class {class_name(None, value)} "
                    "which is not supported by Connect's data API"
                )
            chosen = casters[kind] = caster(Schema(_INFERRED[kind]), target)
            if target is SchemaType.FLOAT32:
                chosen = casters[kind] = _shown_as_float32(chosen)
        return chosen(value)

    return cast


def _shown_as_float32(cast: Caster) -> Caster:
    """Without a schema the width of 32 bits would be lost: the number becomes the double that prints the same."""
    return lambda value: float(float_text(cast(value)))

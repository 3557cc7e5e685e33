"""The conversions of Cast: Java's narrowing of numbers, its parsing of texts, its printing of everything.

``caster(schema, target)`` chooses once per schema; a schemaless value is looked at itself. Java:
``Cast.castValueToType``.
"""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, Type
from penstock.java.numbers import double_text, float32, float_text
from penstock.pipeline.transforms.moments import DAY, milliseconds
from penstock.pipeline.values.class_names import class_name
from penstock.pipeline.values.text import moment_text

Caster = Callable[[Any], Any]

OUTPUTS = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
    Type.BOOLEAN,
    Type.STRING,
)
INPUTS = (*OUTPUTS, Type.BYTES)
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_DAYS_AND_TIMES = (DATE_NAME, TIME_NAME, TIMESTAMP_NAME)
_BLANKS = "".join(map(chr, range(33)))
_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"([+-]?)(?:(NaN|Infinity)|((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?)", re.ASCII)
_HEX_FLOAT = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII)


def caster(schema: Schema | None, target: Type) -> Caster:
    """The function that casts values of this schema (none of them null) to a type; it may raise DataError.

    Raises DataError at once if nothing of this schema can be cast.
    """
    if schema is None:
        return _of_any(target)
    if schema.type not in INPUTS:
        raise DataError(_refused("from", schema.type, INPUTS))
    if target is Type.STRING:
        return _to_text(schema)
    if schema.name in _DAYS_AND_TIMES:
        of_long = _number(Type.INT64, target)
        return lambda value: of_long(_encoded(schema, value))
    if schema.type is Type.STRING:
        return _parser(target)
    if schema.type is Type.BYTES:
        return _of_decimal(target)
    cast = _number(schema.type, target)
    if schema.type is Type.FLOAT32:
        return lambda value: cast(float32(value))
    return cast


def refused_output(target: Type) -> str:
    return _refused("to", target, OUTPUTS)


def _refused(direction: str, type: Type, supported: tuple[Type, ...]) -> str:
    names = ", ".join(each.name for each in supported)
    return f"Cast transformation does not support casting {direction} {type.name}; supported types are [{names}]"


def _encoded(schema: Schema, value: Any) -> int:
    """The integer that stands for a date, a time or a timestamp."""
    time = milliseconds(value)
    return time // DAY if schema.name == DATE_NAME else time


def _number(source: Type, target: Type) -> Caster:
    """Of numbers and booleans."""
    if target in (Type.FLOAT32, Type.FLOAT64):
        return (lambda value: float32(float(value))) if target is Type.FLOAT32 else float
    if target is Type.BOOLEAN:
        # A number is true if its whole part is not zero.
        return _truth if source in (Type.FLOAT32, Type.FLOAT64) else bool
    if source in (Type.FLOAT32, Type.FLOAT64):
        return _float_to_int(_BITS[target])
    if source is Type.BOOLEAN or _BITS[source] <= _BITS[target]:
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


def _of_decimal(target: Type) -> Caster:
    """Of a Decimal's values; plain bytes can only become texts."""

    def cast(value: Any) -> Any:
        if not isinstance(value, Decimal):
            raise DataError(f"Unexpected type in Cast transformation: class {class_name(None, value)}")
        match target:
            case Type.FLOAT32:
                return float32(float(value))
            case Type.FLOAT64:
                return float(value)
            case Type.BOOLEAN:
                return _narrow(64)(value) != 0
            case _:
                return _narrow(_BITS[target])(value)

    return cast


def _parser(target: Type) -> Caster:
    match target:
        case Type.FLOAT32:
            return lambda text: float32(_parse_float(text))
        case Type.FLOAT64:
            return _parse_float
        case Type.BOOLEAN:
            return lambda text: text.lower() == "true"
    limit = 1 << _BITS[target] - 1

    def parse(text: str) -> int:
        if _INTEGER.fullmatch(text) and len(text) < 1000:
            number = int(text)
            if -limit <= number < limit:
                return number
        raise _out_of_range(text)

    return parse


def _parse_float(text: str) -> float:
    trimmed = text.strip(_BLANKS)
    if found := _FLOAT.fullmatch(trimmed):
        sign, word, digits = found.groups()
        return float(sign + (word or digits))
    if found := _HEX_FLOAT.fullmatch(trimmed):
        try:
            return float.fromhex(found[1])
        except OverflowError:
            return float("-inf") if trimmed[0] == "-" else float("inf")
    raise _out_of_range(text)


def _out_of_range(text: str) -> DataError:
    return DataError(f"Value ({text}) was out of range for requested data type")


def _to_text(schema: Schema) -> Caster:
    match schema.type:
        case _ if schema.name in _DAYS_AND_TIMES:
            return _date_text
        case Type.FLOAT32:
            return float_text
        case Type.FLOAT64:
            return double_text
        case Type.BOOLEAN:
            return _boolean_text
        case Type.BYTES:
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
    int: Type.INT64,
    float: Type.FLOAT64,
    bool: Type.BOOLEAN,
    str: Type.STRING,
    bytes: Type.BYTES,
    list: Type.ARRAY,
    dict: Type.MAP,
}


def _of_any(target: Type) -> Caster:
    """Of schemaless values, by their class."""
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
            if target is Type.FLOAT32:
                chosen = casters[kind] = _shown_as_float32(chosen)
        return chosen(value)

    return cast


def _shown_as_float32(cast: Caster) -> Caster:
    """Without a schema nothing tells later that a number has 32 bits only: it becomes the one that prints the same."""
    return lambda value: float(float_text(cast(value)))

"""Conversions between Connect's types, as Java's ``Values`` does them: lossy where Java's casts are.

Each function takes the schema of the value, None if it has none, and the value. Numbers wrap around, texts are parsed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.converter import SchemaAndValue
from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DATE_NAME,
    DECIMAL_NAME,
    FLOAT64,
    INT64,
    STRING,
    TIME_NAME,
    TIMESTAMP_NAME,
    Schema,
    SchemaType,
    array,
    map_of,
)
from penstock.api.schema import decimal as decimal_schema
from penstock.java.numbers import big_decimal, double_text, float32
from penstock.values.logical import (
    DAY,
    bytes_of,
    day_of,
    days_since,
    decimal_of,
    millis_since,
    moment_of,
    time_of,
)
from penstock.values.numeric import as_double, as_long, cannot, describe, wrapped
from penstock.values.parsing.parser import parse, parse_whole
from penstock.values.text import to_text

Temporal = dt.date | dt.time | dt.datetime
_TEMPORAL = (dt.date, dt.time)
_NO_NULL = "Unable to convert a null value to a schema that requires a value"


def to_boolean(schema: Schema | None, value: Any) -> bool | None:
    if value is None or type(value) is bool:
        return value
    if isinstance(value, str):
        parsed = _parsed(value)
        if type(parsed) is bool:
            return parsed
    return as_long(schema, value) != 0


def to_byte(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else wrapped(as_long(schema, value), 8)


def to_short(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else wrapped(as_long(schema, value), 16)


def to_integer(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else wrapped(as_long(schema, value), 32)


def to_long(schema: Schema | None, value: Any) -> int | None:
    return None if value is None else as_long(schema, value)


def to_float(schema: Schema | None, value: Any) -> float | None:
    return None if value is None else float32(as_double(schema, value))


def to_double(schema: Schema | None, value: Any) -> float | None:
    return None if value is None else as_double(schema, value)


def to_list(schema: Schema | None, value: Any) -> list[Any]:
    found: list[Any] = _container(schema, value, list, array(STRING))
    return found


def to_map(schema: Schema | None, value: Any) -> dict[Any, Any]:
    if schema is not None and schema.type is SchemaType.STRUCT and value is not None:
        raise cannot(schema, value, describe(map_of(STRING, STRING)))
    found: dict[Any, Any] = _container(schema, value, dict, map_of(STRING, STRING))
    return found


def _container(schema: Schema | None, value: Any, kind: type, target: Schema) -> Any:
    if value is None:
        raise DataError(_NO_NULL)
    schema, found = parse_string(value) if isinstance(value, str) else (schema, value)
    if not isinstance(found, kind):
        raise cannot(schema, found, describe(target))
    return found


def to_decimal(schema: Schema | None, value: Any, scale: int) -> Decimal:
    """``scale`` is that of bytes; other numbers keep their own."""
    if value is None:
        raise DataError(_NO_NULL)
    return _decimal(decimal_schema(scale), schema, value)


def _decimal(target: Schema, schema: Schema | None, value: Any) -> Decimal:
    match value:
        case bytes() | bytearray() | memoryview():
            return decimal_of(target, bytes(value))
        case Decimal():
            return value
        case bool():
            pass
        case int() | float():
            value = double_text(float(value))
            return _big_decimal(value)
        case str():
            return _big_decimal(value)
    raise cannot(schema, value, describe(target))


def _big_decimal(text: str) -> Decimal:
    try:
        return big_decimal(text)
    except ValueError as error:
        raise DataError(str(error)) from error


def to_date(schema: Schema | None, value: Any) -> Temporal:
    """The day of a date, a timestamp, a text that is one of these, or a count of days since 1970.

    Without a schema dates, times and timestamps are left as they are.
    """
    value = _moment(value)
    if isinstance(value, _TEMPORAL):
        if schema is None or schema.name == DATE_NAME:
            return value
        if schema.name == TIMESTAMP_NAME and isinstance(value, dt.datetime):
            return day_of(int(millis_since(value) / DAY))
    return day_of(wrapped(as_long(schema, value), 32))


def to_time(schema: Schema | None, value: Any) -> Temporal:
    """The time of day of a time, a timestamp, a text of one of these, or a count of milliseconds since midnight.

    Without a schema dates, times and timestamps are left as they are.
    """
    value = _moment(value)
    if isinstance(value, _TEMPORAL):
        if schema is None or schema.name == TIME_NAME:
            return value
        if schema.name == TIMESTAMP_NAME and isinstance(value, dt.datetime):
            return time_of(millis_since(value) % DAY)
    return time_of(wrapped(as_long(schema, value), 32))


def to_timestamp(schema: Schema | None, value: Any) -> Temporal:
    """The moment that a date, a time of 1970-01-01, a timestamp, a text of these or a count of milliseconds means.

    Without a schema dates, times and timestamps are left as they are.
    """
    value = _moment(value)
    if isinstance(value, _TEMPORAL):
        if schema is None or schema.name == TIMESTAMP_NAME:
            return value
        if schema.name == DATE_NAME and not isinstance(value, dt.datetime) and isinstance(value, dt.date):
            return moment_of(days_since(value) * DAY)
    return moment_of(as_long(schema, value))


def _moment(value: Any) -> Any:
    if value is None:
        raise DataError(_NO_NULL)
    return _parsed(value) if isinstance(value, str) else value


def convert(target: Schema, schema: Schema | None, value: Any) -> Any:
    """A value of another type, by its target's schema."""
    if value is None:
        if target.optional:
            return None
        raise DataError(_NO_NULL)
    match target.type:
        case SchemaType.STRING:
            return to_text(schema, value)
        case SchemaType.BYTES if target.name == DECIMAL_NAME:
            return _decimal(target, schema, value)
        case SchemaType.BYTES:
            if isinstance(value, (bytes, bytearray, memoryview)):
                return bytes(value)
            if isinstance(value, Decimal):
                return bytes_of(target, value)
        case SchemaType.ARRAY:
            return _container(schema, value, list, target)
        case SchemaType.MAP:
            return _container(schema, value, dict, target)
        case SchemaType.STRUCT:
            if isinstance(value, dict) and schema is not None and schema.type is SchemaType.STRUCT:
                return value
        case _:
            by_name = _BY_NAME.get((target.type, target.name))
            return (by_name or _BY_TYPE[target.type])(schema, value)
    raise cannot(schema, value, describe(target))


_BY_TYPE: dict[SchemaType, Callable[[Schema | None, Any], Any]] = {
    SchemaType.BOOLEAN: to_boolean,
    SchemaType.INT8: to_byte,
    SchemaType.INT16: to_short,
    SchemaType.INT32: to_integer,
    SchemaType.INT64: to_long,
    SchemaType.FLOAT32: to_float,
    SchemaType.FLOAT64: to_double,
}

_BY_NAME: dict[tuple[SchemaType, str | None], Callable[[Schema | None, Any], Any]] = {
    (SchemaType.INT32, DATE_NAME): to_date,
    (SchemaType.INT32, TIME_NAME): to_time,
    (SchemaType.INT64, TIMESTAMP_NAME): to_timestamp,
}


def infer_schema(value: Any) -> Schema | None:
    """The schema that a schemaless value would have, None if it has none (empty or mixed containers)."""
    match value:
        case str():
            return STRING
        case bool():
            return BOOLEAN
        case int():
            return INT64
        case float():
            return FLOAT64
        case bytes() | bytearray() | memoryview():
            return BYTES
        case list() | tuple():
            items = _common(value)
            return None if items is None else array(items)
        case dict():
            keys, items = _common(value), _common(value.values())
            return None if keys is None or items is None else map_of(keys, items)
    return None


def _common(values: Any) -> Schema | None:
    """Return the common schema of the elements: only its type, as in Java, so nested containers lose theirs."""
    known: SchemaType | None = None
    optional = False
    for value in values:
        if value is None:
            optional = True
            continue
        schema = infer_schema(value)
        if schema is None or (known is not None and known is not schema.type):
            return None
        known = schema.type
    return None if known is None else Schema(known, optional=optional)


def parse_string(text: str | None) -> SchemaAndValue:
    """Schema and value that a text stands for (``Values.parseString``); never raises."""
    return parse(text, convert)


def parse_whole_string(text: str | None) -> SchemaAndValue:
    """Like ``parse_string``, but a text that goes on after a value, such as ``12:30``, stays a string."""
    return parse_whole(text, convert)


def _parsed(text: str) -> Any:
    return parse_string(text)[1]

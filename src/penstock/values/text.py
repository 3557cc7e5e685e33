"""``Values.convertToString``: texts as they are, bytes in base 64, everything inside of something else as in JSON,
without blanks.
"""

from __future__ import annotations

import datetime as dt
from base64 import b64encode
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import Schema, SchemaType
from penstock.java.dates import DateFormat
from penstock.java.numbers import double_text, float_text
from penstock.values.class_names import class_name
from penstock.values.logical import DAY, millis_of_day, millis_since

TIME_FORMAT = DateFormat("HH:mm:ss.SSS'Z'")
DATE_FORMAT = DateFormat("yyyy-MM-dd")
TIMESTAMP_FORMAT = DateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def to_text(schema: Schema | None, value: Any) -> str | None:
    """The text of a value, None for None. Raises DataError for what is no Connect data."""
    return None if value is None else _text(schema, value, False)


def _text(schema: Schema | None, value: Any, inside: bool) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str() if inside:
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case str():
            return value
        case int() | Decimal():
            return str(value)
        case float():
            return float_text(value) if schema is not None and schema.type is SchemaType.FLOAT32 else double_text(value)
        case bytes() | bytearray() | memoryview():
            encoded = b64encode(value).decode()
            return f'"{encoded}"' if inside else encoded
        case list() | tuple():
            items = None if schema is None else schema.value_schema
            return f"[{','.join([_text(items, item, True) for item in value])}]"
        case dict() if schema is not None and schema.type is SchemaType.STRUCT:
            return f"{{{','.join([_field(f.name, f.schema, value.get(f.name)) for f in schema.fields])}}}"
        case dict():
            keys, items = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
            entries = [f"{_text(keys, key, True)}:{_text(items, item, True)}" for key, item in value.items()]
            return f"{{{','.join(entries)}}}"
        case dt.datetime():
            return moment_text(millis_since(value))
        case dt.date():
            return moment_text(millis_since(dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)))
        case dt.time():
            return value.strftime("%H:%M:%S.") + f"{millis_of_day(value) % 1000:03d}Z"
    raise DataError(f"Failed to serialize unexpected value type {class_name(schema, value)}: {value}")


def _field(name: str, schema: Schema, value: Any) -> str:
    return f"{_text(None, name, True)}:{_text(schema, schema.default if value is None else value, True)}"


def moment_text(millis: int) -> str:
    """A ``java.util.Date``: a time on the first day and before, a date at midnight, otherwise a timestamp."""
    if millis < DAY:
        return TIME_FORMAT.format_millis(millis)
    return (TIMESTAMP_FORMAT if millis % DAY else DATE_FORMAT).format_millis(millis)

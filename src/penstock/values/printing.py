"""Values as Java prints them: ``String.valueOf`` of Connect's data, which StringConverter writes and FileStreamSink
prints.

Structs leave out null fields (``Struct{a=1,b=x}``), maps and lists are those of ``java.util``, logical dates are
printed by ``java.util.Date.toString`` in UTC. What Java prints of a byte array is the address of the object; here it is
a checksum, so that equal bytes print equally.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from zlib import crc32

from penstock.api.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    RecursiveSchema,
    Schema,
    SchemaType,
)
from penstock.java.numbers import double_text, float_text
from penstock.values.logical import ZonedTimeError

Printer = Callable[[Any], str]

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def to_string(schema: Schema | None, value: Any) -> str:
    """``String.valueOf(value)`` of a value with this schema, or of a schemaless one; ``null`` for None."""
    if value is None:
        return "null"
    return _text(value) if schema is None else printer(schema)(value)


def printer(schema: Schema | None) -> Printer:
    """The function that prints values of this schema, none of them null."""
    if schema is None:
        return _text
    if isinstance(schema, RecursiveSchema):
        return lambda value: printer(schema.target)(value)
    show = _printers.get(schema)
    if show is None:
        if len(_printers) > 1000:
            _printers.clear()
        show = _printers[schema] = _compile(schema)
    return show


_printers: dict[Schema, Printer] = {}


def _string(value: Any) -> str:
    """Also of a value that does not fit its schema."""
    return value if isinstance(value, str) else _text(value)


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _bytes(value: bytes) -> str:
    return f"[B@{crc32(value):x}"


def _null(_: None) -> str:
    return "null"


def _timestamp(value: dt.datetime) -> str:
    """``java.util.Date.toString``: the same for days, times and timestamps."""
    return _moment(value, f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}")


def _date(value: dt.date) -> str:
    return _moment(value, "00:00:00")


def _moment(day: dt.date, time: str) -> str:
    year, month, number = (day.year, day.month, day.day) if day.year > 1582 else _old_style(day.toordinal())
    return f"{_DAYS[day.weekday()]} {_MONTHS[month - 1]} {number:02d} {time} UTC {year}"


def _old_style(days: int) -> tuple[int, int, int]:
    """Java's calendar is the Julian one before 15 October 1582; ``days`` from 0001-01-01, which is 1."""
    if days >= 577_736:
        day = dt.date.fromordinal(days)
        return day.year, day.month, day.day
    cycles, rest = divmod(days + 307, 1461)
    years = min(rest // 365, 3)
    rest -= years * 365
    month = (5 * rest + 2) // 153
    year = cycles * 4 + years
    number = rest - (153 * month + 2) // 5 + 1
    return (year, month + 3, number) if month < 10 else (year + 1, month - 9, number)


def _time(value: dt.time) -> str:
    if value.tzinfo is not None:
        raise ZonedTimeError(value)
    return f"Thu Jan 01 {value.hour:02d}:{value.minute:02d}:{value.second:02d} UTC 1970"


def _list(value: Sequence[Any]) -> str:
    return f"[{', '.join([_text(item) for item in value])}]"


def _map(value: dict[Any, Any]) -> str:
    return f"{{{', '.join([f'{_text(k)}={_text(v)}' for k, v in value.items()])}}}"


_BY_CLASS: dict[type, Printer] = {
    str: _string,
    int: str,
    float: double_text,
    bool: _boolean,
    type(None): _null,
    dict: _map,
    list: _list,
    tuple: _list,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    Decimal: str,
    dt.datetime: _timestamp,
    dt.date: _date,
    dt.time: _time,
}


def _text(value: Any) -> str:
    return _BY_CLASS.get(type(value), str)(value)


_BY_TYPE: dict[SchemaType, Printer] = {
    SchemaType.INT8: str,
    SchemaType.INT16: str,
    SchemaType.INT32: str,
    SchemaType.INT64: str,
    SchemaType.FLOAT32: float_text,
    SchemaType.FLOAT64: double_text,
    SchemaType.BOOLEAN: _boolean,
    SchemaType.STRING: _string,
    SchemaType.BYTES: _bytes,
}

_LOGICAL = frozenset((DECIMAL_NAME, DATE_NAME, TIME_NAME, TIMESTAMP_NAME))


def _compile(schema: Schema) -> Printer:
    if schema.name in _LOGICAL and schema.type.primitive:
        return _text
    match schema.type:
        case SchemaType.STRUCT:
            fields = [(field.name, field.name + "=", printer(field.schema)) for field in schema.fields]

            def struct(value: dict[str, Any]) -> str:
                get = value.get
                shown = [label + show(item) for name, label, show in fields if (item := get(name)) is not None]
                return f"Struct{{{','.join(shown)}}}"

            return struct
        case SchemaType.ARRAY:
            show_item = printer(schema.value_schema)

            def array(value: Sequence[Any]) -> str:
                return f"[{', '.join(['null' if item is None else show_item(item) for item in value])}]"

            return array
        case SchemaType.MAP:
            show_key, show_value = printer(schema.key_schema), printer(schema.value_schema)

            def mapping(value: dict[Any, Any]) -> str:
                entries = [
                    f"{'null' if k is None else show_key(k)}={'null' if v is None else show_value(v)}"
                    for k, v in value.items()
                ]
                return f"{{{', '.join(entries)}}}"

            return mapping
        case primitive:
            return _BY_TYPE[primitive]

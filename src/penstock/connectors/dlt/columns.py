"""Conversion of dlt's columns to Connect's schemas, and of the JSON that `reader.py` writes to their values."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from penstock.api import schema as s
from penstock.api.errors import DataError
from penstock.api.exact import moment, time_of_day
from penstock.connectors.singer.messages import SingerStream
from penstock.connectors.singer.schemas import Mapped, json_text, key_struct, mapped, record_struct

SCALE = 9
"""dlt's own for decimals of columns that say nothing of it."""
NOT_FINITE = ("nan", "inf", "-inf")
"""Texts in JSON for floats that it does not have."""
_EXACT = Context(prec=400)


def stream_of(message: Mapping[str, Any]) -> SingerStream:
    """Return the stream of a SCHEMA with dlt's columns. Raises DataError for a type that dlt does not have."""
    stream = message["stream"]
    fields = {name: column_of(name, column) for name, column in message["columns"].items()}
    keys = {name: fields[name] for name in message["key_properties"]}
    return SingerStream(record_struct(stream, fields), key_struct(stream, keys) if keys else None)


def column_of(name: str, column: Mapping[str, Any]) -> Mapped:
    kind = column["data_type"]
    if kind == "decimal":
        scale = column.get("scale", SCALE)
        found = Mapped(s.decimal(scale), _decimal(scale))
    elif kind in TYPES:
        found = TYPES[kind]
    else:
        raise DataError(f"Column {name} has the type {kind}, which is unknown")
    return Mapped(found.schema.with_(optional=column.get("nullable", True)), found.convert)


def _text(parse: Callable[[str], Any], what: str) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        try:
            return parse(value)
        except (ValueError, TypeError, AttributeError, InvalidOperation, OverflowError):
            raise DataError(f"a value of type {type(value).__name__} is no {what}") from None

    return convert


def _decimal(scale: int) -> Callable[[Any], Decimal]:
    step = Decimal(1).scaleb(-scale)

    def convert(value: Any) -> Decimal:
        number: Decimal = _number(value)
        if not number.is_finite():
            raise DataError("it is no finite number")
        try:
            found = number.quantize(step, context=_EXACT)
        except InvalidOperation:
            raise DataError("it has too many digits") from None
        if found != number:
            raise DataError(f"it has more than {scale} digits after the point: give the column another `scale`")
        return found

    return convert


def _moment(text: str) -> dt.datetime:
    return moment(text).astimezone(dt.UTC)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error


def _double(value: Any) -> Any:
    """Convert a number, or the text of one that JSON does not have."""
    return float(value) if value in NOT_FINITE else _finite.convert(value)


_number = _text(Decimal, "decimal")
_finite = mapped({"type": "number"})
TYPES: Mapping[str, Mapped] = {
    "text": mapped({"type": "string"}),
    "bigint": mapped({"type": "integer"}),
    "double": Mapped(_finite.schema, _double),
    "bool": mapped({"type": "boolean"}),
    "json": Mapped(s.STRING, json_text),
    "binary": Mapped(s.BYTES, _text(_bytes, "Base64")),
    "timestamp": Mapped(s.TIMESTAMP, _text(_moment, "timestamp, to the microsecond")),
    "date": Mapped(s.DATE, _text(dt.date.fromisoformat, "date")),
    "time": Mapped(s.TIME, _text(time_of_day, "time without a zone, to the microsecond")),
    "wei": Mapped(s.decimal(0), _decimal(0)),
}

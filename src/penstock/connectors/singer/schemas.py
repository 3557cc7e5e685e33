"""From JSON Schema, as taps write it, to Connect's schemas.

Everything but a whole record is optional. A text with a format, such as a date, stays the text that the tap writes.
What has no type of its own in Connect (objects without properties, lists of anything, unions) becomes its JSON text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import orjson

from penstock.api import schema as s
from penstock.api.errors import DataError
from penstock.api.exact import double

Convert = Callable[[Any], Any]
_UNIONS = ("anyOf", "oneOf")
_INT64 = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class Mapped:
    """A schema, and ``convert``, which makes a value of it from a tap's, never from null. Raises DataError."""

    schema: s.Schema
    convert: Convert


def record_of(stream: str, properties: Mapping[str, Any]) -> Mapped:
    """A stream's records."""
    return record_struct(stream, {name: mapped(each) for name, each in properties.items()})


def key_of(stream: str, properties: Mapping[str, Any], names: Sequence[str]) -> Mapped:
    """The keys of a stream's records: structs of these properties, none of which may be null."""
    return key_struct(stream, {name: mapped(properties.get(name, {})) for name in names})


def record_struct(stream: str, fields: Mapping[str, Mapped]) -> Mapped:
    found = _struct(fields, stream)
    return Mapped(found.schema.with_(optional=False), found.convert)


def key_struct(stream: str, fields: Mapping[str, Mapped]) -> Mapped:
    schema = s.struct(
        *((name, each.schema.with_(optional=False)) for name, each in fields.items()), name=f"{stream}.key"
    )

    def convert(record: Mapping[str, Any]) -> dict[str, Any]:
        key = {name: _converted(name, each, record.get(name)) for name, each in fields.items()}
        for name, value in key.items():
            if value is None:
                raise DataError(f"{name}, which is of its key, is null")
        return key

    return Mapped(schema, convert)


def mapped(schema: Any) -> Mapped:
    """Return the Connect schema of a JSON Schema, with the conversion of its values."""
    if not isinstance(schema, Mapping):
        return _JSON
    for union in _UNIONS:
        if union in schema:
            rest = [each for each in schema[union] if each.get("type") not in ("null", ["null"])]
            return mapped(rest[0]) if len(rest) == 1 else _JSON
    types = schema.get("type")
    given = [each for each in ([types] if isinstance(types, str) else types or []) if each != "null"]
    if len(given) != 1:
        return _JSON
    if given[0] == "object" and schema.get("properties"):
        return _struct({name: mapped(each) for name, each in schema["properties"].items()}, None)
    if given[0] == "array" and isinstance(schema.get("items"), Mapping) and schema["items"]:
        return _array(mapped(schema["items"]))
    return PRIMITIVES.get(given[0], _JSON)


def _struct(fields: Mapping[str, Mapped], name: str | None) -> Mapped:
    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise DataError(f"{_shown(value)} is no object")
        return {key: _converted(key, each, value.get(key)) for key, each in fields.items()}

    return Mapped(s.struct(*((key, each.schema) for key, each in fields.items()), name=name, optional=True), convert)


def _converted(key: str, field: Mapped, value: Any) -> Any:
    if value is None:
        if field.schema.optional:
            return None
        raise DataError(f"{key} is null")
    try:
        return field.convert(value)
    except DataError as error:
        raise DataError(f"{key}: {error}") from None


def _array(items: Mapped) -> Mapped:
    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise DataError(f"{_shown(value)} is no array")
        return [_converted(str(number), items, each) for number, each in enumerate(value)]

    return Mapped(s.array(items.schema, optional=True), convert)


def json_text(value: Any) -> str:
    """Return a value as JSON, with all digits of its numbers."""
    try:
        return orjson.dumps(value, _digits).decode()
    except TypeError:
        return orjson.dumps(_spelled(value)).decode()  # integers of more than 64 bits


def _digits(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value))
    raise TypeError


def _spelled(value: Any) -> Any:
    match value:
        case dict():
            return {key: _spelled(each) for key, each in value.items()}
        case list():
            return [_spelled(each) for each in value]
        case int() | Decimal() if not isinstance(value, bool):
            return orjson.Fragment(str(value))
    return value


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise DataError(f"{_shown(value)} is no string")


def _integer(value: Any) -> int:
    if isinstance(value, float | Decimal) and value == value // 1:
        value = int(value)
    if type(value) is int and value in _INT64:
        return value
    raise DataError(f"{_shown(value)} is no integer of 64 bits")


def _number(value: Any) -> float:
    if type(value) not in (int, float, Decimal):
        raise DataError(f"{_shown(value)} is no number")
    try:
        return double(value)
    except (ValueError, OverflowError):
        raise DataError(f"{_shown(value)} has more digits than a 64-bit float") from None


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise DataError(f"{_shown(value)} is no boolean")


def _shown(value: Any) -> str:
    """The kind of it: values are not written to logs."""
    return f"a value of type {type(value).__name__}"


_JSON = Mapped(s.OPTIONAL_STRING, json_text)
PRIMITIVES = {
    "string": Mapped(s.OPTIONAL_STRING, _string),
    "integer": Mapped(s.OPTIONAL_INT64, _integer),
    "number": Mapped(s.OPTIONAL_FLOAT64, _number),
    "boolean": Mapped(s.OPTIONAL_BOOLEAN, _boolean),
}

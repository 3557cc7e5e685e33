"""Conversion of Connect's schemas to JSON Schema, as targets read it, and of values to JSON that fits it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson

from penstock.api import schema as s
from penstock.api.errors import DataError
from penstock.api.exact import has_infinite

ANYTHING: Mapping[str, Any] = {}
_OPTIONS = orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS
LOGICAL: Mapping[str, Mapping[str, Any]] = {
    s.DECIMAL_NAME: {"type": "number"},
    s.DATE_NAME: {"type": "string", "format": "date"},
    s.TIME_NAME: {"type": "string", "format": "time"},
    s.TIMESTAMP_NAME: {"type": "string", "format": "date-time"},
}
PRIMITIVES: Mapping[s.SchemaType, Mapping[str, Any]] = {
    **{each: {"type": "integer"} for each in (s.Type.INT8, s.Type.INT16, s.Type.INT32, s.Type.INT64)},
    **{each: {"type": "number"} for each in (s.Type.FLOAT32, s.Type.FLOAT64)},
    s.Type.BOOLEAN: {"type": "boolean"},
    s.Type.STRING: {"type": "string"},
    s.Type.BYTES: {"type": "string", "contentEncoding": "base64"},
}


def json_schema(schema: s.Schema) -> dict[str, Any]:
    found: dict[str, Any]
    match schema.type:
        case _ if isinstance(schema, s.RecursiveSchema):
            found = {"type": "object" if schema.type is not s.Type.ARRAY else "array"}
        case s.Type.STRUCT:
            found = {"type": "object", "properties": {each.name: json_schema(each.schema) for each in schema}}
        case s.Type.ARRAY:
            found = {"type": "array", "items": _of_part(schema.value_schema)}
        case s.Type.MAP:
            found = {"type": "object", "additionalProperties": _of_part(schema.value_schema)}
        case primitive:
            found = dict(LOGICAL.get(schema.name or "") or PRIMITIVES[primitive])
    null = ["null"] if schema.optional else []
    return {**found, "type": [*null, found["type"]], **({"description": schema.doc} if schema.doc else {})}


def _of_part(schema: s.Schema | None) -> dict[str, Any]:
    return dict(ANYTHING) if schema is None else json_schema(schema)


def to_json(value: Any) -> bytes:
    """Convert a value. Raises DataError for one that JSON can't have."""
    try:
        text = orjson.dumps(value, _other, _OPTIONS)
    except TypeError as error:
        raise DataError(f"it can't be written as JSON: {error}") from None
    if b"null" in text and has_infinite(value):
        raise DataError("it can't be written as JSON, which has no NaN and no infinity")
    return text


def _other(value: Any) -> Any:
    match value:
        case Decimal() if value.is_finite():
            return orjson.Fragment(format(value, "f"))
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
    raise TypeError(f"a value of type {type(value).__name__}")

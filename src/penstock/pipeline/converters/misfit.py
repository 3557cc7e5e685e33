"""Location of the part of a value that does not fit its schema, for the author of a plugin.

Java's messages name neither the field nor what was expected; this is the cause that traces show below them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters.coercion import BITS

_FREE = "None, bool, int, float, str, bytes, list, dict"
Writer = Callable[[Schema | None], Callable[[Any], Any]]


def misfit(writer: Writer, schema: Schema | None, value: Any) -> DataError:
    """Return the error for a value that the writer of its schema refuses."""
    path = ""
    while (inner := _refused(writer, schema, value)) is not None:
        name, schema, value = inner
        path += name if name.startswith("[") or not path else f".{name}"
    where = ("The item " if path.startswith("[") else "The field ") + path if path else "It"
    found = "None" if value is None else f"of Python's type {type(value).__name__}"
    if type(value) is int and schema is not None and schema.type in BITS:
        limit = 1 << BITS[schema.type] - 1
        return DataError(f"{where} is an integer that {schema.type.name} cannot hold: expected {-limit} to {limit - 1}")
    if schema is None:
        return DataError(f"{where} is {found}; without a schema, expected one of {_FREE}")
    optional = "" if schema.optional else ", and not optional"
    return DataError(f"{where} is {found}; its schema is {schema.name or schema.type.name}{optional}")


def _refused(writer: Writer, schema: Schema | None, value: Any) -> tuple[str, Schema | None, Any] | None:
    for name, inner, item in _parts(schema, value):
        try:
            writer(inner)(item)
        except DataError:
            return name, inner, item
    return None


def _parts(schema: Schema | None, value: Any) -> Iterator[tuple[str, Schema | None, Any]]:
    kind = None if schema is None else schema.type
    if isinstance(value, dict) and schema is not None and kind is SchemaType.STRUCT:
        yield from ((field.name, field.schema, value.get(field.name)) for field in schema.fields)
    elif isinstance(value, dict) and kind in (None, SchemaType.MAP):
        for key, item in value.items():
            yield str(key), None if schema is None else schema.key_schema, key
            yield str(key), None if schema is None else schema.value_schema, item
    elif isinstance(value, list | tuple) and kind in (None, SchemaType.ARRAY):
        inner = None if schema is None else schema.value_schema
        yield from ((f"[{place}]", inner, item) for place, item in enumerate(value))

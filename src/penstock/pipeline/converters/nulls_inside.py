"""Nulls in lists and maps, which a node of the wrong kind has become: a struct of Java's refuses to take them in.

Java: ``Struct.put``, ``ConnectSchema.validateValue``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, RecursiveSchema, Schema, SchemaType

Check = Callable[[Any], None]
"""Raises DataError for a value that has a null where its schema has none."""
Read = Callable[[Any], Any]
Refusal = Callable[[Schema, str], DataError]


def null_for(schema: Schema, location: str) -> DataError:
    return DataError(f"Invalid value: null used for required {location}, schema type: {schema.type.name}")


def check_inside(schema: Schema, location: str, refusal: Refusal = null_for) -> Check | None:
    """Return a check of the values in a container, or None if none of them can have become null. Structs in it have
    checks of their own.
    """
    inner = schema.value_schema
    if inner is None:
        return None
    if isinstance(schema, RecursiveSchema):
        checks: list[Check | None] = []

        def check_later(value: Any) -> None:
            if not checks:
                checks.append(check_inside(schema.plain, location, refusal))
            if checks[0] is not None:
                checks[0](value)

        return check_later
    where = f"{'element of array' if schema.type is SchemaType.ARRAY else 'value of map'} {location}"
    deeper = check_inside(inner, where, refusal)
    key = schema.key_schema if schema.key_schema is not None and _may_become_null(schema.key_schema) else None
    strict = _may_become_null(inner)
    if deeper is None and key is None and not strict:
        return None

    def check(value: Any) -> None:
        items = value if type(value) is list else value.values()
        if key is not None and None in value:
            raise refusal(key, f"key of map {location}")
        if strict and None in items:
            raise refusal(inner, where)
        if deeper is not None:
            for item in items:
                if item is not None:
                    deeper(item)

    return check


def checked(read: Read, check: Check) -> Read:
    """Like ``read``, but what it returns is checked."""

    def read_checked(node: Any) -> Any:
        value = read(node)
        if value is not None:
            check(value)
        return value

    return read_checked


def _may_become_null(schema: Schema) -> bool:
    return not schema.optional and schema.type in (SchemaType.STRING, SchemaType.BYTES) and schema.name != DECIMAL_NAME

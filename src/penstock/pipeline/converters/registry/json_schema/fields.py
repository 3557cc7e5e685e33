"""What a struct of Java's refuses to take in: a node of the wrong kind has become null, or no bytes, by then.

Java: ``Struct.put``, ``ConnectSchema.validateValue``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, Field, Schema, SchemaType
from penstock.pipeline.converters.scalar_nodes import Read

Check = Callable[[Any], None]
"""Raises DataError for a value that has a null where its schema has none."""


def put(field: Field, read: Read) -> Read:
    """What ``read`` makes of nodes that are there, as far as a struct takes it; raises DataError for the rest."""
    schema, location = field.schema, f'field: "{field.name}"'
    if schema.type is SchemaType.BYTES and schema.name != DECIMAL_NAME:

        def read_bytes(node: Any) -> Any:
            value = read(node)
            if value is None and node is not None:
                raise _no_bytes(schema, location)
            return value

        return read_bytes
    check = _check(schema, location)
    if check is None:
        return read

    def read_checked(node: Any) -> Any:
        value = read(node)
        if value is not None:
            check(value)
        return value

    return read_checked


def null_for(schema: Schema, location: str) -> DataError:
    return DataError(f"Invalid value: null used for required {location}, schema type: {schema.type.name}")


def _no_bytes(schema: Schema, location: str) -> DataError:
    name = f' "{schema.name}"' if schema.name is not None else ""
    return DataError(f"Invalid Java object for schema{name} with type BYTES: class java.math.BigDecimal for {location}")


def _check(schema: Schema, location: str) -> Check | None:
    """Of what is in a container; None if nothing in it can have become null. Structs in it look after themselves."""
    inner = schema.value_schema
    if inner is None:
        return None
    kind = "element of array" if schema.type is SchemaType.ARRAY else "value of map"
    where = f"{kind} {location}"
    deeper = _check(inner, where)
    strict = not inner.optional and inner.type in (SchemaType.STRING, SchemaType.BYTES) and inner.name != DECIMAL_NAME
    if deeper is None and not strict:
        return None

    def check(value: Any) -> None:
        items = value if type(value) is list else value.values()
        if strict and None in items:
            raise null_for(inner, where) if inner.type is SchemaType.STRING else _no_bytes(inner, where)
        if deeper is not None:
            for item in items:
                if item is not None:
                    deeper(item)

    return check

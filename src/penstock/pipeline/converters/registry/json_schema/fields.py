"""Refusals of Java's struct, applied to nodes before they become null or bytes.

Java: ``Struct.put``, ``ConnectSchema.validateValue``.
"""

from __future__ import annotations

from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, Field, Schema, SchemaType
from penstock.pipeline.converters.nulls_inside import check_inside, checked, null_for
from penstock.pipeline.converters.scalar_nodes import Read


def put(field: Field, read: Read) -> Read:
    """Return a reader that raises DataError for values that a struct's field refuses. Called for nodes that are
    present.
    """
    schema, location = field.schema, f'field: "{field.name}"'
    if schema.type is SchemaType.BYTES and schema.name != DECIMAL_NAME:

        def read_bytes(node: Any) -> Any:
            value = read(node)
            if value is None and node is not None:
                raise _no_bytes(schema, location)
            return value

        return read_bytes
    check = check_inside(schema, location, _refusal)
    return read if check is None else checked(read, check)


def _no_bytes(schema: Schema, location: str) -> DataError:
    name = f' "{schema.name}"' if schema.name is not None else ""
    return DataError(f"Invalid Java object for schema{name} with type BYTES: class java.math.BigDecimal for {location}")


def _refusal(schema: Schema, location: str) -> DataError:
    return null_for(schema, location) if schema.type is SchemaType.STRING else _no_bytes(schema, location)

"""Connect's types as types of Python."""

from __future__ import annotations

from penstock.api.schema import SchemaType

BITS = {SchemaType.INT8: 7, SchemaType.INT16: 15, SchemaType.INT32: 31, SchemaType.INT64: 63}
"""Bits of each integer type, without the sign."""
KINDS: dict[SchemaType, type] = {
    **dict.fromkeys(BITS, int),
    SchemaType.FLOAT64: float,
    SchemaType.BOOLEAN: bool,
    SchemaType.STRING: str,
}

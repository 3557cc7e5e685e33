"""Java's name for the class of a value: ``java.lang.String``, ``java.util.HashMap``, ``[B`` and so on, for messages."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from penstock.api.schema import Schema, SchemaType

_BY_TYPE = {
    SchemaType.INT8: "java.lang.Byte",
    SchemaType.INT16: "java.lang.Short",
    SchemaType.INT32: "java.lang.Integer",
    SchemaType.FLOAT32: "java.lang.Float",
}

_BY_CLASS: dict[type, str] = {
    str: "java.lang.String",
    bool: "java.lang.Boolean",
    int: "java.lang.Long",
    float: "java.lang.Double",
    bytes: "[B",
    bytearray: "[B",
    list: "java.util.ArrayList",
    tuple: "java.util.ArrayList",
    dict: "java.util.HashMap",
    Decimal: "java.math.BigDecimal",
    dt.datetime: "java.util.Date",
    dt.date: "java.util.Date",
    dt.time: "java.util.Date",
}


def class_name(schema: Schema | None, value: Any) -> str:
    """The Java class of a value with this schema, which distinguishes structs from maps and ints from longs."""
    kind = type(value)
    if schema is not None:
        if kind is dict and schema.type is SchemaType.STRUCT:
            return "org.apache.kafka.connect.data.Struct"
        if kind in (int, float) and schema.type in _BY_TYPE:
            return _BY_TYPE[schema.type]
    return _BY_CLASS.get(kind) or f"{kind.__module__}.{kind.__qualname__}"

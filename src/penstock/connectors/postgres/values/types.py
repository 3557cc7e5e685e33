"""Types of PostgreSQL as Connect's: a schema and how a text becomes a value, as Debezium has them."""

from __future__ import annotations

import base64
import datetime
import struct as binary_struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DECIMAL_NAME,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    SchemaType,
    array,
    decimal,
    struct,
)
from penstock.connectors.postgres.catalog import PgType, PostgresColumn
from penstock.connectors.postgres.pgoutput import UNCHANGED
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values import texts
from penstock.connectors.postgres.values.times import TIME_TYPES, span_type, time_type

Read = Callable[[str], Any]
Types = Callable[[int], PgType]
"""By their oids, as ``Catalog.type`` gives them."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """``schema`` is that of a value that can't be null; ``nothing`` a text that says nothing, if that is not empty."""

    schema: Schema
    read: Read
    nothing: str | None = None


_DATA = "io.debezium.data."
_MAX_DIGITS = Context(prec=2100)
"""A numeric with a scale has 1,000 digits, and as many zeros, at most."""
_STRINGS = (
    *("text", "varchar", "bpchar", "char", "name", "citext", "ltree", "inet", "cidr", "macaddr", "macaddr8"),
    *("int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange"),
)
_NAMED = {"json": "Json", "jsonb": "Json", "xml": "Xml", "uuid": "Uuid"}
_PLAIN: dict[str, ValueType] = {
    "bool": ValueType(BOOLEAN, lambda text: text in ("t", "true")),
    "int2": ValueType(INT16, int),
    "int4": ValueType(INT32, int),
    "int8": ValueType(INT64, int),
    "oid": ValueType(INT64, int),
    "float4": ValueType(FLOAT32, float),
    "float8": ValueType(FLOAT64, float),
    **{name: ValueType(STRING, str) for name in _STRINGS},
    **{name: ValueType(STRING.with_(name=_DATA + kind, version=1), str) for name, kind in _NAMED.items()},
}
_POINT = struct(
    ("x", FLOAT64),
    ("y", FLOAT64),
    ("wkb", BYTES.with_(optional=True)),
    ("srid", INT32.with_(optional=True)),
    name=_DATA + "geometry.Point",
    version=1,
    doc="Geometry (POINT)",
)
_VARIABLE = struct(
    ("scale", INT32),
    ("value", BYTES),
    name=_DATA + "VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
)


def value_type(types: Types, settings: PostgresSettings, oid: int, modifier: int) -> ValueType | None:
    """Return the conversion of a type, or None if it has no form in a record."""
    found = types(oid)
    if found.kind == "d":
        return value_type(types, settings, found.base, found.base_modifier if modifier < 0 else modifier)
    if found.kind == "e":
        parameters = {"allowed": ",".join(found.labels)}
        return ValueType(STRING.with_(name=_DATA + "Enum", version=1, parameters=parameters), str)
    if found.element:
        element = value_type(types, settings, found.element, modifier)
        return None if element is None else _array(element)
    if found.name in TIME_TYPES:
        return ValueType(*time_type(found.name, settings.times, modifier))
    match found.name:
        case "numeric":
            return _numeric(settings.decimals, modifier)
        case "money":
            return _money(settings.decimals, settings.money_digits)
        case "bytea":
            return _bytea(settings.binary)
        case "interval":
            span = ValueType(*span_type(settings.intervals))
            return replace(span, nothing=span.read("00:00:00")) if span.schema.type is SchemaType.STRING else span
        case "bit" | "varbit":
            return _bits(found.name, modifier)
        case "point":
            return ValueType(_POINT, _point)
        case name:
            return _PLAIN.get(name)


def _array(element: ValueType) -> ValueType:
    def read(text: str) -> list[Any]:
        found = texts.array(text)
        if element.read is not str and any(each is not None and each.startswith("{") for each in found):
            raise DataError(f"{text} is an array of several dimensions, which only those of texts can have in a record")
        return [None if each is None else element.read(each) for each in found]

    return ValueType(array(element.schema.with_(optional=True)), read)


def _numeric(mode: str, modifier: int) -> ValueType:
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, ((modifier - 4) & 0x7FF ^ 1024) - 1024
    if mode == "string":
        return ValueType(STRING, str, f"{0:.{max(scale, 0)}f}" if modifier >= 0 else "0")
    if mode == "double":
        return ValueType(FLOAT64, float)
    if modifier < 0:
        return ValueType(_VARIABLE, _variable)
    schema = decimal(scale)
    parameters = {**schema.parameters, "connect.decimal.precision": str(precision)}
    return ValueType(schema.with_(parameters=parameters), lambda text: _scaled(_finite(text), scale))


def _finite(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite():
        raise DataError(f"The numeric {text} is no decimal number; set decimal.handling.mode to string or double")
    return found


def _scaled(number: Decimal, scale: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-scale), context=_MAX_DIGITS)


def _variable(text: str) -> dict[str, Any]:
    """Return a decimal without zeros at the end of the fraction."""
    _finite(text)
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    number = int(whole + fraction)
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return {"scale": len(fraction), "value": number.to_bytes(size, "big", signed=True)}


def _money(mode: str, digits: int) -> ValueType:
    def number(text: str) -> Decimal:
        plain = "".join(each for each in text if each.isdigit() or each == ".")
        return Decimal(-1 if "-" in text or "(" in text else 1) * Decimal(plain)

    if mode == "string":
        return ValueType(STRING, lambda text: str(number(text)), f"{0:.{digits}f}")
    if mode == "double":
        return ValueType(FLOAT64, lambda text: float(number(text)))
    return ValueType(decimal(digits), lambda text: _scaled(number(text), digits))


def _bytea(mode: str) -> ValueType:
    match mode:
        case "hex":
            return ValueType(STRING, lambda text: text[2:])
        case "base64":
            return ValueType(STRING, lambda text: base64.b64encode(bytes.fromhex(text[2:])).decode())
        case "base64-url-safe":
            return ValueType(STRING, lambda text: base64.urlsafe_b64encode(bytes.fromhex(text[2:])).decode())
        case _:
            return ValueType(BYTES, lambda text: bytes.fromhex(text[2:]))


def _bits(name: str, modifier: int) -> ValueType:
    if name == "bit" and modifier == 1:
        return ValueType(BOOLEAN, lambda text: text == "1")
    length = {"length": str(modifier if modifier >= 0 else 2147483647)}
    return ValueType(BYTES.with_(name=_DATA + "Bits", version=1, parameters=length), texts.bits)


def _point(text: str) -> dict[str, Any]:
    x, y = (float(each) for each in text.strip("()").split(","))
    return {"x": x, "y": y, "wkb": binary_struct.pack("<bidd", 1, 1, x, y), "srid": None}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column as a field: how its text becomes a value."""

    name: str
    schema: Schema
    read: Read
    place: int
    """Among the values of a row."""
    absent: Any
    """The value of a row that lacks one which the schema requires: of a deleted row only the key is known."""
    unchanged: Any

    def value(self, text: str | None) -> Any:
        if text is None:
            return self.absent
        if text is UNCHANGED:
            return self.unchanged
        return self.read(text)


def column_type(types: Types, settings: PostgresSettings, column: PostgresColumn, place: int) -> ColumnType | None:
    """Return the field of a column, or None if its type has no form in a record."""
    found = value_type(types, settings, column.type_oid, column.modifier)
    if found is None:
        return None
    default = None if column.default is None else _default(found, column.default)
    schema = found.schema.with_(optional=column.optional, default=default)
    absent = None if column.optional else (default if default is not None else found.nothing or neutral(schema))
    return ColumnType(column.name, schema, found.read, place, absent, _unchanged(schema, settings.placeholder))


def _default(type: ValueType, text: str) -> Any:
    """None, as Debezium has it, for what no record can hold, such as `infinity`, and for structs."""
    if type.schema.type is SchemaType.STRUCT:
        return None
    try:
        return type.read(text)
    except DataError:
        return None


def neutral(schema: Schema) -> Any:
    """A value of this schema that says nothing."""
    if schema.name == _POINT.name:
        return _point("(0,0)")
    if schema.name == _VARIABLE.name:
        return _variable("0")
    if schema.name == DECIMAL_NAME:
        return _scaled(Decimal(0), int(schema.parameters["scale"]))
    if schema.name is not None and schema.name.startswith("org.apache.kafka.connect.data."):
        return _LOGICAL[schema.name.rpartition(".")[2]]
    return _NO_TIMES.get(schema.name or "", _NEUTRAL[schema.type])


def _unchanged(schema: Schema, placeholder: str) -> Any:
    """Return the placeholder for a long value that is not sent; types that are never long have none."""
    match schema.type:
        case SchemaType.STRING:
            return placeholder
        case SchemaType.BYTES if schema.name is None:
            return placeholder.encode()
        case SchemaType.ARRAY if schema.value_schema is not None and schema.value_schema.type is SchemaType.STRING:
            return [placeholder]
        case _:
            return None if schema.optional else neutral(schema)


_NEUTRAL: dict[SchemaType, Any] = {
    SchemaType.BOOLEAN: False,
    SchemaType.INT16: 0,
    SchemaType.INT32: 0,
    SchemaType.INT64: 0,
    SchemaType.FLOAT32: 0.0,
    SchemaType.FLOAT64: 0.0,
    SchemaType.STRING: "",
    SchemaType.BYTES: b"",
    SchemaType.ARRAY: [],
}
_NO_TIMES = {
    "io.debezium.time.ZonedTimestamp": "1970-01-01T00:00:00Z",
    "io.debezium.time.IsoTimestamp": "1970-01-01T00:00:00Z",
    "io.debezium.time.IsoDate": "1970-01-01Z",
    "io.debezium.time.IsoTime": "00:00:00Z",
    "io.debezium.time.ZonedTime": "00:00:00Z",
}
_LOGICAL: dict[str, Any] = {
    "Date": datetime.date(1970, 1, 1),
    "Time": datetime.time(),
    "Timestamp": datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
}

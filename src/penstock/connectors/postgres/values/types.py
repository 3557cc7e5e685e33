"""Types of PostgreSQL as Connect's: a schema and how a text becomes a value, as Debezium has them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, STRING, Schema, SchemaType, array
from penstock.connectors.postgres.catalog import PgType, PostgresColumn, RelationName
from penstock.connectors.postgres.pgoutput import UNCHANGED
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values import texts
from penstock.connectors.postgres.values.mappings import mapping
from penstock.connectors.postgres.values.numbers import POINT, VARIABLE, named, point, scaled, variable
from penstock.connectors.postgres.values.value_type import Read, ValueType

Types = Callable[[int], PgType]
"""By their oids, as ``Catalog.type`` gives them."""


def value_type(types: Types, settings: PostgresSettings, oid: int, modifier: int) -> ValueType | None:
    """Return the conversion of a type, or None if it has no form in a record."""
    found = types(oid)
    if found.kind == "d":
        return value_type(types, settings, found.base, found.base_modifier if modifier < 0 else modifier)
    if found.kind == "e":
        parameters = {"allowed": ",".join(found.labels)}
        return ValueType(named(STRING, "Enum").with_(parameters=parameters), str)
    if found.element:
        element = value_type(types, settings, found.element, modifier)
        return None if element is None else _array(element)
    chosen = mapping(found.name, modifier, settings)
    return None if chosen is None else chosen.of(modifier, settings)


def _array(element: ValueType) -> ValueType:
    def read(text: str) -> list[Any]:
        found = texts.array(text)
        if element.read is not str and any(each is not None and each.startswith("{") for each in found):
            raise DataError(f"{text} is an array of several dimensions, which only those of texts can have in a record")
        return [None if each is None else element.read(each) for each in found]

    return ValueType(array(element.schema.with_(optional=True)), read)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column as a field: how its text becomes a value."""

    table: RelationName
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
        try:
            return self.read(text)
        except DataError as error:
            raise DataError(f"Column `{self.name}` of table {self.table}: {error}") from error


def column_type(
    types: Types, settings: PostgresSettings, table: RelationName, column: PostgresColumn, place: int
) -> ColumnType | None:
    """Return the field of a column, or None if its type has no form in a record."""
    found = value_type(types, settings, column.type_oid, column.modifier)
    if found is None:
        return None
    default = None if column.default is None else _default(found, column.default)
    schema = found.schema.with_(optional=column.optional, default=default)
    absent = None if column.optional else (default if default is not None else found.nothing or neutral(schema))
    return ColumnType(table, column.name, schema, found.read, place, absent, _unchanged(schema, settings.placeholder))


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
    if schema.name == POINT.name:
        return point("(0,0)")
    if schema.name == VARIABLE.name:
        return variable("0")
    if schema.name == DECIMAL_NAME:
        return scaled(Decimal(0), int(schema.parameters["scale"]))
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

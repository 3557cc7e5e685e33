"""From Connect's values to Protobuf's messages, one function per schema. Java: ``ProtobufData.fromConnectData``."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.pipeline.converters.coercion import CoercionError, float_writer, mismatch, of_field
from penstock.pipeline.converters.registry.mapping.pieces import joined
from penstock.pipeline.converters.registry.mapping.schemas import BITS, KINDS
from penstock.pipeline.converters.registry.protobuf.column_writer import column_writer
from penstock.pipeline.converters.registry.protobuf.options import (
    DATE_TYPE,
    DECIMAL_TYPE,
    TIME_TYPE,
    TIMESTAMP_TYPE,
    WRAPPER_TYPES,
    ProtobufOptions,
    is_enum,
    is_union,
)
from penstock.values.class_names import class_name
from penstock.values.logical import bytes_of, millis_of_day, millis_since

Change = Callable[[Any], Any]
_KINDS: dict[SchemaType, type] = {**KINDS, SchemaType.FLOAT32: float}
_UNSIGNED_BITS = {4: 64, 6: 64, 7: 32, 13: 32}
"""Bits of the fields without a sign, by the numbers of ``FieldDescriptorProto.Type``."""
log = logging.getLogger(__name__)


class ProtobufWriter:
    """Writes values of one Connect schema as one message of a pool."""

    def __init__(
        self,
        options: ProtobufOptions,
        schema: Schema,
        message: Any,
        class_of: Callable[[Any], Any],
        java: bool = False,
    ) -> None:
        """``java``: whether integers that an unsigned field cannot hold are wrapped, in place of an error."""
        self._options, self._class_of, self._java = options, class_of, java
        self._compiled: dict[tuple[int, str], list[Change]] = {}
        if schema.type is SchemaType.STRUCT:
            self._write = self._struct(schema, message)
        else:
            kind, check = class_of(message), self._scalar(schema, message.fields[0])
            self._write = lambda value: kind(value=check(value))
        self._columns = column_writer(schema, message, self._plan, class_of)

    def one(self, head: bytes, value: Any) -> bytes:
        try:
            message: bytes = self._write(value).SerializeToString()
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"Error serializing Protobuf message: {error}") from error
        return head + message

    def all(self, head: bytes, values: list[Any] | Table) -> list[bytes]:
        if self._columns is not None:
            try:
                return joined([head, *self._columns(values)], len(values))
            except Exception:
                log.debug("A batch is written value by value", exc_info=True)
        return [self.one(head, value) for value in values]

    def _struct(self, schema: Schema, message: Any) -> Change:
        place = id(schema.fields), message.full_name
        if place in self._compiled:
            holder = self._compiled[place]
            return lambda value: holder[0](value)
        holder = self._compiled[place] = []
        kind = self._class_of(message)
        plain: list[tuple[str, str, Any, Change]] = []
        unions: list[tuple[str, list[tuple[str, str, Any, Change]]]] = []
        for field in schema.fields:
            if is_union(field.schema):
                unions.append((field.name, [self._plan(f.name, f.schema, message) for f in field.schema.fields]))
            else:
                plain.append(self._plan(field.name, field.schema, message))

        def write(value: Any) -> Any:
            if type(value) is not dict:
                raise mismatch(schema, value)
            get, parts = value.get, {}
            for name, target, default, change in plain:
                item = get(name)
                if item is None:
                    item = default
                if item is not None:
                    parts[target] = change(item)
            for name, members in unions:
                union = get(name)
                if union is not None:
                    parts.update([_chosen(union, members)])
            return kind(**parts)

        holder.append(write)
        return write

    def _plan(self, name: str, schema: Schema, message: Any) -> tuple[str, str, Any, Change]:
        target = self._options.scrub(name)
        field = message.fields_by_name.get(target)
        if field is None:
            raise DataError(f"Cannot find field with name {target} in the Protobuf message {message.full_name}")
        default = None if self._options.ignore_default_for_nullables else schema.default
        return name, target, default, of_field(name, schema, self._field(schema, field))

    def _field(self, schema: Schema, field: Any) -> Change:
        if schema.type is SchemaType.ARRAY:
            assert schema.value_schema is not None
            change = self._single(schema.value_schema, field)
            return lambda items: [change(_not_null(item)) for item in _list(schema, items)]
        if schema.type is SchemaType.MAP:
            return self._map(schema, field)
        return self._single(schema, field)

    def _map(self, schema: Schema, field: Any) -> Change:
        entry = field.message_type
        key = self._plan("key", _of(schema.key_schema), entry)[3]
        value = self._plan("value", _of(schema.value_schema), entry)[3]
        if entry.GetOptions().map_entry:
            return lambda found: {key(k): value(_not_null(v)) for k, v in _dict(schema, found).items()}
        kind = self._class_of(entry)

        def write(found: Any) -> list[Any]:
            return [
                kind(**{
                    name: change(item)
                    for name, change, item in (("key", key, k), ("value", value, v))
                    if item is not None
                })
                for k, v in _dict(schema, found).items()
            ]  # fmt: skip

        return write

    def _single(self, schema: Schema, field: Any) -> Change:
        message = field.message_type
        if message is not None and schema.name in _LOGICAL:
            name, convert = _LOGICAL[schema.name]
            if message.full_name != name:
                raise DataError(f"The Protobuf field {field.full_name} is no {name}")
            kind = self._class_of(message)
            return lambda value: kind(**convert(schema, value))
        if schema.type is SchemaType.STRUCT:
            if message is None:
                raise DataError(f"The Protobuf field {field.full_name} is no message")
            return self._struct(schema, message)
        if message is not None and message.full_name in WRAPPER_TYPES:
            kind, check = self._class_of(message), self._scalar(schema, message.fields[0])
            return lambda value: kind(value=check(value))
        return self._scalar(schema, field)

    def _scalar(self, schema: Schema, field: Any) -> Change:
        if field.enum_type is not None and is_enum(schema):
            numbers = {value.name: value.number for value in field.enum_type.values}
            if schema.type is SchemaType.STRING:
                return lambda value: _number(numbers, value, field)
        if schema.type is SchemaType.BYTES:
            return lambda value: _bytes(schema, value)
        kind: Any = _KINDS.get(schema.type)
        if kind is None:
            raise DataError(f"A {schema.type.name} can't be the Protobuf field {field.full_name}")
        if kind is float:
            return float_writer(schema)
        limit = 1 << BITS.get(schema.type, 0)
        unsigned = _UNSIGNED_BITS.get(field.type, 0) if kind is int else 0
        above, java = 1 << unsigned, self._java

        is_integer = kind is int

        def check(value: Any) -> Any:
            if type(value) is not kind:
                raise mismatch(schema, value)
            if is_integer:
                if not -limit <= value < limit:
                    raise mismatch(schema, value)
                if unsigned and not 0 <= value < above:
                    if java:
                        return value % above
                    raise CoercionError(
                        f"is {value}, which the unsigned Protobuf field {field.full_name} cannot hold: "
                        f"expected 0 to {above - 1}"
                    )
            return value

        return check


def _chosen(union: Any, members: list[tuple[str, str, Any, Change]]) -> tuple[str, Any]:
    if type(union) is not dict:
        raise DataError(f"Invalid type for STRUCT: class {class_name(None, union)}")
    for name, target, default, change in members:
        item = union.get(name)
        item = default if item is None else item
        if item is not None:
            return target, change(item)
    raise DataError("Cannot find non-null field")


def _number(numbers: dict[str, int], value: Any, field: Any) -> int:
    if value not in numbers:
        raise DataError(f"{value} is no value of the Protobuf enum {field.enum_type.full_name}")
    return numbers[value]


def _of(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("A schema for the keys or values of a map is missing")
    return schema


def _not_null(value: Any) -> Any:
    if value is None:
        raise DataError("Protobuf has no nulls in lists and maps")
    return value


def _list(schema: Schema, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise mismatch(schema, value)
    return value


def _dict(schema: Schema, value: Any) -> Any:
    if not isinstance(value, dict):
        raise mismatch(schema, value)
    return value


def _bytes(schema: Schema, value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise mismatch(schema, value)
    return bytes(value)


def _expect(value: Any, kind: type, what: str) -> None:
    if type(value) is not kind:
        java = "BigDecimal" if kind is Decimal else "Date"
        raise DataError(f"Invalid type for {what}, expected {java} but was class {class_name(None, value)}")


def _decimal(schema: Schema, value: Any) -> dict[str, Any]:
    _expect(value, Decimal, "Decimal")
    exponent = value.as_tuple().exponent
    return {"value": bytes_of(schema, value), "precision": len(value.as_tuple().digits), "scale": -exponent}


def _date(schema: Schema, value: Any) -> dict[str, Any]:
    _expect(value, dt.date, "Date")
    return {"year": value.year, "month": value.month, "day": value.day}


def _time(schema: Schema, value: Any) -> dict[str, Any]:
    _expect(value, dt.time, "Time")
    nanos = millis_of_day(value) % 1000 * 1_000_000
    return {"hours": value.hour, "minutes": value.minute, "seconds": value.second, "nanos": nanos}


def _moment(schema: Schema, value: Any) -> dict[str, Any]:
    _expect(value, dt.datetime, "Timestamp")
    seconds, millis = divmod(millis_since(value), 1000)
    return {"seconds": seconds, "nanos": millis * 1_000_000}


_LOGICAL = {
    DECIMAL_NAME: (DECIMAL_TYPE, _decimal),
    DATE_NAME: (DATE_TYPE, _date),
    TIME_NAME: (TIME_TYPE, _time),
    TIMESTAMP_NAME: (TIMESTAMP_TYPE, _moment),
}

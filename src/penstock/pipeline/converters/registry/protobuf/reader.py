"""From Protobuf's messages to Connect's values, one function per message. Java: ``ProtobufData.toConnectData``."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.pipeline.converters.coercion import CoercionError, integer
from penstock.pipeline.converters.registry.mapping.maps import in_java_order
from penstock.pipeline.converters.registry.protobuf.columns import MIN_MESSAGES, column_reader
from penstock.pipeline.converters.registry.protobuf.files import field_proto
from penstock.pipeline.converters.registry.protobuf.options import WRAPPER_TYPES, ProtobufOptions
from penstock.pipeline.converters.registry.protobuf.to_connect import (
    has_optional_keyword,
    is_repeated,
    plain_fields,
    real_oneofs,
    union_name,
)
from penstock.values.logical import moment_of

log = logging.getLogger(__name__)

Change = Callable[[Any], Any]
_UNSIGNED_LONG = (4, 6)
"""The types of Protobuf's fields that have 64 bits and no sign."""


class MessageReaders:
    """Compiles the functions that read messages; those of a message that contains itself call themselves."""

    def __init__(self, options: ProtobufOptions, class_of: Callable[[Any], Any], java: bool = False) -> None:
        self.options, self._class_of, self._java = options, class_of, java
        self._compiled: dict[tuple[str, int], list[Change]] = {}

    def reader(self, message: Any, schema: Schema) -> Change:
        """For messages of this type, or what is in the one field of a wrapper."""
        if schema.type is not SchemaType.STRUCT:
            return lambda found: found.value
        place = message.full_name, id(schema.fields)
        if place in self._compiled:
            holder = self._compiled[place]
            return lambda found: holder[0](found)
        holder = self._compiled[place] = []
        read = self._struct(message, schema)
        holder.append(read)
        return read

    def table(self, message: Any, schema: Schema) -> Callable[[Sequence[bytes], int], Table] | None:
        """A function for the bytes of many messages; None if the type has oneofs, or is no struct with fields."""
        fields = plain_fields(message)
        if schema.type is not SchemaType.STRUCT or not fields or real_oneofs(message):
            return None
        changes = {field.name: self._field(field, self._of(schema, field.name)) for field in fields}
        optional = {field.name for field in fields if self._may_be_absent(field)}
        names = [field.name for field in schema.fields]
        columns, parse = column_reader(message, optional), self._class_of(message).FromString

        def changed(name: str, column: Sequence[Any]) -> Sequence[Any]:
            change = changes[name]
            if change is None:
                return column
            return [None if item is None else change(item) for item in column]

        def parsed(name: str, found: list[Any]) -> list[Any]:
            get, change = attrgetter(name), changes[name] or _same
            if name in optional:
                return [change(get(one)) if one.HasField(name) else None for one in found]
            return list(map(get, found)) if change is _same else [change(get(one)) for one in found]

        def read(messages: Sequence[bytes], start: int) -> Table:
            if columns is not None and len(messages) >= MIN_MESSAGES:
                try:
                    found = columns(messages, start)
                    return Table(names, [changed(name, found[name]) for name in names])
                except Exception:
                    log.debug("These messages are parsed one by one", exc_info=True)
            each = [parse(data[start:]) for data in messages]
            return Table(names, [parsed(name, each) for name in names])

        return read

    def _struct(self, message: Any, schema: Schema) -> Change:
        always: list[tuple[str, Change | None]] = []
        present: list[tuple[str, Change | None]] = []
        for field in plain_fields(message):
            pair = field.name, self._field(field, self._of(schema, field.name))
            (present if self._may_be_absent(field) else always).append(pair)
        unions = [self._oneof(oneof, schema) for oneof in real_oneofs(message)]
        names = [field.name for field in schema.fields]

        def read(found: Any) -> dict[str, Any]:
            value: dict[str, Any] = dict.fromkeys(names)
            try:
                for name, change in always:
                    item = getattr(found, name)
                    value[name] = item if change is None else change(item)
                for name, change in present:
                    if found.HasField(name):
                        item = getattr(found, name)
                        value[name] = item if change is None else change(item)
                for oneof, target, members, blank in unions:
                    if name := found.WhichOneof(oneof):
                        item, change = getattr(found, name), members[name]
                        item = item if change is None else change(item)
                        if target is None:
                            value[name] = item
                        else:
                            value[target] = {**blank, name: item}
            except CoercionError as error:
                raise error.within(name) from None
            return value

        return read

    def _of(self, schema: Schema, name: str) -> Schema:
        field = schema.field(name)
        assert field is not None
        return field.schema

    def _may_be_absent(self, field: Any) -> bool:
        if is_repeated(field):
            return False
        if field.message_type is not None:
            return not self.options.generate_struct_for_nulls
        proto = field_proto(field)
        keyword = proto.proto3_optional or (self.options.optional_for_proto2 and has_optional_keyword(field, proto))
        return keyword and not self.options.generate_struct_for_nulls

    def _oneof(self, oneof: Any, schema: Schema) -> tuple[str, str | None, dict[str, Change | None], dict[str, Any]]:
        target = None if self.options.flatten_unions else union_name(oneof, self.options)
        inner = schema if target is None else self._of(schema, target)
        members = {field.name: self._field(field, self._of(inner, field.name)) for field in oneof.fields}
        return oneof.name, target, members, dict.fromkeys(members)

    def _field(self, field: Any, schema: Schema) -> Change | None:
        if schema.type is SchemaType.MAP:
            return self._map(field, schema)
        if is_repeated(field):
            assert schema.value_schema is not None
            change = self._single(field, schema.value_schema)
            return list if change is None else lambda items: [change(item) for item in items]
        return self._single(field, schema)

    def _single(self, field: Any, schema: Schema) -> Change | None:
        match schema.name:
            case str() if schema.name == DECIMAL_NAME:
                return _decimal
            case str() if schema.name == DATE_NAME:
                return _date
            case str() if schema.name == TIME_NAME:
                return _time
            case str() if schema.name == TIMESTAMP_NAME:
                return _moment
        if field.enum_type is not None:
            if schema.type is SchemaType.INT32:
                return None
            names = {value.number: value.name for value in reversed(field.enum_type.values)}
            unknown = f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_"
            return lambda number: names.get(number) or f"{unknown}{number}"
        if field.message_type is not None:
            if schema.type is not SchemaType.STRUCT and field.message_type.full_name in WRAPPER_TYPES:
                return lambda found: found.value
            return self.reader(field.message_type, schema)
        if schema.type in (SchemaType.INT8, SchemaType.INT16):
            return integer(schema, self._java)
        if schema.type is SchemaType.INT64 and field.type in _UNSIGNED_LONG:
            return integer(schema, self._java)
        return None

    def _map(self, field: Any, schema: Schema) -> Change:
        key, value = field.message_type.fields
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        key_type = schema.key_schema.type
        of_key = self._field(key, schema.key_schema) or _same
        of_value = self._field(value, schema.value_schema) or _same
        if field.message_type.GetOptions().map_entry:
            return lambda found: in_java_order({of_key(k): of_value(found[k]) for k in found}, key_type)
        has_value = value.message_type is not None

        def read(items: Any) -> dict[Any, Any]:
            return in_java_order({
                of_key(item.key): of_value(item.value) if not has_value or item.HasField("value") else None
                for item in items
            }, key_type)  # fmt: skip

        return read


def _same(value: Any) -> Any:
    return value


def _decimal(found: Any) -> Decimal:
    number = int.from_bytes(found.value, "big", signed=True)
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -found.scale))


def _date(found: Any) -> dt.date:
    try:
        return dt.date(found.year, found.month, found.day)
    except ValueError as error:
        raise DataError(f"{found.year}-{found.month}-{found.day} is no date: {error}") from None


def _time(found: Any) -> dt.time:
    try:
        return dt.time(found.hours, found.minutes, found.seconds, found.nanos // 1_000_000 * 1000)
    except ValueError as error:
        raise DataError(f"{found.hours}:{found.minutes}:{found.seconds} is no time of day: {error}") from None


def _moment(found: Any) -> dt.datetime:
    return moment_of(found.seconds * 1000 + found.nanos // 1_000_000)

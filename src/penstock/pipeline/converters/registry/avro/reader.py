"""From Avro's bytes to Connect's values: functions for each pair of schemas, compiled once.

fastavro reads the bytes; what it gives is what Connect has, but for logical types, small integers, unions and maps,
which are changed in place. Java: ``AvroData.toConnectData``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from io import BytesIO
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError, SerializationError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.pipeline.converters.coercion import CoercionError, integer
from penstock.pipeline.converters.registry.avro.bounds import bounds
from penstock.pipeline.converters.registry.avro.columns import table_reader
from penstock.pipeline.converters.registry.avro.options import is_union
from penstock.pipeline.converters.registry.avro.schema.fastavro_schema import (
    BRANCH,
    branch_name,
    for_fastavro,
    is_nullable,
    is_wrapped,
    other_branch,
)
from penstock.pipeline.converters.registry.avro.schema.model import AvroType, parts
from penstock.pipeline.converters.registry.avro.schema.resolution import resolution
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.format import FormatReader, Read
from penstock.pipeline.converters.registry.mapping.maps import in_java_order
from penstock.values.logical import day_of, decimal_of, moment_of, time_of

_LONG_NUMBER = re.compile(rb"[\x80-\xff]{4}[\x10-\xff]")
"""The bytes of each number that does not fit an ``int``; others may have them, too."""

Change = Callable[[Any], Any]
"""Makes Connect's value of fastavro's."""


def reader(
    avro: AvroType,
    schema: Schema | None,
    to_the_end: bool = False,
    read_as: AvroType | None = None,
    java: bool = False,
) -> FormatReader:
    """Return the reader of this schema's messages, ``read_as`` another schema if one is given, whose Connect schema is
    then ``schema``. Integers out of the range of their type are wrapped if ``java``, otherwise they raise
    CoercionError.

    The functions raise an exception for bytes that are no such value. What follows the value is ignored unless it is to
    go ``to_the_end``.
    """
    change = read_anything if schema is None else _Compiler(java).change(read_as or avro, schema)
    has_ints = schema is not None and any(part.kind == "int" for part in parts(avro))
    strict = _Compiler(java, strict=True).change(read_as or avro, schema) if schema is not None and has_ints else change
    if read_as is not None:
        resolve = resolution(avro, read_as)
        change, strict = _both(resolve, change), _both(resolve, strict)
    if avro.kind == "bytes":
        finish = change or _same
        return FormatReader(schema, lambda data, start: finish(data[start:]))
    fastavro = load("fastavro", "avro")
    parsed = fastavro.parse_schema(for_fastavro(avro, writing=False))
    read, check = fastavro.schemaless_reader, bounds(avro)

    def read_plain(data: bytes, start: int) -> Any:
        if check is not None:
            check(data, start)
        stream = BytesIO(data)
        stream.seek(start)
        value = read(stream, parsed, None, True, True, "replace")
        if to_the_end and stream.read(1):
            raise SerializationError("Trailing data found after deserializing Avro message")
        return value

    plain, careful = _changed(read_plain, change), _changed(read_plain, strict)

    def one(data: bytes, start: int) -> Any:
        return (careful if has_ints and _LONG_NUMBER.search(data, start) else plain)(data, start)

    def all(messages: Sequence[bytes], start: int) -> list[Any] | Table | None:
        if table is not None and (found := table(messages, start)) is not None:
            return found
        each = careful if has_ints and _LONG_NUMBER.search(b"".join(messages)) else plain
        return [each(data, start) for data in messages]

    table = None
    if schema is not None and schema.type is SchemaType.STRUCT and avro.kind == "record" and read_as is None:
        table = table_reader(avro, schema, _Compiler(java).changes, to_the_end)
    return FormatReader(schema, one, all)


def _changed(read: Read, change: Change | None) -> Read:
    return read if change is None else lambda data, start: change(read(data, start))


def _both(first: Change | None, second: Change | None) -> Change | None:
    if first is None or second is None:
        return first or second
    one, other = first, second
    return lambda value: other(one(value))


class _Compiler:
    """Compiles the changes that values of one schema need; None is none."""

    def __init__(self, java: bool, strict: bool = False) -> None:
        """``strict``: fastavro reads, which takes an ``int`` of any size; Java's reader does not."""
        self._java, self._strict = java, strict
        self._records: dict[int, list[Any]] = {}
        """The functions of records that are being compiled, by identity of the schema; empty until there is one."""

    def change(self, avro: AvroType, schema: Schema) -> Change | None:
        if avro.kind == "union":
            return self._union(avro, schema)
        match schema.name:
            case str() if schema.name == DECIMAL_NAME:
                return lambda data: decimal_of(schema, data)
            case str() if schema.name == DATE_NAME:
                return day_of
            case str() if schema.name == TIME_NAME:
                return time_of
            case str() if schema.name == TIMESTAMP_NAME:
                return moment_of
        match schema.type:
            case SchemaType.INT8 | SchemaType.INT16:
                return integer(schema, self._java)
            case SchemaType.INT32 if self._strict:
                return _of_32_bits
            case SchemaType.ARRAY:
                return self._array(avro, schema)
            case SchemaType.MAP:
                return self._map(avro, schema)
            case SchemaType.STRUCT:
                return self._record(avro, schema)
        return None

    def changes(self, avro: AvroType, schema: Schema) -> list[Change | None]:
        """Return the changes of a record's fields."""
        return [
            self.change(field.type, target.schema) for field, target in zip(avro.fields, schema.fields, strict=True)
        ]

    def _union(self, avro: AvroType, schema: Schema) -> Change | None:
        if len(avro.branches) == 1 and is_union(schema):
            field = schema.fields[0]
            finish = self.change(avro.branches[0], field.schema) or _same
            return lambda value: {field.name: finish(value)}
        if not is_wrapped(avro, writing=False):
            change = self.change(avro.branches[other_branch(avro) if is_nullable(avro) else 0], schema)
            if change is None:
                return None
            inner = change
            return lambda value: None if value is None else inner(value)
        members: dict[str, tuple[str, Change | None]] = {}
        fields = iter(schema.fields)
        for index, branch in enumerate(avro.branches):
            if branch.kind != "null":
                field = next(fields)
                members[branch_name(avro, index)] = field.name, self.change(branch, field.schema)
        blank = {field.name: None for field in schema.fields}

        def member(value: Any) -> Any:
            if value is None:
                return None
            name, change = members[value[0]]
            found = value[1][BRANCH]
            return {**blank, name: found if change is None else change(found)}

        return member

    def _array(self, avro: AvroType, schema: Schema) -> Change | None:
        assert schema.value_schema is not None
        change = self.change(avro.item, schema.value_schema)
        if change is None:
            return None
        if change is _of_32_bits:
            return lambda items: _all_of_32_bits(items, items)
        finish = change
        return lambda items: [finish(item) for item in items]

    def _map(self, avro: AvroType, schema: Schema) -> Change:
        key_schema, value_schema = schema.key_schema, schema.value_schema
        assert key_schema is not None
        assert value_schema is not None
        if avro.kind == "map":
            change = self.change(avro.item, value_schema)
            if change is None:
                return in_java_order
            if change is _of_32_bits:
                return lambda entries: in_java_order(_all_of_32_bits(entries.values(), entries))
            finish = change
            return lambda entries: in_java_order({key: finish(value) for key, value in entries.items()})
        key, value = avro.item.field("key"), avro.item.field("value")
        assert key is not None
        assert value is not None
        change_key = self.change(key.type, key_schema) or _same
        change_value = self.change(value.type, value_schema) or _same

        def entries(items: list[dict[str, Any]]) -> dict[Any, Any]:
            try:
                found = {change_key(item["key"]): change_value(item["value"]) for item in items}
            except TypeError:
                raise DataError("A map can't have an array, a map or a struct as a key here") from None
            return in_java_order(found, key_schema.type)

        return entries

    def _record(self, avro: AvroType, schema: Schema) -> Change | None:
        if id(avro) in self._records:
            holder = self._records[id(avro)]
            return lambda value: holder[0](value) if holder else value
        holder = self._records[id(avro)] = []
        changes = [
            (field.name, change)
            for field, change in zip(avro.fields, self.changes(avro, schema), strict=True)
            if change is not None
        ]
        del self._records[id(avro)]
        if not changes:
            return None

        def record(value: dict[str, Any]) -> dict[str, Any]:
            try:
                for name, change in changes:
                    value[name] = change(value[name])
            except CoercionError as error:
                raise error.within(name) from None
            return value

        holder.append(record)
        return record


def _of_32_bits(number: int) -> int:
    if -(1 << 31) <= number < 1 << 31:
        return number
    raise SerializationError(f"Invalid int encoding: {number}")


def _all_of_32_bits(numbers: Collection[int], value: Any) -> Any:
    """Return the value, which has these numbers."""
    if numbers:
        _of_32_bits(min(numbers))
        _of_32_bits(max(numbers))
    return value


def _same(value: Any) -> Any:
    return value


def read_anything(value: Any) -> Any:
    """Return the value in a record of the type for schemaless data."""
    for name in ("boolean", "bytes", "double", "float", "int", "long", "string"):
        if value[name] is not None:
            return value[name]
    if value["array"] is not None:
        return [read_anything(item) for item in value["array"]]
    if value["map"] is not None:
        try:
            entries = {read_anything(item["key"]): read_anything(item["value"]) for item in value["map"]}
        except TypeError:
            raise DataError("A map can't have an array or a map as a key here") from None
        return in_java_order(entries)
    return None

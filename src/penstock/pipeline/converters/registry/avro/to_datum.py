"""Connect's values as what fastavro writes, one function per schema. Java: ``AvroData.fromConnectData``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.pipeline.converters.coercion import float_writer, integer_writer, mismatch, of_field
from penstock.pipeline.converters.registry.avro.options import AVRO_KINDS, AvroOptions, is_union
from penstock.pipeline.converters.registry.avro.schema.fastavro_schema import (
    BRANCH,
    branch_name,
    is_wrapped,
)
from penstock.pipeline.converters.registry.avro.schema.model import NULL_DEFAULT, AvroField, AvroType
from penstock.pipeline.converters.registry.avro.to_avro import ANYTHING_TYPE
from penstock.pipeline.converters.registry.mapping.names import full_name, scrubbed
from penstock.values.class_names import class_name
from penstock.values.hash_map import in_hash_order
from penstock.values.logical import bytes_of, days_since, millis_of_day, millis_since

Change = Callable[[Any], Any]

_LOGICAL: dict[str, tuple[str, tuple[type, ...], Change]] = {
    DATE_NAME: ("Date", (dt.date,), days_since),
    TIME_NAME: ("Time", (dt.time,), millis_of_day),
    TIMESTAMP_NAME: ("Timestamp", (dt.datetime,), millis_since),
}
LOGICAL_NAMES = frozenset((DECIMAL_NAME, *_LOGICAL))


class DatumCompiler:
    """Compiles the functions of one writer. Each raises DataError for a value that does not fit its schema."""

    def __init__(self, options: AvroOptions) -> None:
        self.options = options
        self._structs: dict[tuple[int, int], list[Change]] = {}

    def change(self, schema: Schema, avro: AvroType) -> Change:
        """For values of this schema that go where Avro has this type, nulls among them."""
        inner = self._union(schema, avro) if avro.kind == "union" else self.present(schema, avro)
        if schema.optional:
            return lambda value: None if value is None else inner(value)

        def required(value: Any) -> Any:
            if value is None:
                raise DataError("Found null value for non-optional schema")
            return inner(value)

        return required

    def _union(self, schema: Schema, avro: AvroType) -> Change:
        if is_union(schema):
            return self._members(schema, avro)
        index = self._branch(schema, avro)
        inner = self.present(schema, avro.branches[index])
        if not is_wrapped(avro, writing=True):
            return inner
        name = branch_name(avro, index)
        return lambda value: (name, {BRANCH: inner(value)})

    def _members(self, schema: Schema, avro: AvroType) -> Change:
        places = [i for i, branch in enumerate(avro.branches) if branch.kind != "null"]
        if len(places) != len(schema.fields):
            raise DataError(f"The union {schema.name} has {len(schema.fields)} members, Avro's has {len(places)}")
        wrapped = is_wrapped(avro, writing=True)
        members = [
            (
                field.name,
                None if self.options.ignore_default_for_nullables else field.schema.default,
                branch_name(avro, place),
                self.change(field.schema, avro.branches[place]),
            )
            for field, place in zip(schema.fields, places, strict=True)
        ]

        def member(value: Any) -> Any:
            if type(value) is not dict:
                raise mismatch(schema, value)
            for name, default, branch, change in members:
                found = value.get(name)
                if found is None:
                    found = default
                if found is not None:
                    return (branch, {BRANCH: change(found)}) if wrapped else change(found)
            if not schema.optional:
                raise DataError("Found null value for non-optional schema")
            return None

        return member

    def _branch(self, schema: Schema, avro: AvroType) -> int:
        """Return the branch of Avro's union for values of a schema that is not a union."""
        others = [i for i, branch in enumerate(avro.branches) if branch.kind != "null"]
        if len(others) == 1:
            return others[0]
        name = full_name(schema.name or "", self.options.scrub_invalid_names)
        kind = "record" if schema.type is SchemaType.STRUCT else AVRO_KINDS.get(schema.type, "int")
        for index in others:
            branch = avro.branches[index]
            if branch.full_name == name or branch.kind == kind:
                return index
        raise DataError(f"None of the branches of Avro's union takes a {schema.type.name}: {avro.branches}")

    def present(self, schema: Schema, avro: AvroType) -> Change:
        """For values that are not null."""
        if schema.name == DECIMAL_NAME:
            return _decimal(schema, avro)
        if schema.name in _LOGICAL:
            return _logical(*_LOGICAL[schema.name])
        match schema.type:
            case SchemaType.INT8 | SchemaType.INT16 | SchemaType.INT32 | SchemaType.INT64:
                return integer_writer(schema)
            case SchemaType.FLOAT32 | SchemaType.FLOAT64:
                return float_writer(schema)
            case SchemaType.BOOLEAN:
                return _checked(schema, bool)
            case SchemaType.STRING:
                return _symbol(schema, avro) if avro.kind == "enum" else _checked(schema, str)
            case SchemaType.BYTES:
                return _bytes(schema, avro)
            case SchemaType.ARRAY:
                return self._array(schema, avro)
            case SchemaType.MAP:
                return self._map(schema, avro)
            case SchemaType.STRUCT:
                return self._members(schema, avro) if is_union(schema) else self._struct(schema, avro)

    def _array(self, schema: Schema, avro: AvroType) -> Change:
        _expect(schema, avro, "array")
        assert schema.value_schema is not None
        change = self.change(schema.value_schema, avro.item)

        def write(value: Any) -> Any:
            if not isinstance(value, (list, tuple)):
                raise mismatch(schema, value)
            return [change(item) for item in value]

        return write

    def _map(self, schema: Schema, avro: AvroType) -> Change:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if self.options.is_avro_map(schema):
            _expect(schema, avro, "map")
            change_value = self.change(schema.value_schema, avro.item)
            return _in_hash_order(_entries(schema, lambda key, value: (_text_key(key), change_value(value)), dict))
        _expect(schema, avro, "array")
        key, value = avro.item.field("key"), avro.item.field("value")
        if key is None or value is None:
            raise DataError(f"Avro's type for the entries of a map has no key or no value: {avro.item.full_name}")
        change_key, change = self.change(schema.key_schema, key.type), self.change(schema.value_schema, value.type)
        return _entries(schema, lambda key, value: {"key": change_key(key), "value": change(value)}, list)

    def _struct(self, schema: Schema, avro: AvroType) -> Change:
        _expect(schema, avro, "record")
        place = id(schema.fields), id(avro)
        if place in self._structs:
            holder = self._structs[place]
            return lambda value: holder[0](value)
        holder = self._structs[place] = []
        sources = {scrubbed(field.name, self.options.scrub_invalid_names): field for field in schema.fields}
        fields: list[tuple[str, str, Any, Change]] = []
        for target in avro.fields:
            source = sources.get(target.name)
            if source is None:
                fields.append((target.name, target.name, None, _default_of(target)))
                continue
            default = None if self.options.ignore_default_for_nullables else source.schema.default
            change = of_field(source.name, source.schema, self.change(source.schema, target.type))
            fields.append((target.name, source.name, default, change))

        def write(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                raise mismatch(schema, value)
            datum = {}
            for name, source, default, change in fields:
                found = value.get(source)
                datum[name] = change(default if found is None else found)
            return datum

        holder.append(write)
        return write


def _default_of(target: AvroField) -> Change:
    """For a field that the target schema has and the value has not: its default, if that is simple."""
    default = None if target.default is NULL_DEFAULT else target.default
    if target.default is None or (default is not None and target.type.kind not in ("int", "long", "string", "boolean")):

        def missing(value: Any) -> Any:
            raise DataError(f"The field {target.name} of the Avro schema is not in the value, and has no default")

        return missing
    return lambda value: default


def _entries(schema: Schema, change: Callable[[Any, Any], Any], collect: Callable[[Any], Any]) -> Change:
    def write(value: Any) -> Any:
        if not isinstance(value, dict):
            raise mismatch(schema, value)
        return collect([change(key, item) for key, item in value.items()])

    return write


def _in_hash_order(write: Change) -> Change:
    """Java puts the entries into a ``HashMap`` of the usual size, whose order is that of the bytes."""

    def ordered(value: Any) -> Any:
        return in_hash_order(write(value))

    return ordered


def _text_key(key: Any) -> str:
    if type(key) is not str:
        raise DataError(f"Invalid type for MAP: the key {key!r} is no text")
    return key


def _expect(schema: Schema, avro: AvroType, kind: str) -> None:
    if avro.kind != kind:
        raise DataError(f"The Avro schema has {avro.full_name} where the Connect schema has {schema.type.name}")


def _checked(schema: Schema, kind: type) -> Change:
    def write(value: Any) -> Any:
        if type(value) is not kind:
            raise mismatch(schema, value)
        return value

    return write


def _symbol(schema: Schema, avro: AvroType) -> Change:
    symbols = frozenset(avro.symbols)

    def write(value: Any) -> str:
        if type(value) is not str:
            raise mismatch(schema, value)
        if value not in symbols:
            raise DataError(f"{value} is no symbol of the Avro enum {avro.full_name}")
        return value

    return write


def _bytes(schema: Schema, avro: AvroType) -> Change:
    def write(value: Any) -> bytes:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise mismatch(schema, value)
        return bytes(value)

    return write if avro.kind == "bytes" else _of_size(write, avro)


def _of_size(write: Change, avro: AvroType) -> Change:
    def sized(value: Any) -> bytes:
        data: bytes = write(value)
        if len(data) != avro.size:
            raise DataError(f"{len(data)} bytes do not fit the Avro fixed {avro.full_name}, which has {avro.size}")
        return data

    return sized


def _decimal(schema: Schema, avro: AvroType) -> Change:
    def write(value: Any) -> bytes:
        if not isinstance(value, Decimal):
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {class_name(None, value)}")
        data = bytes_of(schema, value)
        if avro.kind != "fixed":
            return data
        if len(data) > avro.size:
            raise DataError(f"Unscaled value byte array length {len(data)} is greater than fixed size {avro.size}")
        return (b"\xff" if data[0] & 0x80 else b"\0") * (avro.size - len(data)) + data

    return write


def _logical(what: str, kinds: tuple[type, ...], to_number: Change) -> Change:
    def write(value: Any) -> int:
        if type(value) not in kinds:
            raise DataError(f"Invalid type for {what}, expected Date but was class {class_name(None, value)}")
        number: int = to_number(value)
        return number

    return write


_FREE = {bool: "boolean", float: "double", int: "long", str: "string"}


def write_anything(value: Any) -> dict[str, Any]:
    """Schemaless data as a record of the type for it."""
    blank: dict[str, Any] = dict.fromkeys(("boolean", "bytes", "double", "float", "int", "long", "string"))
    blank.update(array=None, map=None)
    if value is None:
        return blank
    kind = type(value)
    if kind in _FREE:
        return {**blank, _FREE[kind]: value}
    if kind is list or kind is tuple:
        return {**blank, "array": branch_of("array", [write_anything(item) for item in value])}
    if kind is dict:
        entries = [{"key": write_anything(key), "value": write_anything(item)} for key, item in value.items()]
        return {**blank, "map": branch_of("map", entries)}
    raise DataError(f"Unknown Java type for schemaless data: class {class_name(None, value)}")


def branch_of(field: str, value: Any) -> tuple[str, dict[str, Any]]:
    """The branch of a nullable field of the type for schemaless data that is not null."""
    found = ANYTHING_TYPE.field(field)
    assert found is not None
    return branch_name(found.type, 1), {BRANCH: value}

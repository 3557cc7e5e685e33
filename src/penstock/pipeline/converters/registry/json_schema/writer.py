"""Connect's values as JSON, as the JSON Schema converter writes them. Where it differs from JsonConverter: maps with
other keys than texts, unions, nulls where there should be none. Java: ``JsonSchemaData.fromConnectData``.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import Schema
from penstock.java.jackson.reading import literal_number, number
from penstock.pipeline.converters.json_writer import JsonWriter, Write
from penstock.pipeline.converters.registry.json_schema.options import JsonSchemaOptions, has_object_keys, is_union
from penstock.pipeline.converters.registry.mapping.variant import DIGITS, from_variant, is_variant
from penstock.values.class_names import class_name


class ValueWriter(JsonWriter):
    """The functions that write the values of a converter's schemas."""

    def __init__(self, options: JsonSchemaOptions, cache_size: int) -> None:
        super().__init__(options.numeric, not options.ignore_default_for_nullables, cache_size)

    def _inner(self, schema: Schema | None, names: tuple[Any, ...]) -> list[Schema | None] | None:
        if schema is not None and (is_union(schema) or is_variant(schema)):
            return None
        return super()._inner(schema, names)

    def _array(self, schema: Schema) -> Write:
        write, write_item = super()._array(schema), self._item(schema.value_schema)

        def write_all(value: Any) -> Any:
            """Nulls among required items are written, as in Java; they are looked for where writing failed."""
            try:
                return write(value)
            except DataError:
                if not isinstance(value, (list, tuple)) or None not in value:
                    raise
            return [write_item(item) for item in value]

        return write_all

    def _map(self, schema: Schema) -> Write:
        write, write_item = self._plain_map(schema), self._item(schema.value_schema)
        write_key, as_object = self.writer(schema.key_schema), has_object_keys(schema)

        def write_all(value: Any) -> Any:
            try:
                return write(value)
            except DataError:
                if not isinstance(value, dict) or None not in value.values():
                    raise
            if as_object:
                return {write_key(key): write_item(item) for key, item in value.items()}
            return [{"key": write_key(key), "value": write_item(item)} for key, item in value.items()]

        return write_all

    def _plain_map(self, schema: Schema) -> Write:
        if has_object_keys(schema):
            return super()._map(schema)
        write_key, write_value = self.writer(schema.key_schema), self.writer(schema.value_schema)

        def write(value: Any) -> Any:
            if not isinstance(value, dict):
                raise DataError(f"Invalid type for MAP: class {class_name(None, value)}")
            return [{"key": write_key(key), "value": write_value(item)} for key, item in value.items()]

        return write

    def _item(self, schema: Schema | None) -> Write:
        """For an item of an array or a map, null among them whatever the schema says."""
        write = self.writer(schema)
        if schema is None or self.writes_default(schema):
            return write
        return lambda value: None if value is None else write(value)

    def writes_default(self, schema: Schema) -> bool:
        """Whether a null of this schema is written as its default."""
        return schema.default is not None and self.defaults

    def _struct(self, schema: Schema) -> Write:
        if is_variant(schema):
            return _write_variant
        write = self._union(schema) if is_union(schema) else super()._struct(schema)
        absent = [
            field.name for field in schema.fields if not field.schema.optional and not self.writes_default(field.schema)
        ]
        if is_union(schema) or not absent:
            return write

        def write_present(value: Any) -> Any:
            """Required fields without a value are left out, as in Java; they are looked for where writing failed."""
            try:
                return write(value)
            except DataError:
                if type(value) is not dict or all(value.get(name) is not None for name in absent):
                    raise
            get = value.get
            return {
                field.name: self.writer(field.schema)(get(field.name))
                for field in schema.fields
                if get(field.name) is not None or field.name not in absent
            }

        return write_present

    def _union(self, schema: Schema) -> Write:
        members = [
            (field.name, field.schema.default if self.defaults else None, self.writer(field.schema))
            for field in schema.fields
        ]

        def write(value: Any) -> Any:
            if type(value) is not dict:
                raise DataError(f"Invalid type for STRUCT: class {class_name(None, value)}")
            for name, default, write_member in members:
                found = value.get(name)
                found = default if found is None else found
                if found is not None:
                    return write_member(found)
            return None

        return write


def _write_variant(value: Any) -> Any:
    if type(value) is not dict:
        raise DataError(f"Invalid type for Variant, expected Struct but was class {class_name(None, value)}")
    return _spelled(from_variant(value))


def _spelled(node: Any) -> Any:
    """A JSON value with its numbers as Jackson writes them."""
    match node:
        case float():
            return number(node)
        case Decimal():
            return literal_number(str(node.normalize(DIGITS)))
        case list():
            return [_spelled(item) for item in node]
        case dict():
            return {key: _spelled(item) for key, item in node.items()}
    return node

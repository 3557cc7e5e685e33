"""JSON as Connect's values, as the JSON Schema converter reads it. Where it differs from JsonConverter: maps with
other keys than texts, unions, missing properties. Java: ``JsonSchemaData.toConnectData``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, Field, Schema, SchemaType
from penstock.java.jackson.node import MISSING, Node, node_type
from penstock.pipeline.converters.json_reader import JsonReader
from penstock.pipeline.converters.nulls_inside import check_inside, checked, null_for
from penstock.pipeline.converters.registry.json_schema.options import has_object_keys, is_enum, is_union, symbol_of
from penstock.pipeline.converters.registry.mapping.maps import in_java_order
from penstock.pipeline.converters.registry.mapping.variant import is_variant, to_variant
from penstock.pipeline.converters.scalar_nodes import InexactError, Read, another_kind

_INTEGERS = frozenset((SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64))
_SYMBOLS = frozenset((bool, int, float, Decimal))
_FLOATS = frozenset((SchemaType.FLOAT32, SchemaType.FLOAT64))


class ValueReader(JsonReader):
    """The functions that read the values of a converter's schemas.

    A property that an object lacks is null there, even if it is required; only a null in the text is refused. What is
    ``inside`` of another struct is looked through once more, and refused then. Java: ``Struct.put``.
    """

    def __init__(self, cache_size: int, inside: bool = False, java: bool = False) -> None:
        super().__init__(True, cache_size, java)
        self._is_inside = inside
        self._inside = self if inside else ValueReader(cache_size, True, java)

    def _compile(self, schema: Schema) -> Read:
        if is_variant(schema):
            return _read_variant
        if is_enum(schema) and not self.java:
            return _read_symbol
        return self._union(schema) if is_union(schema) else super()._compile(schema)

    def table(self, schema: Schema | None, nodes: list[Node]) -> Any:
        if schema is not None and (is_union(schema) or is_variant(schema)):
            return None
        return super().table(schema, nodes)

    def _inner(self, schema: Schema) -> None:
        """None: they are looked through once more."""

    def _field(self, field: Field) -> Read:
        return put(field, self._inside.reader(field.schema))

    def _each_field(self, schema: Schema, fields: list[tuple[str, Read]]) -> Read:
        given = [(name, read, field.schema.default) for (name, read), field in zip(fields, schema.fields, strict=True)]
        required = [
            field
            for field in schema.fields
            if self._is_inside and not field.schema.optional and field.schema.default is None
        ]

        def read(node: Any) -> dict[str, Any]:
            get = node.get
            found = {
                name: absent if (inner := get(name, MISSING)) is MISSING else read_field(inner)
                for name, read_field, absent in given
            }
            for field in required:
                if found[field.name] is None:
                    raise null_for(field.schema, f'field: "{field.name}"')
            return found

        return read

    def _map(self, schema: Schema) -> Read:
        if has_object_keys(schema):
            return super()._map(schema)
        assert schema.key_schema is not None
        key_type = schema.key_schema.type
        read_key, read_value = self.reader(schema.key_schema), self.reader(schema.value_schema)

        def read(node: Node) -> dict[Any, Any]:
            if type(node) is not list:
                what = node_type(node)
                raise DataError(
                    f"Maps with non-string fields should be encoded as JSON array of objects, but found {what}"
                )
            entries = {}
            for entry in node:
                if type(entry) is not dict:
                    raise DataError(f"Found invalid map entry instead of object: {node_type(entry)}")
                if len(entry) != 2:
                    raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
                try:
                    entries[read_key(entry.get("key"))] = read_value(entry.get("value"))
                except TypeError:
                    raise DataError("A map can't have an array, a map or a struct as a key here") from None
            return in_java_order(entries, key_type)

        return read

    def _union(self, schema: Schema) -> Read:
        members = [(field.name, field.schema, self._field(field)) for field in schema.fields]
        blank = {field.name: None for field in schema.fields}
        symbols = not self.java  # Java takes a number for no symbol, and would make null of it

        def read(node: Node) -> dict[str, Any]:
            best, chosen = 0, None
            for member in members:
                if _is_instance(member[1], node, symbols):
                    chosen = member
                    break
                if (matching := _matching(member[1], node)) > best:
                    best, chosen = matching, member
            if chosen is None:
                raise DataError("Did not find matching oneof field for data")
            return {**blank, chosen[0]: chosen[2](node)}

        return read


def _read_symbol(node: Node) -> str:
    """Read a constant or a symbol of an enum, whose schema is of strings whatever they are. Java: null for numbers."""
    match node:
        case str():
            return node
        case float():
            raise InexactError
        case bool() | int() | Decimal():
            return symbol_of(node)
    raise another_kind(node, "a symbol of an enum", "STRING")


def _read_variant(node: Node) -> dict[str, bytes]:
    _require_exact_numbers(node)
    return to_variant(node)


def _require_exact_numbers(node: Node) -> None:
    """Raise InexactError for a float: variants keep the digits of numbers with a fraction."""
    match node:
        case float() if math.isfinite(node):
            raise InexactError
        case list():
            for item in node:
                _require_exact_numbers(item)
        case dict():
            for item in node.values():
                _require_exact_numbers(item)


def _is_instance(schema: Schema, node: Node, symbols: bool) -> bool:
    """Whether a node is of the kind that a schema other than a struct has; ``symbols``: numbers may be an enum's."""
    kind = type(node)
    match schema.type:
        case SchemaType.BOOLEAN:
            return kind is bool
        case SchemaType.STRING:
            return kind is str or (symbols and is_enum(schema) and kind in _SYMBOLS and _is_symbol(schema, node))
        case SchemaType.BYTES:
            return kind is float or kind is Decimal
        case SchemaType.ARRAY:
            return kind is list
        case SchemaType.MAP:
            return kind is dict or kind is list
        case number if number in _INTEGERS:
            return kind is int
        case number if number in _FLOATS:
            return kind is int or kind is float or kind is Decimal
    return False


def _is_symbol(schema: Schema, node: Node) -> bool:
    """Whether a number or a boolean is a symbol of an enum."""
    return any(key.endswith(f"Enum.{symbol_of(node)}") for key in schema.parameters)


def _matching(schema: Schema, node: Node) -> int:
    """Count the fields of a struct that an object has, including those of nested structs."""
    if schema.type is not SchemaType.STRUCT or type(node) is not dict:
        return 0
    found = [field for field in schema.fields if field.name in node]
    return len(found) + sum(_matching(field.schema, node[field.name]) for field in found)


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

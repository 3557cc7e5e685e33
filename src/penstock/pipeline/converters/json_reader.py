"""From parsed JSON to Connect's data: one function per schema, compiled once.

A node that its schema's type cannot hold is an error. Readers that coerce as Java does are as lenient as Jackson's
nodes are: a text where a number should be is 0, a number where a text should be is null, and integers are truncated to
their type. Objects without a schema become maps in the order of Java's ``HashMap``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, Field, RecursiveSchema, Schema, SchemaType
from penstock.java.jackson.node import MISSING, Node, node_type
from penstock.pipeline.converters.coercion import BITS, CoercionError, named
from penstock.pipeline.converters.json_table import (
    Plain,
    ReadTable,
    StructField,
    columns_of_maps,
    columns_of_structs,
    read_maps,
    read_structs,
)
from penstock.pipeline.converters.nulls_inside import check_inside, checked
from penstock.pipeline.converters.scalar_nodes import (
    EXACT,
    LENIENT,
    InexactError,
    Read,
    another_kind,
    decimal_reader,
)
from penstock.values.hash_map import hash_map, in_hash_order
from penstock.values.numeric import wrapped

_LONG = 2**63
DATE_NAMES = frozenset(LENIENT.dates)


class JsonReader:
    """The functions of one converter; ``defaults``: in place of nulls, where there are any; ``java``: coerce nodes that
    do not fit as Java does, instead of raising CoercionError.
    """

    def __init__(self, defaults: bool, cache_size: int, java: bool = False) -> None:
        self.defaults, self.java = defaults, java
        self._scalars = LENIENT if java else EXACT
        self._free = free_reader(java)
        self.cache_size = max(cache_size, 1)
        self._compiled: dict[Schema, Read] = {}
        self._fields_of: dict[Schema, list[StructField]] = {}

    def reader(self, schema: Schema | None) -> Read:
        """The function for nodes of this schema, null among them. It raises DataError, and InexactError for some
        floats.
        """
        if schema is None:
            return self._free
        found = self._compiled.get(schema)
        if found is None:
            if len(self._compiled) >= self.cache_size:
                self._compiled.clear()
            found = self._compiled[schema] = (
                self._later(schema)
                if isinstance(schema, RecursiveSchema)
                else self._nullable(schema, self._compile(schema))
            )
        return found

    def _later(self, schema: RecursiveSchema) -> Read:
        """Compile the function for a schema inside of itself when there is a value."""
        return lambda node: self.reader(schema.plain)(node)

    def table(self, schema: Schema | None, nodes: list[Node]) -> Table | None:
        """Return these nodes (at least one) as columns, with the values that ``reader`` returns for them; None if they
        differ in form, in which case nothing was read. Raises as the reader does.
        """
        if schema is None:
            columns = columns_of_maps(nodes)
            return None if columns is None else read_maps(columns, self._free)
        if schema.type is not SchemaType.STRUCT or _is_logical(schema):
            return None
        columns = columns_of_structs(schema, nodes)
        return None if columns is None else read_structs(columns, self._fields(schema))

    def _fields(self, schema: Schema) -> list[StructField]:
        found = self._fields_of.get(schema)
        if found is None:
            if len(self._fields_of) >= self.cache_size:
                self._fields_of.clear()
            found = self._fields_of[schema] = [
                StructField(
                    field.name,
                    self._field(field),
                    self._keeps_null(field.schema),
                    self._plain(field.schema),
                    self._plain(field.schema.value_schema) if _is_array(field.schema) else None,
                    self._inner(field.schema),
                )
                for field in schema.fields
            ]
        return found

    def _plain(self, schema: Schema | None) -> Plain | None:
        if schema is None:
            return None
        kind = float if schema.type is SchemaType.FLOAT64 and not _is_logical(schema) else _plain_type(schema)
        limit = 1 << BITS.get(schema.type, 1) - 1
        return None if kind is None else Plain(kind, limit, self._keeps_null(schema))

    def _keeps_null(self, schema: Schema) -> bool:
        return schema.optional and (schema.default is None or not self.defaults)

    def _inner(self, schema: Schema) -> ReadTable | None:
        """Return the function that reads structs of a field as a table, or None."""
        return partial(self.table, schema) if schema.type is SchemaType.STRUCT else None

    def read_value(self, schema: Schema, node: Node) -> Any:
        return self.reader(schema)(node)

    def _nullable(self, schema: Schema, read: Read) -> Read:
        if schema.default is not None and self.defaults:
            default = schema.default
            return lambda node: default if node is None else read(node)
        if schema.optional:
            return lambda node: None if node is None else read(node)

        def required(node: Node) -> Any:
            if node is None:
                raise DataError(f"Invalid null value for required {schema.type.name} field")
            return read(node)

        return required

    def _compile(self, schema: Schema) -> Read:
        if schema.name == DECIMAL_NAME:
            return decimal_reader(schema)
        if schema.name in DATE_NAMES:
            return self._scalars.dates[schema.name]
        match schema.type:
            case SchemaType.INT8 | SchemaType.INT16 | SchemaType.INT32 | SchemaType.INT64:
                return self._scalars.integer(schema.type)
            case SchemaType.FLOAT64:
                return self._scalars.double
            case SchemaType.FLOAT32:
                return self._scalars.float
            case SchemaType.BOOLEAN:
                return self._scalars.boolean
            case SchemaType.STRING:
                return self._scalars.string
            case SchemaType.BYTES:
                return self._scalars.bytes
            case SchemaType.ARRAY:
                return self._array(schema)
            case SchemaType.MAP:
                return self._map(schema)
            case SchemaType.STRUCT:
                return self._struct(schema)

    def _array(self, schema: Schema) -> Read:
        read_item, java = self.reader(schema.value_schema), self.java

        def read(node: Node) -> list[Any]:
            if type(node) is not list and not java:
                raise another_kind(node, "an array", "ARRAY")
            items = node if type(node) is list else node.values() if type(node) is dict else ()
            return [read_item(item) for item in items]

        return read

    def _map(self, schema: Schema) -> Read:
        assert schema.key_schema is not None
        key_type = schema.key_schema.type
        read_key, read_value = self.reader(schema.key_schema), self.reader(schema.value_schema)

        def read_object(node: Node) -> dict[str, Any]:
            if type(node) is not dict:
                raise DataError(
                    f"Maps with string fields should be encoded as JSON objects, but found {node_type(node)}"
                )
            return in_hash_order({key: read_value(item) for key, item in node.items()})

        def read_pairs(node: Node) -> dict[Any, Any]:
            if type(node) is not list:
                what = node_type(node)
                raise DataError(
                    f"Maps with non-string fields should be encoded as JSON array of tuples, but found {what}"
                )
            entries: dict[Any, Any] = {}
            for entry in node:
                if type(entry) is not list:
                    raise DataError(f"Found invalid map entry instead of array tuple: {node_type(entry)}")
                if len(entry) != 2:
                    raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
                entries[_hashable(read_key(entry[0]))] = read_value(entry[1])
            return hash_map(entries, key_type=key_type)

        return read_object if key_type is SchemaType.STRING else read_pairs

    def _struct(self, schema: Schema) -> Read:
        plan = self._fields(schema)
        fields = [(field.name, field.read if self.java else named(field.read, field.name)) for field in plan]
        names = tuple(name for name, _ in fields)
        types = [_plain_type(field.schema) for field in schema.fields]
        places = [i for i, kind in enumerate(types) if kind is None]
        others = [fields[i] for i in places]
        ranges = [(field.name, field.plain.limit) for field in plan if field.plain and field.plain.kind is int]
        read_fields = self._each_field(schema, fields)

        def read(node: Node) -> dict[str, Any]:
            if type(node) is not dict:
                raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
            if tuple(node) == names:
                kinds: list[Any] = [*map(type, node.values())]
                for place in places:
                    kinds[place] = None
                if kinds == types:
                    for name, limit in ranges:
                        if not -limit <= node[name] < limit:
                            break
                    else:
                        for name, read_field in others:
                            node[name] = read_field(node[name])
                        return node
            return read_fields(node)

        return read

    def _each_field(self, schema: Schema, fields: list[tuple[str, Read]]) -> Read:
        """The function that makes a struct of any object, field by field; a missing one is null."""

        def read(node: Any) -> dict[str, Any]:
            get = node.get
            return {name: read_field(get(name)) for name, read_field in fields}

        return read

    def _field(self, field: Field) -> Read:
        """Like the reader of its schema, but a struct refuses nulls that come from nodes of the wrong type."""
        read = self.reader(field.schema)
        check = check_inside(field.schema, f'field: "{field.name}"')
        if check is not None:
            return checked(read, check)
        if field.schema.optional or field.schema.type not in (SchemaType.STRING, SchemaType.BYTES):
            return read

        def read_required(node: Node) -> Any:
            value = read(node)
            if value is None:
                kind = field.schema.type.name
                raise DataError(f'Invalid value: null used for required field: "{field.name}", schema type: {kind}')
            return value

        return read_required


def free_reader(java: bool) -> Read:
    """Return the function for values without a schema: longs, doubles, texts, booleans, lists and maps. It changes the
    node itself.
    """
    read_double = (LENIENT if java else EXACT).double

    def read(node: Node) -> Any:
        kind = type(node)
        if kind is dict:
            for key, item in node.items():
                kind = type(item)
                if kind is not str and not (kind is int and -_LONG <= item < _LONG):
                    node[key] = read(item)
            return in_hash_order(node)
        if kind is str or kind is bool or node is None:
            return node
        if kind is int:
            if not -_LONG <= node < _LONG and not java:
                raise CoercionError("has an integer that 64 bits with a sign cannot hold")
            return node if -_LONG <= node < _LONG else wrapped(node, 64)
        if kind is list:
            return [item if type(item) is str else read(item) for item in node]
        if kind is float:
            if not -_LONG < node < _LONG:
                raise InexactError
            return node or 0.0
        return None if node is MISSING else read_double(node)

    return read


def _is_logical(schema: Schema) -> bool:
    return schema.name == DECIMAL_NAME or schema.name in DATE_NAMES


def _is_array(schema: Schema) -> bool:
    return schema.type is SchemaType.ARRAY and not _is_logical(schema)


def _plain_type(schema: Schema) -> type | None:
    """The type whose values need no more than a check of their range."""
    if _is_logical(schema):
        return None
    if schema.type in BITS:
        return int
    return {SchemaType.STRING: str, SchemaType.BOOLEAN: bool}.get(schema.type)


def _hashable(key: Any) -> Any:
    """A key that Python can look up. Java's maps take lists and maps as keys; here they are refused."""
    try:
        hash(key)
    except TypeError:
        raise DataError(f"A map can't have a {type(key).__name__} as a key here") from None
    return key

"""From Connect's schemas to JSON Schema, in the order in which Java spells them, since registries compare texts.

Java: ``JsonSchemaData.fromConnectSchema``; Everit's ``ToStringVisitor``.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import quote

from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, RecursiveSchema, Schema, SchemaType
from penstock.java.hash_map import capacity_for, copy_order, hash_order
from penstock.java.jackson.reading import dumps, literal_number, parse
from penstock.pipeline.converters.registry.json_schema.options import (
    CONNECT_INDEX,
    CONNECT_PARAMETERS,
    CONNECT_TYPE,
    CONNECT_VERSION,
    ID,
    NAMESPACE,
    NULL_SYMBOL,
    JsonSchemaOptions,
    has_object_keys,
    is_enum,
    is_union,
)
from penstock.pipeline.converters.registry.json_schema.writer import ValueWriter
from penstock.pipeline.converters.registry.mapping.type_table import JSON_SCHEMA, written_as
from penstock.pipeline.converters.registry.mapping.variant import is_variant

_NUMBERS = {kind: name for kind, name in written_as(JSON_SCHEMA).items() if name in ("integer", "number")}

_FIRST = ("type", "enum")
_SHORTEST = Decimal("0.001")
"""Smaller doubles have an exponent in Java, and keep their last zero."""

Node = dict[str, Any]


def to_json_schema(schema: Schema, options: JsonSchemaOptions) -> Node:
    """The JSON Schema of a Connect schema. Raises DataError."""
    return _Builder(options).build(schema)


class _Builder:
    def __init__(self, options: JsonSchemaOptions) -> None:
        self.options = options
        self._ids: set[str] = set()
        self._path: list[str] = []
        """Place in the document of the schema that is being built."""
        self._around: list[tuple[Schema, tuple[str, ...]]] = []
        """The schemas with parts that are being built, with their places."""
        self._values = ValueWriter(options, 100)

    def build(self, schema: Schema, index: int | None = None, ignore_optional: bool = False) -> Node:
        if isinstance(schema, RecursiveSchema):
            return self._recursive(schema, index, ignore_optional)
        own_id = schema.parameters.get(ID)
        if own_id is not None:
            self._ids.add(own_id)
        if schema.type is SchemaType.STRUCT and not is_variant(schema) and (is_union(schema) or schema.optional):
            return _shown(self._one_of(schema), {}, {}, own_id, index)
        wrapped = schema.optional and not ignore_optional
        node, props = self._inside(schema, *(("oneOf", "1") if wrapped else ()))
        described: Node = {}
        if schema.name is not None:
            described["title"] = schema.name
        if schema.doc is not None:
            described["description"] = schema.doc
        if schema.default is not None:
            described["default"] = _json(parse(dumps(self._values.writer(schema)(schema.default))))
        if schema.version is not None:
            props[CONNECT_VERSION] = schema.version
        if parameters := {key: text for key, text in schema.parameters.items() if not key.startswith(NAMESPACE)}:
            props[CONNECT_PARAMETERS] = _json({key: parameters[key] for key in hash_order(parameters)})
        if wrapped:
            inner = _shown(node, described, props)
            return _shown({"oneOf": [{"type": "null"}, inner]}, {}, {}, own_id, index)
        return _shown(node, described, props, own_id, index)

    def _one_of(self, schema: Schema) -> Node:
        branches: list[Node] = [{"type": "null"}] if schema.optional else []
        if is_union(schema):
            self._around.append((schema, tuple(self._path)))
            for place, field in enumerate(schema.fields, len(branches)):
                branches.append(self._at(("oneOf", str(place)), field.schema.with_(optional=False), field.index, True))
            self._around.pop()
        else:
            branches.append(self._at(("oneOf", "1"), schema.with_(optional=False)))
        return {"oneOf": branches}

    def _at(
        self, place: tuple[str, ...], schema: Schema, index: int | None = None, ignore_optional: bool = False
    ) -> Node:
        """Build a schema that goes to a place inside of the one that is being built."""
        self._path += place
        node = self.build(schema, index, ignore_optional)
        del self._path[-len(place) :]
        return node

    def _inside(self, schema: Schema, *place: str) -> tuple[Node, Node]:
        """Build what is inside of a schema, which goes to this place of the one that is being built."""
        self._path += place
        self._around.append((schema, tuple(self._path)))
        found = self._plain(schema)
        self._around.pop()
        del self._path[len(self._path) - len(place) :]
        return found

    def _recursive(self, schema: RecursiveSchema, index: int | None, ignore_optional: bool) -> Node:
        """Refer to a schema around this place; one that is not around it is built here."""
        places = [place for around, place in self._around if schema.same_parts(around)]
        if not places:
            return self.build(schema.plain, index, ignore_optional)
        pointer = "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in places[-1])
        node: Node = {"$ref": "#" + quote(pointer, safe="/~")}
        if schema.optional and not ignore_optional:
            node = {"oneOf": [{"type": "null"}, node]}
        return node if index is None else {**node, CONNECT_INDEX: index}

    def _plain(self, schema: Schema) -> tuple[Node, Node]:
        """Return the part that constrains values, and the properties that only Connect understands."""
        match schema.type:
            case kind if kind in _NUMBERS:
                return {"type": _NUMBERS[kind]}, {CONNECT_TYPE: kind.value}
            case SchemaType.STRUCT if is_variant(schema):
                return {}, {}
            case SchemaType.BOOLEAN:
                return {"type": "boolean"}, {}
            case SchemaType.STRING:
                return self._enum(schema) if is_enum(schema) else {"type": "string"}, {}
            case SchemaType.BYTES:
                numeric = schema.name == DECIMAL_NAME and self.options.numeric
                return {"type": "number" if numeric else "string"}, {CONNECT_TYPE: "bytes"}
            case SchemaType.ARRAY:
                return {"type": "array", "items": self._item(("items",), schema.value_schema)}, {}
            case SchemaType.MAP:
                return self._map(schema), {CONNECT_TYPE: "map"}
        return self._object(schema), {}

    def _enum(self, schema: Schema) -> Node:
        prefix = self.options.enum_parameter + "."
        symbols = [key[len(prefix) :] for key in schema.parameters if key.startswith(prefix)]
        return {"enum": [None if symbol == NULL_SYMBOL else symbol for symbol in hash_order(symbols)]}

    def _item(self, place: tuple[str, ...], schema: Schema | None, index: int | None = None) -> Node:
        if schema is None:
            raise DataError("A schema for the items of an array or map is missing")
        reference = schema.parameters.get(ID)
        if reference in self._ids:
            if isinstance(schema, RecursiveSchema) and schema.optional:  # Java refuses its nulls afterwards
                return {"oneOf": [{"type": "null"}, {"$ref": reference}]}
            return {"$ref": reference}
        return self._at(place, schema, index)

    def _map(self, schema: Schema) -> Node:
        if schema.key_schema is None or schema.value_schema is None:
            raise DataError("A schema for the keys or values of a map is missing")
        if has_object_keys(schema):
            return {"type": "object", "additionalProperties": self._at(("additionalProperties",), schema.value_schema)}
        key = self._at(("items", "properties", "key"), schema.key_schema, 0)
        entry = {"value": self._at(("items", "properties", "value"), schema.value_schema, 1), "key": key}
        return {"type": "array", "items": {"type": "object", "properties": entry}}

    def _object(self, schema: Schema) -> Node:
        node: Node = {"type": "object"}
        fields = {
            field.name: self._item(("properties", field.name), field.schema, field.index) for field in schema.fields
        }
        if fields:
            node["properties"] = {name: fields[name] for name in hash_order(fields)}
        if not self.options.object_additional_properties:
            node["additionalProperties"] = False
        return node


def _shown(node: Node, described: Node, props: Node, own_id: str | None = None, index: int | None = None) -> Node:
    """Type and what has no schemas in it; then what describes it; then what has schemas in it."""
    first = {key: value for key, value in node.items() if key in _FIRST or value is False}
    if first.get("type") == "boolean":
        first = {}
    if index is not None:
        props = {**props, CONNECT_INDEX: index}
    named = {} if own_id is None else {"id": own_id}
    return {**first, **described, **named, **{name: props[name] for name in copy_order(hash_order(props))}, **node}


def _json(node: Any) -> Any:
    """A value as org.json prints it, and Jackson what it reads of that: objects in the order of a ``HashMap``."""
    match node:
        case dict():
            return {key: _json(node[key]) for key in hash_order(node, capacity_for(len(node)))}
        case list():
            return [_json(item) for item in node]
        case Decimal():
            text = str(node)
            is_plain = "." in text and "E" not in text and not 0 < abs(node) < _SHORTEST
            return literal_number(text.rstrip("0").removesuffix(".") if is_plain else text)
    return node

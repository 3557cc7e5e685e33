"""Schemas as JSON: what stands in the ``schema`` member of JsonConverter's envelope.

Members come in the order in which Java writes them: type, the parts of containers, optional, name, version, doc,
parameters, default, and in a struct's field at last its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.errors import DataError, SchemaBuilderError
from penstock.api.schema import Field, Schema, SchemaType
from penstock.java.jackson.node import Node

_NAMES = {type: type.value for type in SchemaType} | {SchemaType.FLOAT32: "float", SchemaType.FLOAT64: "double"}
_TYPES = {name: type for type, name in _NAMES.items()}


def show_schema(schema: Schema, show_value: Callable[[Schema, Any], Any]) -> dict[str, Any]:
    """The JSON of a schema; ``show_value`` gives that of a default."""
    shown: dict[str, Any] = {"type": _NAMES[schema.type]}
    if schema.type is SchemaType.ARRAY:
        shown["items"] = _show_part(schema.value_schema, show_value)
    elif schema.type is SchemaType.MAP:
        if schema.key_schema is None:
            raise DataError("A schema of a map without a type of its keys can't be expressed in JSON")
        shown["keys"] = show_schema(schema.key_schema, show_value)
        shown["values"] = _show_part(schema.value_schema, show_value)
    elif schema.type is SchemaType.STRUCT:
        shown["fields"] = [show_schema(field.schema, show_value) | {"field": field.name} for field in schema.fields]
    shown["optional"] = schema.optional
    if schema.name is not None:
        shown["name"] = schema.name
    if schema.version is not None:
        shown["version"] = schema.version
    if schema.doc is not None:
        shown["doc"] = schema.doc
    if schema.parameters:
        shown["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        shown["default"] = show_value(schema, schema.default)
    return shown


def _show_part(schema: Schema | None, show_value: Callable[[Schema, Any], Any]) -> dict[str, Any] | None:
    """None for that of elements without a type in common, as Java's ``Values`` makes it of a header's text."""
    return None if schema is None else show_schema(schema, show_value)


def read_schema(node: Node, read_value: Callable[[Schema, Node], Any]) -> Schema | None:
    """The schema that JSON describes, None for null; ``read_value`` reads defaults. Raises DataError or
    SchemaBuilderError.
    """
    if node is None:
        return None
    members: Mapping[str, Node] = node if type(node) is dict else {}
    name = members.get("type")
    if type(name) is not str:
        raise DataError("Schema must contain 'type' field")
    if name not in _TYPES:
        raise DataError(f"Unknown schema type: {name}")
    schema = Schema(
        _TYPES[name],
        optional=members.get("optional") is True,
        name=_text(members.get("name")),
        version=_version(members.get("version")),
        doc=_text(members.get("doc")),
        parameters=_parameters(members.get("parameters")),
        **_parts(_TYPES[name], members, read_value),
    )
    if "default" not in members:
        return schema
    default = read_value(schema, members["default"])
    if schema.type is SchemaType.STRUCT and default is not None:
        # Java compares the schema of the default with the builder it was made by, which are never equal.
        raise SchemaBuilderError("Invalid default value") from DataError("Struct schemas do not match.")
    if default is None and not schema.optional:
        problem = f"Invalid value: null used for required value, schema type: {schema.type.name}"
        raise SchemaBuilderError("Invalid default value") from DataError(problem)
    return schema.with_(default=default)


def _parts(type_: SchemaType, members: Mapping[str, Node], read_value: Callable[[Schema, Node], Any]) -> dict[str, Any]:
    match type_:
        case SchemaType.ARRAY:
            if members.get("items") is None:
                raise DataError("Array schema did not specify the element type")
            return {"value_schema": read_schema(members["items"], read_value)}
        case SchemaType.MAP:
            for member, what in (("keys", "key"), ("values", "value")):
                if member not in members:
                    raise DataError(f"Map schema did not specify the {what} type")
            keys, values = (read_schema(members[member], read_value) for member in ("keys", "values"))
            if keys is None or values is None:
                raise SchemaBuilderError(f"{'key' if keys is None else 'value'}Schema cannot be null.")
            return {"key_schema": keys, "value_schema": values}
        case SchemaType.STRUCT:
            nodes = members.get("fields")
            if type(nodes) is not list:
                raise DataError('Struct schema\'s "fields" argument is not an array.')
            return {"fields": _fields(nodes, read_value)}
    return {}


def _fields(nodes: list[Node], read_value: Callable[[Schema, Node], Any]) -> tuple[Field, ...]:
    fields: dict[str, Field] = {}
    for node in nodes:
        name = node.get("field") if type(node) is dict else None
        if type(name) is not str:
            raise DataError("Struct schema's field name not specified properly")
        schema = read_schema(node, read_value)
        if not name:
            raise SchemaBuilderError("fieldName cannot be null.")
        if name in fields:
            raise SchemaBuilderError(f"Cannot create field because of field name duplication {name}")
        assert schema is not None
        fields[name] = Field(name, len(fields), schema)
    return tuple(fields.values())


def _text(node: Node) -> str | None:
    return node if type(node) is str else None


def _version(node: Node) -> int | None:
    return (node + 2**31) % 2**32 - 2**31 if type(node) is int else None


def _parameters(node: Node) -> dict[str, str]:
    if type(node) is not dict:
        return {}
    for value in node.values():
        if type(value) is not str:
            raise DataError("Schema parameters must have string values.")
    return node

"""From JSON Schema to Connect's schemas. Java: ``JsonSchemaData.toConnectSchema``."""

from __future__ import annotations

import itertools
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import STRING, Schema, SchemaType
from penstock.pipeline.converters.registry.json_schema.documents import Documents, Place
from penstock.pipeline.converters.registry.json_schema.options import (
    CONNECT_INDEX,
    CONNECT_PARAMETERS,
    CONNECT_TYPE,
    CONNECT_VERSION,
    GENERALIZED_UNION,
    ID,
    NULL_SYMBOL,
    ONE_OF,
    UNION_PREFIX,
    JsonSchemaOptions,
)
from penstock.pipeline.converters.registry.json_schema.reader import ValueReader
from penstock.pipeline.converters.registry.mapping.recursion import RecursiveSchema, reference
from penstock.pipeline.converters.registry.mapping.schema_parts import SchemaParts

_TYPES = {kind.value: kind for kind in SchemaType}
_OBJECT_WORDS = {"properties", "additionalProperties", "required", "patternProperties", "minProperties"}
_COMBINATIONS = ("oneOf", "anyOf", "allOf")


def to_connect(documents: Documents, options: JsonSchemaOptions, version: int | None = None) -> Schema:
    """The Connect schema of a JSON Schema; ``version`` is the registry's, for one that has none itself.

    Raises DataError.
    """
    return _Builder(documents, options).build(documents.root(), version)


class _Builder:
    def __init__(self, documents: Documents, options: JsonSchemaOptions) -> None:
        self.documents, self.options = documents, options
        self._open: dict[int, list[RecursiveSchema]] = {}
        self._ids, self._unions = itertools.count(1), itertools.count()

    def build(self, place: Place, version: int | None = None, optional: bool = False) -> Schema:
        node = place.node
        if "$ref" in node:
            target = self.documents.resolve(place, str(node["$ref"]))
            if id(target.node) in self._open:
                pending = reference(target.node.get("title"), optional)
                self._open[id(target.node)].append(pending)
                return pending
            return self.build(target, version, optional)
        for word in _COMBINATIONS:
            if word in node and isinstance(node[word], list):
                return self._combined(place, word, version, optional)
        if isinstance(node.get("type"), list):
            branches = [place.child({**node, "type": kind}) for kind in node["type"]]
            return self._one_of(place.child({}), branches, version, optional)
        parts = self._parts(place)
        return self._finished(parts, place, version, optional)

    def _combined(self, place: Place, word: str, version: int | None, optional: bool) -> Schema:
        node = place.node
        branches = [place.child(branch) for branch in node[word]]
        if len(branches) == 1 and self.options.flatten_singleton_unions:
            return self.build(branches[0])
        if word == "allOf":
            return self._all_of(place, branches, version, optional)
        return self._one_of(place, branches, version, optional)

    def _one_of(self, place: Place, branches: list[Place], version: int | None, optional: bool) -> Schema:
        others = [branch for branch in branches if branch.node.get("type") != "null"]
        if len(branches) == 2 and len(others) == 1:
            return self.build(others[0], version, True)
        parts = SchemaParts(SchemaType.STRUCT, name=ONE_OF)
        if self.options.generalized_sum_type_support:
            parts.name = f"{UNION_PREFIX}{next(self._unions)}"
            parts.parameters[GENERALIZED_UNION] = parts.name
        parts.optional = len(others) < len(branches)
        for index, branch in enumerate(sorted(others, key=lambda b: b.node.get(CONNECT_INDEX, 0))):
            parts.fields.append((self.options.member(ONE_OF, index), self.build(branch, None, True)))
        return self._finished(parts, place, version, optional)

    def _all_of(self, place: Place, branches: list[Place], version: int | None, optional: bool) -> Schema:
        properties: dict[str, tuple[Place, bool]] = {}
        for branch in branches:
            self._collect(branch, properties, set())
        if properties:
            parts = SchemaParts(SchemaType.STRUCT, optional=optional)
            self._open[id(place.node)] = []
            for name, (inner, required) in properties.items():
                absent = self.options.use_optional_for_nonrequired and not required
                parts.fields.append((name, self.build(inner, None, absent)))
            return self._closed(place, parts.build())
        for branch in branches:
            if any(word in branch.node for word in _COMBINATIONS):
                return self.build(branch, version, optional)
        merged: dict[str, Any] = {}
        for branch in branches:
            merged.update(branch.node)
        if "$ref" in merged or "type" in merged or "enum" in merged:
            return self.build(place.child(merged), version, optional)
        raise DataError(f"The allOf of a JSON Schema says no type: {place.node}")

    def _collect(self, place: Place, properties: dict[str, tuple[Place, bool]], seen: set[int]) -> None:
        if id(place.node) in seen:
            return
        seen.add(id(place.node))
        if "$ref" in place.node:
            self._collect(self.documents.resolve(place, str(place.node["$ref"])), properties, seen)
        for branch in place.node.get("allOf", ()):
            self._collect(place.child(branch), properties, seen)
        required = place.node.get("required", ())
        for name, inner in place.node.get("properties", {}).items():
            properties[name] = place.child(inner), name in required

    def _parts(self, place: Place) -> SchemaParts:
        node = place.node
        kind, connect = node.get("type"), node.get(CONNECT_TYPE)
        if "enum" in node and kind in (None, "string"):
            return self._enum(node["enum"])
        if "const" in node and kind is None:
            return self._enum([node["const"]])
        if kind is None and _OBJECT_WORDS & node.keys():
            kind = "object"
        if kind is None and "items" in node:
            kind = "array"
        match kind:
            case "boolean":
                return SchemaParts(SchemaType.BOOLEAN)
            case "integer" | "number":
                if connect is not None and connect not in _TYPES:
                    raise DataError(f"Unsupported type {connect}")
                plain = SchemaType.INT64 if kind == "integer" else SchemaType.FLOAT64
                return SchemaParts(plain if connect is None else _TYPES[connect])
            case "string":
                return SchemaParts(SchemaType.BYTES if connect == "bytes" else SchemaType.STRING)
            case "array":
                return self._array(place, connect)
            case "object":
                return self._map(place) if connect == "map" else self._struct(place)
        raise DataError(f"Unsupported schema type {kind}: {node}")

    def _enum(self, symbols: list[Any]) -> SchemaParts:
        parts, parameter = SchemaParts(SchemaType.STRING), self.options.enum_parameter
        parts.parameters[parameter] = ""
        for number, symbol in enumerate(symbols):
            text = NULL_SYMBOL if symbol is None else str(symbol)
            parts.parameters[f"{parameter}.{text}"] = str(number) if self.options.generalized_sum_type_support else text
        return parts

    def _array(self, place: Place, connect: Any) -> SchemaParts:
        items = place.node.get("items")
        if not isinstance(items, dict):
            raise DataError("Array schema did not specify the items type")
        properties = items.get("properties", {})
        if connect == "map" and "key" in properties and "value" in properties:
            key, value = (self.build(place.child(properties[name])) for name in ("key", "value"))
            return SchemaParts(SchemaType.MAP, key_schema=key, value_schema=value)
        return SchemaParts(SchemaType.ARRAY, value_schema=self.build(place.child(items)))

    def _map(self, place: Place) -> SchemaParts:
        values = place.node.get("additionalProperties")
        if not isinstance(values, dict):
            raise DataError("Map schema did not specify the type of its values")
        return SchemaParts(SchemaType.MAP, key_schema=STRING, value_schema=self.build(place.child(values)))

    def _struct(self, place: Place) -> SchemaParts:
        parts = SchemaParts(SchemaType.STRUCT)
        self._open[id(place.node)] = []
        by_index: dict[int, tuple[str, Any]] = {}
        for name, inner in sorted(place.node.get("properties", {}).items()):
            index = inner.get(CONNECT_INDEX) if isinstance(inner, dict) else None
            by_index[len(by_index) if index is None else int(index)] = name, inner
        required = place.node.get("required", ())
        for _, (name, inner) in sorted(by_index.items()):
            absent = self.options.use_optional_for_nonrequired and name not in required
            parts.fields.append((name, self.build(place.child(inner), None, absent)))
        return parts

    def _finished(self, parts: SchemaParts, place: Place, version: int | None, optional: bool) -> Schema:
        node = place.node
        if parts.name is None and isinstance(node.get("title"), str):
            parts.name = node["title"]
        own = node.get(CONNECT_VERSION)
        parts.version = own if isinstance(own, int) else version
        if isinstance(node.get("description"), str):
            parts.doc = node["description"]
        given = node.get(CONNECT_PARAMETERS)
        if isinstance(given, dict):
            parts.parameters.update({str(key): str(value) for key, value in given.items()})
        if node.get("default") is not None:
            parts.default = ValueReader(10).reader(parts.build())(node["default"])
        parts.optional = parts.optional or optional
        return self._closed(place, parts.build())

    def _closed(self, place: Place, schema: Schema) -> Schema:
        if pending := self._open.pop(id(place.node), None):
            schema = schema.with_(parameters={**schema.parameters, ID: f"#id{next(self._ids)}"})
            for one in pending:
                one.close(schema)
        return schema

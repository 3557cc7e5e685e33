"""From JSON Schema to Connect's schemas. Java: ``JsonSchemaData.toConnectSchema``."""

from __future__ import annotations

import itertools
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import STRING, RecursiveSchema, Schema, SchemaType
from penstock.java.jackson.reading import dumps
from penstock.pipeline.converters.registry.json_schema.documents import Documents, SchemaPlace
from penstock.pipeline.converters.registry.json_schema.options import (
    CONNECT_INDEX,
    CONNECT_PARAMETERS,
    CONNECT_TYPE,
    CONNECT_VERSION,
    GENERALIZED_UNION,
    ID,
    ONE_OF,
    UNION_PREFIX,
    JsonSchemaOptions,
    symbol_of,
)
from penstock.pipeline.converters.registry.json_schema.pieces import COMBINATIONS, java_name, kind, members, pieces
from penstock.pipeline.converters.registry.json_schema.reader import ValueReader
from penstock.pipeline.converters.registry.mapping.schemas import PartCount, SchemaParts
from penstock.pipeline.converters.registry.mapping.variant import VARIANT_FIELDS, VARIANT_NAME

_TYPES = {kind.value: kind for kind in SchemaType}
_MODERN = ("https://json-schema.org/draft/20", "http://json-schema.org/draft/20")


def to_connect(documents: Documents, options: JsonSchemaOptions, version: int | None = None) -> Schema:
    """The Connect schema of a JSON Schema; ``version`` is the registry's, for one that has none itself.

    Raises DataError.
    """
    return _Builder(documents, options).build(documents.root(), version)


class _Builder:
    def __init__(self, documents: Documents, options: JsonSchemaOptions) -> None:
        self.documents, self.options = documents, options
        self._count = PartCount()
        self._open: dict[int, list[RecursiveSchema]] = {}
        self._ids, self._unions = itertools.count(1), itertools.count()
        self._modern = str(documents.root().node.get("$schema")).startswith(_MODERN)

    def build(self, place: SchemaPlace, version: int | None = None, optional: bool = False) -> Schema:
        node = place.node
        self._count.add()
        if id(node) in self._open:
            pending = RecursiveSchema(optional)
            self._open[id(node)].append(pending)
            return pending
        several = pieces(node, self._modern)
        if len(several) > 1:
            return self._all_of(place, [place.child(piece) for piece in several], version, optional)
        if "$ref" in node:
            return self.build(self.documents.resolve(place, str(node["$ref"])), version, optional)
        what = kind(node, self._modern)
        if what in COMBINATIONS:
            return self._combined(place, what, version, optional)
        return self._finished(self._parts(place, what), place, version, optional)

    def _combined(self, place: SchemaPlace, word: str, version: int | None, optional: bool) -> Schema:
        inner = [place.child(branch) for branch in members(place.node, word)]
        if len(inner) == 1 and self.options.flatten_singleton_unions:
            return self.build(inner[0])
        if word == "allOf":
            return self._all_of(place, inner, version, optional)
        return self._one_of(place, inner, version, optional)

    def _one_of(self, place: SchemaPlace, branches: list[SchemaPlace], version: int | None, optional: bool) -> Schema:
        others = [branch for branch in branches if kind(branch.node, self._modern) != "null"]
        if len(branches) == 2 and len(others) == 1:
            return self.build(others[0], version, True)
        self._open[id(place.node)] = []
        parts = SchemaParts(SchemaType.STRUCT, name=ONE_OF)
        if self.options.generalized_sum_type_support:
            parts.name = f"{UNION_PREFIX}{next(self._unions)}"
            parts.parameters[GENERALIZED_UNION] = parts.name
        parts.optional = len(others) < len(branches)
        for index, branch in enumerate(sorted(others, key=lambda b: b.node.get(CONNECT_INDEX, 0))):
            parts.fields.append((self.options.member(ONE_OF, index), self.build(branch, None, True)))
        return self._finished(parts, place, version, optional)

    def _all_of(self, place: SchemaPlace, branches: list[SchemaPlace], version: int | None, optional: bool) -> Schema:
        properties: dict[str, tuple[SchemaPlace, bool]] = {}
        for branch in branches:
            self._collect(branch, properties, set())
        if not properties:
            return self.build(self._chosen(place, branches), version, optional)
        parts = SchemaParts(SchemaType.STRUCT, optional=optional)
        self._open[id(place.node)] = []
        for name, (inner, required) in properties.items():
            absent = self.options.use_optional_for_nonrequired and not required
            parts.fields.append((name, self.build(inner, None, absent)))
        return self._closed(place, parts.build())

    def _chosen(self, place: SchemaPlace, branches: list[SchemaPlace]) -> SchemaPlace:
        """The one of several schemas that says the type, if none has properties."""
        by_kind: dict[str, SchemaPlace] = {}
        for branch in branches:
            what = kind(branch.node, self._modern) or ""
            by_kind["combined" if what in COMBINATIONS else "number" if what == "integer" else what] = branch
        text, number = by_kind.get("string"), by_kind.get("number")
        found: SchemaPlace | None
        if "combined" in by_kind:
            found = by_kind["combined"]
        elif "const" in by_kind:
            found = text or number
        elif "enum" in by_kind:
            found = by_kind["enum"] if text else number
        else:
            found = (number or text) if text else by_kind.get("$ref")
        if found is None:
            raise DataError(f"Unsupported criterion allOf for {dumps(place.node).decode()}")
        return found

    def _collect(self, place: SchemaPlace, properties: dict[str, tuple[SchemaPlace, bool]], seen: set[int]) -> None:
        """The properties of all that must hold at once. ``seen`` has the targets of references."""
        several = pieces(place.node, self._modern)
        if len(several) > 1:
            for piece in several:
                self._collect(place.child(piece), properties, seen)
        elif "$ref" in place.node:
            target = self.documents.resolve(place, str(place.node["$ref"]))
            if id(target.node) not in seen:
                seen.add(id(target.node))
                self._collect(target, properties, seen)
        elif (what := kind(place.node, self._modern)) == "allOf":
            for branch in members(place.node, what):
                self._collect(place.child(branch), properties, seen)
        elif what == "object":
            required = place.node.get("required", ())
            for name, inner in place.node.get("properties", {}).items():
                properties[name] = place.child(inner), name in required

    def _parts(self, place: SchemaPlace, what: str | None) -> SchemaParts:
        node, connect = place.node, place.node.get(CONNECT_TYPE)
        match what:
            case "enum":
                return self._enum(node["enum"])
            case "const":
                return self._enum([node["const"]])
            case "boolean":
                return SchemaParts(SchemaType.BOOLEAN)
            case "integer" | "number":
                if connect is not None and connect not in _TYPES:
                    raise DataError(f"Unsupported type {connect}")
                plain = SchemaType.INT64 if what == "integer" else SchemaType.FLOAT64
                return SchemaParts(plain if connect is None else _TYPES[connect])
            case "string":
                return SchemaParts(SchemaType.BYTES if connect == "bytes" else SchemaType.STRING)
            case "array":
                return self._array(place, connect)
            case "object":
                return self._map(place) if connect == "map" else self._struct(place)
            case None:
                fields = [(field.name, field.schema) for field in VARIANT_FIELDS]
                return SchemaParts(SchemaType.STRUCT, name=VARIANT_NAME, fields=fields)
        raise DataError(f"Unsupported schema type {java_name(what)}")

    def _enum(self, symbols: list[Any]) -> SchemaParts:
        parts, parameter = SchemaParts(SchemaType.STRING), self.options.enum_parameter
        parts.parameters[parameter] = ""
        for number, symbol in enumerate(symbols):
            text = symbol_of(symbol)
            parts.parameters[f"{parameter}.{text}"] = str(number) if self.options.generalized_sum_type_support else text
        return parts

    def _array(self, place: SchemaPlace, connect: Any) -> SchemaParts:
        items = place.node.get("items")
        if not isinstance(items, dict):
            raise DataError("Array schema did not specify the items type")
        properties = items.get("properties", {})
        self._open[id(place.node)] = []
        if connect == "map" and "key" in properties and "value" in properties:
            key, value = (self.build(place.child(properties[name])) for name in ("key", "value"))
            return SchemaParts(SchemaType.MAP, key_schema=key, value_schema=value)
        return SchemaParts(SchemaType.ARRAY, value_schema=self.build(place.child(items)))

    def _map(self, place: SchemaPlace) -> SchemaParts:
        values = place.node.get("additionalProperties")
        if not isinstance(values, dict):
            raise DataError("Map schema did not specify the type of its values")
        self._open[id(place.node)] = []
        return SchemaParts(SchemaType.MAP, key_schema=STRING, value_schema=self.build(place.child(values)))

    def _struct(self, place: SchemaPlace) -> SchemaParts:
        parts = SchemaParts(SchemaType.STRUCT)
        self._open[id(place.node)] = []
        properties = sorted(place.node.get("properties", {}).items())
        taken = {int(inner[CONNECT_INDEX]) for _, inner in properties if _has_index(inner)}
        by_index: dict[int, tuple[str, Any]] = {}
        for name, inner in properties:
            # Java loses a property if another one has its index.
            if not _has_index(inner) or (index := int(inner[CONNECT_INDEX])) in by_index:
                index = next(i for i in itertools.count(len(by_index)) if i not in taken and i not in by_index)
            by_index[index] = name, inner
        required = place.node.get("required", ())
        for _, (name, inner) in sorted(by_index.items()):
            absent = self.options.use_optional_for_nonrequired and name not in required
            parts.fields.append((name, self._property(name, place, inner, absent)))
        return parts

    def _property(self, name: str, place: SchemaPlace, inner: Any, optional: bool) -> Schema:
        """The schema of a property; an error names it."""
        try:
            return self.build(place.child(inner), None, optional)
        except DataError as error:
            raise DataError(f"Property {name}: {error}") from error

    def _finished(self, parts: SchemaParts, place: SchemaPlace, version: int | None, optional: bool) -> Schema:
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
        schema = self._closed(place, parts.build())
        if "default" in node and not (self._modern and node["default"] is None):
            schema = schema.with_(default=ValueReader(10, inside=True, java=True).reader(schema)(node["default"]))
        return schema.with_(optional=True) if optional else schema

    def _closed(self, place: SchemaPlace, schema: Schema) -> Schema:
        if pending := self._open.pop(id(place.node), None):
            schema = schema.with_(parameters={**schema.parameters, ID: f"#id{next(self._ids)}"})
            for one in pending:
                one.close(schema)
        return schema


def _has_index(node: Any) -> bool:
    return isinstance(node, dict) and node.get(CONNECT_INDEX) is not None

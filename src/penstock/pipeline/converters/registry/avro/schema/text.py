"""Avro schemas as JSON: read with all their names resolved, and written to the byte as Avro's Java library does.

Texts are compared by registries, so the order of attributes matters. Java: ``Schema.Parser``, ``Schema.toString``.
"""

from __future__ import annotations

import re
from typing import Any

from penstock.api.errors import DataError
from penstock.java.errors import JsonError
from penstock.java.jackson.reading import dumps, loads, number
from penstock.pipeline.converters.registry.avro.schema.model import (
    NAMED,
    NULL_DEFAULT,
    PRIMITIVES,
    AvroField,
    AvroType,
    Name,
    check_word,
    union,
)

_RESERVED = {
    "record": {"type", "name", "namespace", "doc", "fields", "aliases"},
    "error": {"type", "name", "namespace", "doc", "fields", "aliases"},
    "enum": {"type", "name", "namespace", "doc", "symbols", "default", "aliases"},
    "fixed": {"type", "name", "namespace", "doc", "size", "aliases"},
    "array": {"type", "items"},
    "map": {"type", "values"},
}
_ESCAPED = re.compile(r"\\\\|\\u(D[89AB][0-9A-F]{2})\\u(D[C-F][0-9A-F]{2})")
_FIELD_WORDS = {"name", "type", "doc", "default", "order", "aliases"}


def parse(text: str, known: dict[str, AvroType] | None = None) -> AvroType:
    """The schema of a text. ``known`` has the named types it may refer to, by full name; its own ones are added.

    Raises DataError for a text that is no Avro schema.
    """
    try:
        node = loads(text.encode())
    except JsonError:
        if text not in PRIMITIVES:
            raise DataError(f"This is no Avro schema: {text}") from None
        node = text
    return _Reader({} if known is None else known).type(node, None)


class _Reader:
    def __init__(self, known: dict[str, AvroType]) -> None:
        self.known = known

    def type(self, node: Any, space: str | None) -> AvroType:
        match node:
            case str():
                return self._named(node, space)
            case list():
                return union([self.type(branch, space) for branch in node])
            case {"type": str(kind)} if kind in _RESERVED:
                return self._complex("record" if kind == "error" else kind, node, space)
            case {"type": str(kind)} if kind in PRIMITIVES:
                return AvroType(kind, {key: value for key, value in node.items() if key != "type"})
            case {"type": nested}:
                return self.type(nested, space)
        raise DataError(f"No type in the Avro schema: {node}")

    def _named(self, name: str, space: str | None) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        for full in (name,) if "." in name or not space else (f"{space}.{name}", name):
            if full in self.known:
                return self.known[full]
        raise DataError(f'Undefined name: "{name}"')

    def _complex(self, kind: str, node: dict[str, Any], space: str | None) -> AvroType:
        found = AvroType(kind, {key: value for key, value in node.items() if key not in _RESERVED[kind]})
        match kind:
            case "array":
                found.items = self.type(_required(node, "items", kind), space)
                return found
            case "map":
                found.items = self.type(_required(node, "values", kind), space)
                return found
        given = node.get("namespace")
        found.name = Name.of(str(_required(node, "name", kind)), space if given is None else str(given))
        if found.name.full in self.known:
            raise DataError(f"Can't redefine: {found.name.full}")
        self.known[found.name.full] = found
        doc = node.get("doc")
        found.doc = doc if isinstance(doc, str) else None
        found.aliases = list(node.get("aliases", ()))
        match kind:
            case "enum":
                found.symbols = list(_required(node, "symbols", kind))
                found.default_symbol = node.get("default")
            case "fixed":
                found.size = int(_required(node, "size", kind))
            case _:
                found.fields = [self._field(field, found.name.space) for field in _required(node, "fields", kind)]
        return found

    def _field(self, node: Any, space: str | None) -> AvroField:
        if not isinstance(node, dict):
            raise DataError(f"A field of an Avro record is no JSON object: {node}")
        doc = node.get("doc")
        kind = self.type(_required(node, "type", "field"), space)
        default = NULL_DEFAULT if "default" in node and node["default"] is None else node.get("default")
        if isinstance(default, str) and kind.kind in ("float", "double"):
            default = _number(default)
        return AvroField(
            check_word(str(_required(node, "name", "field"))),
            kind,
            doc if isinstance(doc, str) else None,
            default,
            {key: value for key, value in node.items() if key not in _FIELD_WORDS},
            node.get("order"),
            list(node.get("aliases", ())),
        )


def _number(text: str) -> float:
    """The default of a field that is spelled as a text, as those are that JSON has no number for."""
    try:
        return float(text)
    except ValueError as error:
        raise DataError(f"The default of a field is no number: {text}") from error


def _required(node: dict[str, Any], key: str, kind: str) -> Any:
    if key not in node:
        raise DataError(f"No {key} in the Avro {kind}: {node}")
    return node[key]


def show(schema: AvroType) -> str:
    """The text of a schema, a named type in full where it comes first, and by its name from then on.

    Raises DataError if two types of one name are written differently: Java would register the first of them only, and
    nobody could read what has the second.
    """
    return _ESCAPED.sub(_character, dumps(_Writer().type(schema, None)).decode())


def _character(found: re.Match[str]) -> str:
    """Avro's library does not escape characters beyond 16 bits."""
    high, low = found[1], found[2]
    if high is None:
        return found[0]
    return (bytes.fromhex(high) + bytes.fromhex(low)).decode("utf-16-be")


class _Writer:
    def __init__(self) -> None:
        self.written: dict[str, AvroType] = {}

    def type(self, schema: AvroType, space: str | None) -> Any:
        match schema.kind:
            case "union":
                return [self.type(branch, space) for branch in schema.branches]
            case "array":
                return {"type": "array", "items": self.type(schema.item, space), **_json(schema.props)}
            case "map":
                return {"type": "map", "values": self.type(schema.item, space), **_json(schema.props)}
            case kind if kind in NAMED:
                return self._named(schema, space)
        return {"type": schema.kind, **_json(schema.props)} if schema.props else schema.kind

    def _named(self, schema: AvroType, space: str | None) -> Any:
        name = schema.name
        assert name is not None
        if (known := self.written.get(name.full)) is not None:
            if not same_layout(known, schema, set()):
                raise DataError(f"Two types of the Avro schema have the name {name.full}, but not the same fields")
            return name.simple if name.space == space else name.full
        self.written[name.full] = schema
        shown: dict[str, Any] = {"type": schema.kind, "name": name.simple}
        if name.space != space:
            shown["namespace"] = name.space or ""
        if schema.doc is not None:
            shown["doc"] = schema.doc
        match schema.kind:
            case "enum":
                shown["symbols"] = schema.symbols
                if schema.default_symbol is not None:
                    shown["default"] = schema.default_symbol
            case "fixed":
                shown["size"] = schema.size
            case _:
                shown["fields"] = [self._field(field, name.space) for field in schema.fields]
        return {**shown, **_json(schema.props)}

    def _field(self, field: AvroField, space: str | None) -> dict[str, Any]:
        shown = {"name": field.name, "type": self.type(field.type, space)}
        if field.doc is not None:
            shown["doc"] = field.doc
        if field.default is not None:
            shown["default"] = None if field.default is NULL_DEFAULT else _json(field.default)
        return {**shown, **_json(field.props)}


def same_layout(one: AvroType, other: AvroType, compared: set[tuple[int, int]]) -> bool:
    """Whether values of both types are encoded as the same bytes; the types may differ in all else."""
    if one is other or (id(one), id(other)) in compared:
        return True
    compared.add((id(one), id(other)))
    if (one.kind, one.full_name, one.symbols, one.size) != (other.kind, other.full_name, other.symbols, other.size):
        return False
    if [field.name for field in one.fields] != [field.name for field in other.fields]:
        return False
    mine = [*one.branches, *(field.type for field in one.fields), *([one.items] if one.items else [])]
    theirs = [*other.branches, *(field.type for field in other.fields), *([other.items] if other.items else [])]
    return len(mine) == len(theirs) and all(same_layout(a, b, compared) for a, b in zip(mine, theirs, strict=True))


def _json(value: Any) -> Any:
    """A value for ``dumps``: doubles spelled as Java spells them."""
    match value:
        case float():
            return number(value)
        case dict():
            return {key: _json(item) for key, item in value.items()}
        case list():
            return [_json(item) for item in value]
    return value

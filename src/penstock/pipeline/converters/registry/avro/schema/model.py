"""An Avro schema as objects: named types are one object wherever they are used, so recursion is a cycle of references.

Java: ``org.apache.avro.Schema``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import DataError

NAMED = frozenset(("record", "enum", "fixed"))
PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
NULL_DEFAULT: Any = type("NullDefault", (), {"__repr__": lambda self: "null"})()
"""The default of a field whose ``default`` is JSON's null; None is a field without a default."""
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a record, an enum or a fixed."""

    simple: str
    space: str | None = None

    @classmethod
    def of(cls, name: str, space: str | None = None) -> Name:
        """A name with dots carries its own namespace. Raises DataError for a name that Avro does not allow."""
        own, dot, simple = name.rpartition(".")
        if not _WORD.fullmatch(simple):
            raise DataError(f"Illegal character in: {name}" if simple else "Empty name")
        found = cls(simple, (own if dot else space) or None)
        if found.full in PRIMITIVES:
            raise DataError(f"Schemas may not be named after primitives: {name}")
        return found

    @property
    def full(self) -> str:
        return f"{self.space}.{self.simple}" if self.space else self.simple


@dataclass(slots=True, eq=False)
class AvroType:
    """One type. Which attributes have a meaning follows from ``kind``, the word that Avro's JSON has for it."""

    kind: str
    props: dict[str, Any] = field(default_factory=dict)
    name: Name | None = None
    doc: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    default_symbol: str | None = None
    size: int = 0
    items: AvroType | None = None
    """Type of the items of an array or of the values of a map."""
    branches: list[AvroType] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        """Return the full name; for an unnamed type its kind."""
        return self.name.full if self.name else self.kind

    @property
    def item(self) -> AvroType:
        assert self.items is not None
        return self.items

    def field(self, name: str) -> AvroField | None:
        return next((f for f in self.fields if f.name == name), None)

    def text_prop(self, name: str) -> str | None:
        """The property if it is a text."""
        found = self.props.get(name)
        return found if isinstance(found, str) else None


@dataclass(slots=True, eq=False)
class AvroField:
    name: str
    type: AvroType
    doc: str | None = None
    default: Any = None
    """JSON; None without a default, ``NULL_DEFAULT`` for a null."""
    props: dict[str, Any] = field(default_factory=dict)
    order: str | None = None
    aliases: list[str] = field(default_factory=list)


def parts(avro: AvroType) -> Iterator[AvroType]:
    """A type and all types in it, each once."""
    waiting, seen = [avro], {id(avro)}
    while waiting:
        part = waiting.pop()
        yield part
        inner = [*part.branches, *(field.type for field in part.fields), *([part.items] if part.items else [])]
        for other in inner:
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)


def check_word(name: str) -> str:
    """The name of a field or symbol; raises DataError if Avro does not allow it."""
    if not _WORD.fullmatch(name):
        raise DataError(f"Illegal character in: {name}" if name else "Empty name")
    return name


def union(branches: list[AvroType]) -> AvroType:
    """Raises DataError for two branches that a value could not be told apart by."""
    seen: set[str] = set()
    for branch in branches:
        if branch.kind == "union":
            raise DataError(f"Nested union: {[b.full_name for b in branches]}")
        if branch.full_name in seen:
            raise DataError(f"Duplicate in union:{branch.full_name}")
        seen.add(branch.full_name)
    return AvroType("union", branches=branches)


def valid_default(kind: AvroType, value: Any) -> bool:
    """Whether this JSON may be the default of a field of this type. Java: ``Schema.isValidDefault``."""
    if value is NULL_DEFAULT:
        value = None
    match kind.kind:
        case "string" | "bytes" | "enum" | "fixed":
            return isinstance(value, str)
        case "int":
            return _is_integer(value, 31)
        case "long":
            return _is_integer(value, 63)
        case "float" | "double":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list) and all(valid_default(kind.item, item) for item in value)
        case "map":
            return isinstance(value, dict) and all(valid_default(kind.item, item) for item in value.values())
        case "union":
            return any(valid_default(branch, value) for branch in kind.branches)
        case _:
            return isinstance(value, dict) and all(_valid_field(f, value) for f in kind.fields)


def _valid_field(field: AvroField, record: Mapping[str, Any]) -> bool:
    if field.name in record:
        return valid_default(field.type, record[field.name])
    return field.default is not None and valid_default(field.type, field.default)


def _is_integer(value: Any, bits: int) -> bool:
    return type(value) is int and -(1 << bits) <= value < 1 << bits

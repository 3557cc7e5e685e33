"""An Avro schema in the form in which fastavro does no more than the bytes: without logical types, docs and defaults.

The bytes are those of the original. What fastavro would have to guess is said instead: a branch of a union that is not
told by its Python type becomes a record with one field, which adds no byte, and is named where it is read or written.
"""

from __future__ import annotations

import itertools
from typing import Any

from penstock.pipeline.converters.registry.avro.schema.model import AvroType

BRANCH = "v"
"""The one field of the record that stands for a branch."""
_TOLD_BY_TYPE = frozenset(("boolean", "int", "long", "float", "double", "bytes", "string"))


def branch_name(union: AvroType, index: int) -> str:
    """The name of the record that stands for a branch of this union."""
    return f"U{id(union)}_{index}"


def is_nullable(avro: AvroType) -> bool:
    """Whether a union is one type or null."""
    return len(avro.branches) == 2 and any(branch.kind == "null" for branch in avro.branches)


def other_branch(avro: AvroType) -> int:
    """Return the branch of a nullable type that is not null."""
    return 1 if avro.branches[0].kind == "null" else 0


def is_wrapped(avro: AvroType, writing: bool) -> bool:
    """Whether the branches of a union that are not null are read, or written, as named records."""
    if len(avro.branches) == 1:
        return False
    if is_nullable(avro):
        return writing and avro.branches[other_branch(avro)].kind not in _TOLD_BY_TYPE
    return True


def for_fastavro(avro: AvroType, writing: bool) -> Any:
    """Return the schema as ``fastavro.parse_schema`` takes it."""
    return _Maker(writing).make(avro)


class _Maker:
    def __init__(self, writing: bool) -> None:
        self.writing = writing
        self._names: dict[int, str] = {}
        self._numbers = itertools.count()

    def make(self, avro: AvroType) -> Any:
        match avro.kind:
            case "array":
                return {"type": "array", "items": self.make(avro.item)}
            case "map":
                return {"type": "map", "values": self.make(avro.item)}
            case "union":
                return self._union(avro)
            case "record" | "enum" | "fixed":
                return self._named(avro)
        return avro.kind

    def _union(self, avro: AvroType) -> list[Any]:
        if not is_wrapped(avro, self.writing):
            return [self.make(branch) for branch in avro.branches]
        if id(avro) in self._names:
            return ["null" if branch.kind == "null" else branch_name(avro, i) for i, branch in enumerate(avro.branches)]
        self._names[id(avro)] = ""
        return [
            "null"
            if branch.kind == "null"
            else {
                "type": "record",
                "name": branch_name(avro, index),
                "fields": [{"name": BRANCH, "type": self.make(branch)}],
            }
            for index, branch in enumerate(avro.branches)
        ]

    def _named(self, avro: AvroType) -> Any:
        if id(avro) in self._names:
            return self._names[id(avro)]
        name = self._names[id(avro)] = f"N{next(self._numbers)}"
        made: dict[str, Any] = {"type": avro.kind, "name": name}
        match avro.kind:
            case "enum":
                made["symbols"] = avro.symbols
            case "fixed":
                made["size"] = avro.size
            case _:
                made["fields"] = [{"name": field.name, "type": self.make(field.type)} for field in avro.fields]
        return made

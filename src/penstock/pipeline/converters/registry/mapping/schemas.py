"""Connect schemas under construction, and schemas that contain themselves. Java: ``SchemaBuilder``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import Field, Schema, SchemaType


@dataclass(slots=True)
class SchemaParts:
    """Schema under construction; ``build`` returns it."""

    type: SchemaType
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    optional: bool = False
    default: Any = None
    parameters: dict[str, str] = field(default_factory=dict)
    fields: list[tuple[str, Schema]] = field(default_factory=list)
    key_schema: Schema | None = None
    value_schema: Schema | None = None

    @classmethod
    def like(cls, schema: Schema) -> SchemaParts:
        """The parts of a schema that has no fields."""
        return cls(schema.type, schema.name, schema.version, schema.doc, parameters=dict(schema.parameters))

    def set_name(self, name: str) -> None:
        if self.name is not None and self.name != name:
            raise DataError(
                f"Mismatched names: name already added to SchemaBuilder ({self.name}) differs from name in source "
                f"schema ({name})"
            )
        self.name = name

    def set_version(self, version: int) -> None:
        if self.version is not None and self.version != version:
            raise DataError(
                f"Mismatched versions: version already added to SchemaBuilder ({self.version}) differs from version "
                f"in source schema ({version})"
            )
        self.version = version

    def build(self) -> Schema:
        names = [name for name, _ in self.fields]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"Cannot create field because of field name duplication {twice}")
        return Schema(
            self.type,
            self.optional,
            self.name,
            self.version,
            self.doc,
            self.default,
            self.parameters,
            tuple(Field(name, i, schema) for i, (name, schema) in enumerate(self.fields)),
            self.key_schema,
            self.value_schema,
        )


BITS = {SchemaType.INT8: 7, SchemaType.INT16: 15, SchemaType.INT32: 31, SchemaType.INT64: 63}
"""Bits of each integer type, without the sign."""
KINDS: dict[SchemaType, type] = {
    **dict.fromkeys(BITS, int),
    SchemaType.FLOAT64: float,
    SchemaType.BOOLEAN: bool,
    SchemaType.STRING: str,
}


class RecursiveSchema(Schema):
    """A struct that is a struct around it. It has no fields until ``close`` says which struct it is.

    Two of them are equal if name, version and the names of the fields are; the whole is compared by the struct around.
    """

    __slots__ = ()

    def close(self, target: Schema) -> None:
        object.__setattr__(self, "fields", target.fields)
        object.__setattr__(self, "parameters", target.parameters)
        self._by_name.update((f.name, f) for f in target.fields)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, RecursiveSchema)
            and (self.name, self.optional, self.version) == (other.name, other.optional, other.version)
            and [f.name for f in self.fields] == [f.name for f in other.fields]
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"RecursiveSchema({self.name!r}, optional={self.optional})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reference, (self.name, self.optional, self.version), {"fields": self.fields}

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "fields", state["fields"])
        self._by_name.update((f.name, f) for f in self.fields)


def _reference(name: str | None, optional: bool, version: int | None) -> RecursiveSchema:
    return RecursiveSchema(SchemaType.STRUCT, optional, name, version)


def reference(name: str | None, optional: bool) -> RecursiveSchema:
    """A reference that is yet to be closed."""
    return _reference(name, optional, None)

"""Connect schemas under construction. Java: ``SchemaBuilder``."""

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


class PartCount:
    """Counts the parts of a schema that is being built, each type once for each of its uses.

    Forty types that use each other twice are more parts than any memory holds.
    """

    __slots__ = ("_parts",)
    MAX_PARTS = 100_000

    def __init__(self) -> None:
        self._parts = 0

    def add(self) -> None:
        """Count a part. Raises DataError if there are too many."""
        self._parts += 1
        if self._parts > self.MAX_PARTS:
            raise DataError(f"The schema has more than {self.MAX_PARTS} parts, each type counted for each of its uses")


BITS = {SchemaType.INT8: 7, SchemaType.INT16: 15, SchemaType.INT32: 31, SchemaType.INT64: 63}
"""Bits of each integer type, without the sign."""
KINDS: dict[SchemaType, type] = {
    **dict.fromkeys(BITS, int),
    SchemaType.FLOAT64: float,
    SchemaType.BOOLEAN: bool,
    SchemaType.STRING: str,
}

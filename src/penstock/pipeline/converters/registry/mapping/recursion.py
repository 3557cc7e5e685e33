"""Connect schemas that contain themselves: a reference to an enclosing struct, which stands for it.

Avro, Protobuf and JSON Schema have recursive types; Connect's builders make none, but nothing that goes along with
values minds a schema whose field leads back to it. Java: ``CyclicSchemaWrapper``.
"""

from __future__ import annotations

from typing import Any

from penstock.api.schema import Schema, SchemaType


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

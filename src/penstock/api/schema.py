"""Connect's data model: the schemas of keys, values and headers.

Values are plain Python: ints, floats, ``str``, ``bytes``, ``list``, and ``dict`` for maps and structs alike; the schema
that distinguishes them is passed beside the value. A key that is missing from a struct's ``dict`` is null.
A schema is immutable and may be shared between any number of records and threads; two schemas are equal if all
their attributes are. Names, versions and logical types are those of Java's ``org.apache.kafka.connect.data``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any


class SchemaType(enum.Enum):
    """The kind of values that a schema describes, by Connect's names."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def primitive(self) -> bool:
        """Whether values are not made of other values."""
        return self not in (SchemaType.ARRAY, SchemaType.MAP, SchemaType.STRUCT)


Type = SchemaType
"""The same, by its name within this module."""

NO_PARAMETERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct: its name, its index (from 0) and the schema of its values."""

    name: str
    index: int
    schema: Schema


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """The type and attributes of values. Use the constants and functions of this module to make one."""

    type: SchemaType
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    default: Any = None
    parameters: Mapping[str, str] = field(default_factory=lambda: NO_PARAMETERS)
    fields: tuple[Field, ...] = ()
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    _by_name: dict[str, Field] = field(init=False, repr=False, default_factory=dict)
    _hash: int = field(init=False, repr=False, default=0)

    def __post_init__(self) -> None:
        self._by_name.update((f.name, f) for f in self.fields)
        fields = tuple((f.name, f.schema) for f in self.fields)
        object.__setattr__(
            self,
            "_hash",
            hash((self.type, self.optional, self.name, self.version, fields, self.key_schema, self.value_schema)),
        )

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema) or self._hash != other._hash:
            return False
        return (
            self.type is other.type
            and self.optional == other.optional
            and self.name == other.name
            and self.version == other.version
            and self.doc == other.doc
            and _same_default(self.default, other.default)
            and self.parameters == other.parameters
            and self.fields == other.fields
            and self.key_schema == other.key_schema
            and self.value_schema == other.value_schema
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (
            self.type,
            self.optional,
            self.name,
            self.version,
            self.doc,
            self.default,
            dict(self.parameters),
            self.fields,
            self.key_schema,
            self.value_schema,
        )

    def field(self, name: str) -> Field | None:
        """Return the field of this name; None if there is none, or this is not a struct."""
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def with_(self, **changes: Any) -> Schema:
        """Return the same schema with these attributes changed, e.g. ``INT64.with_(optional=True, default=0)``."""
        return replace(self, **changes)


def _same_default(one: Any, other: Any) -> bool:
    """Compare defaults as Java does: NaN is the same as NaN, and 0.0 is not -0.0."""
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)
    return bool(one == other)


def _restore(*parts: Any) -> Schema:
    return Schema(*parts)


INT8, INT16, INT32, INT64 = (
    Schema(SchemaType.INT8),
    Schema(SchemaType.INT16),
    Schema(SchemaType.INT32),
    Schema(SchemaType.INT64),
)
FLOAT32, FLOAT64 = Schema(SchemaType.FLOAT32), Schema(SchemaType.FLOAT64)
BOOLEAN, STRING, BYTES = Schema(SchemaType.BOOLEAN), Schema(SchemaType.STRING), Schema(SchemaType.BYTES)
OPTIONAL_INT8, OPTIONAL_INT16 = Schema(SchemaType.INT8, optional=True), Schema(SchemaType.INT16, optional=True)
OPTIONAL_INT32, OPTIONAL_INT64 = Schema(SchemaType.INT32, optional=True), Schema(SchemaType.INT64, optional=True)
OPTIONAL_FLOAT32, OPTIONAL_FLOAT64 = (
    Schema(SchemaType.FLOAT32, optional=True),
    Schema(SchemaType.FLOAT64, optional=True),
)
OPTIONAL_BOOLEAN, OPTIONAL_STRING = Schema(SchemaType.BOOLEAN, optional=True), Schema(SchemaType.STRING, optional=True)
OPTIONAL_BYTES = Schema(SchemaType.BYTES, optional=True)


def struct(*fields: tuple[str, Schema], **attributes: Any) -> Schema:
    """Make the schema of a struct of (name, schema) pairs, such as ``struct(("id", INT64), name="user")``.

    ``attributes`` are those of Schema.
    """
    return Schema(SchemaType.STRUCT, fields=tuple(Field(n, i, s) for i, (n, s) in enumerate(fields)), **attributes)


def array(items: Schema, **attributes: Any) -> Schema:
    """Make the schema of lists of such items; attributes as of Schema."""
    return Schema(SchemaType.ARRAY, value_schema=items, **attributes)


def map_of(keys: Schema, values: Schema, **attributes: Any) -> Schema:
    """Make the schema of maps; attributes as of Schema."""
    return Schema(SchemaType.MAP, key_schema=keys, value_schema=values, **attributes)


DECIMAL_NAME = "org.apache.kafka.connect.data.Decimal"
DATE_NAME = "org.apache.kafka.connect.data.Date"
TIME_NAME = "org.apache.kafka.connect.data.Time"
TIMESTAMP_NAME = "org.apache.kafka.connect.data.Timestamp"


def decimal(scale: int, **attributes: Any) -> Schema:
    """Make the schema of decimal numbers with this many digits after the point; values are ``decimal.Decimal``."""
    return Schema(SchemaType.BYTES, name=DECIMAL_NAME, version=1, parameters={"scale": str(scale)}, **attributes)


DATE = Schema(SchemaType.INT32, name=DATE_NAME, version=1)
"""A day without time or zone; values are ``datetime.date``."""
TIME = Schema(SchemaType.INT32, name=TIME_NAME, version=1)
"""A time of day, to the millisecond; values are ``datetime.time`` without a zone."""
TIMESTAMP = Schema(SchemaType.INT64, name=TIMESTAMP_NAME, version=1)
"""A moment, to the millisecond; values are ``datetime.datetime`` in UTC."""

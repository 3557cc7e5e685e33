"""Connect's data model: the schemas of keys, values and headers.

Values are plain Python: ints, floats, ``str``, ``bytes``, ``list``, and ``dict`` for maps and structs alike; the schema
that distinguishes them is passed beside the value. A key that is missing from a struct's ``dict`` is null.
A schema is immutable and may be shared between any number of records and threads; two schemas are equal if all
their attributes are. Names, versions and logical types are those of Java's ``org.apache.kafka.connect.data``.
"""

from __future__ import annotations

import copyreg
import enum
import threading
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
        hash(self)

    def __hash__(self) -> int:
        if not self._hash:  # it is computed later than other attributes are restored
            fields = tuple((f.name, f.schema) for f in self.fields)
            parts = (self.type, self.optional, self.name, self.version, fields, self.key_schema, self.value_schema)
            object.__setattr__(self, "_hash", hash(parts))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Schema) or hash(self) != hash(other):
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
        # Attributes are restored after the object exists, as a schema that contains itself needs.
        attributes = {name: getattr(self, name) for name in _ATTRIBUTES}
        return copyreg.__newobj__, (type(self),), {**attributes, "parameters": dict(self.parameters)}  # type: ignore[attr-defined]

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name in _ATTRIBUTES:
            object.__setattr__(self, name, state[name])
        object.__setattr__(self, "_by_name", {})
        object.__setattr__(self, "_hash", 0)

    def field(self, name: str) -> Field | None:
        """Return the field of this name; None if there is none, or this is not a struct."""
        if len(self._by_name) < len(self.fields):
            self._by_name.update((f.name, f) for f in self.fields)
        return self._by_name.get(name)

    def same_parts(self, other: Schema) -> bool:
        """Whether both share their fields or items, as a ``RecursiveSchema`` does with the schema it stands for."""
        return (
            self.fields is other.fields
            and self.key_schema is other.key_schema
            and self.value_schema is other.value_schema
        )

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


_ATTRIBUTES = (
    "type",
    "optional",
    "name",
    "version",
    "doc",
    "default",
    "parameters",
    "fields",
    "key_schema",
    "value_schema",
)


class RecursiveSchema(Schema):
    """A schema inside of the schema that it stands for: the ``next`` of a list is a ``RecursiveSchema`` of the list.

    Converters with a schema registry make them, as Avro, Protobuf and JSON Schema have types that contain themselves.
    Type, fields and all else are those of ``target``, but for what differs in this place, such as ``optional``. Code
    that follows schemas into their fields comes to no end unless it stops here: read values with ``target`` when a
    value is there, or refuse the schema (``path_to_itself`` names the field). Java: ``CyclicSchemaWrapper`` of
    Confluent's converters.

    Two of them are equal if what differs is, and their targets are, followed as deep as they differ.
    """

    __slots__ = ("_knot", "_own")
    _own: Mapping[str, Any]
    """The attributes that differ from those of the target."""
    _knot: _Knot

    def __init__(self, optional: bool = False) -> None:
        self._set({"optional": optional, "default": None}, _Knot())

    def _set(self, own: Mapping[str, Any], knot: _Knot) -> None:
        object.__setattr__(self, "_own", own)
        object.__setattr__(self, "_knot", knot)

    def close(self, target: Schema) -> None:
        """Say which schema it stands for, which is complete now. Called once, by what has made it."""
        self._knot.target = target

    @property
    def target(self) -> Schema:
        """The schema that it stands for."""
        target = self._knot.target
        if target is None:
            raise ValueError("The schema that contains this one is not complete yet")
        return target

    @property
    def plain(self) -> Schema:
        """The schema of the values in this place, as one that is not recursive itself."""
        return self.target.with_(**self._own)

    @property
    def is_closed(self) -> bool:
        """Whether ``target`` is known."""
        return self._knot.target is not None

    def field(self, name: str) -> Field | None:
        """Return the target's field of this name; None if there is none."""
        return self.target.field(name)

    def with_(self, **changes: Any) -> Schema:
        """Return the same with these attributes changed; without its fields, keys or items it is recursive no more."""
        if not changes.keys().isdisjoint(("type", "fields", "key_schema", "value_schema")):
            return self.target.with_(**{**self._own, **changes})
        changed = RecursiveSchema()
        changed._set({**self._own, **changes}, self._knot)
        return changed

    def __hash__(self) -> int:
        return hash(RecursiveSchema)  # the same before it is closed

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, RecursiveSchema):
            return False
        if self._knot is other._knot:
            return self._own == other._own
        if not (self.is_closed and other.is_closed) or any(
            getattr(self, name) != getattr(other, name) for name in ("optional", "name", "version", "doc", "parameters")
        ):
            return False
        if not _same_default(self.default, other.default):
            return False
        return self.target is other.target or _equal_targets(self.target, other.target)

    def __repr__(self) -> str:
        name = getattr(self._knot.target, "name", None)
        return f"RecursiveSchema({name!r}, optional={self._own['optional']})"

    def __reduce__(self) -> tuple[Any, ...]:
        return RecursiveSchema, (), (dict(self._own), self._knot)

    def __setstate__(self, state: Any) -> None:
        self._set(*state)


@dataclass(slots=True, eq=False)
class _Knot:
    """Holder of a schema, shared by all references to it."""

    target: Schema | None = None


def _attribute(name: str) -> property:
    def get(schema: RecursiveSchema) -> Any:
        own = schema._own
        return own[name] if name in own else getattr(schema._knot.target or _UNKNOWN, name)

    return property(get)


_UNKNOWN = Schema(SchemaType.STRUCT)
for _name in _ATTRIBUTES:
    setattr(RecursiveSchema, _name, _attribute(_name))


_comparing = threading.local()


def _equal_targets(one: Schema, other: Schema) -> bool:
    """Compare schemas that contain themselves: a pair that is being compared is taken to be equal."""
    pairs: set[tuple[int, int]] | None = getattr(_comparing, "pairs", None)
    if pairs is not None:
        if (id(one), id(other)) in pairs:
            return True
        pairs.add((id(one), id(other)))
        return one == other
    _comparing.pairs = {(id(one), id(other))}
    try:
        return one == other
    finally:
        _comparing.pairs = None


def path_to_itself(schema: Schema) -> str | None:
    """Return the path of the first field whose schema is one around it, such as ``data.fields{}``; None without one.

    Names are joined by points; ``[]`` stands for the items of an array, ``{}`` for the values of a map.
    """
    if isinstance(schema, RecursiveSchema):
        schema = schema.target
    return _path(schema, "")


def _path(schema: Schema, path: str) -> str | None:
    if isinstance(schema, RecursiveSchema):
        return path
    parts: list[tuple[str, Schema | None]] = [
        (f"{path}.{each.name}" if path else each.name, each.schema) for each in schema.fields
    ]
    is_map = schema.type is SchemaType.MAP
    parts += [(f"{path} (key)", schema.key_schema), (f"{path}{'{}' if is_map else '[]'}", schema.value_schema)]
    return next((found for at, part in parts if part is not None and (found := _path(part, at)) is not None), None)


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

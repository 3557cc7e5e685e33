"""Structs to Protobuf's bytes column by column, without a message object for each.

It only has to be right about values that fit their schema: at anything else its functions raise an exception, and the
values are written one by one. Fields that it has no code for are written as messages of that field alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

from penstock.api.columns import Table
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.pipeline.converters.registry.mapping.pieces import (
    Encode,
    EncodeStructs,
    Piece,
    columns,
    is_constant,
    joined,
    nullable,
    of_kind,
    within,
)
from penstock.pipeline.converters.registry.mapping.schemas import BITS
from penstock.pipeline.converters.registry.mapping.varints import Lengths, varint, varints
from penstock.pipeline.converters.registry.protobuf.options import is_union

Plan = Callable[[str, Schema, Any], tuple[str, str, Any, Callable[[Any], Any]]]
"""For a field of a struct and the message that it goes to: its name, that of the message's field, the default, and what
makes the message's value.
"""

_DOUBLE, _FLOAT, _INT64, _INT32, _BOOL, _STRING, _MESSAGE, _BYTES = 1, 2, 3, 5, 8, 9, 11, 12
_LOGICAL = frozenset((DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME))
_INTEGERS = {_INT32: 31, _INT64: 63}
_WIRE_TYPES = {_DOUBLE: 1, _FLOAT: 5, _STRING: 2, _BYTES: 2, _MESSAGE: 2}
_LENGTHS = Lengths(1)


def column_writer(schema: Schema, message: Any, plan: Plan, class_of: Callable[[Any], Any]) -> EncodeStructs | None:
    """For structs of this schema as messages; None if they can't be taken apart into columns."""
    return _Compiler(plan, class_of).struct(schema, message)


@dataclass(slots=True)
class _Compiler:
    plan: Plan
    class_of: Callable[[Any], Any]
    open: set[str] = field(default_factory=set)
    """The messages being compiled, by name."""

    def struct(self, schema: Schema, message: Any) -> EncodeStructs | None:
        if schema.type is not SchemaType.STRUCT or is_union(schema) or message.full_name in self.open:
            return None
        if any(is_union(inner.schema) for inner in schema.fields):
            return None
        self.open.add(message.full_name)
        found = [self._field(inner.name, inner.schema, message) for inner in schema.fields]
        self.open.remove(message.full_name)
        found.sort(key=lambda entry: entry[0])  # Protobuf writes in the order of the numbers
        names, writers = [name for _, name, _ in found], [write for _, _, write in found]

        def encode(values: Sequence[Any] | Table) -> list[Piece]:
            pieces: list[Piece] = []
            for write, column in zip(writers, columns(names, values), strict=True):
                pieces += write(column)
            return pieces

        return encode

    def _field(self, name: str, schema: Schema, message: Any) -> tuple[int, str, Encode]:
        _, target_name, default, change = self.plan(name, schema, message)
        target = message.fields_by_name[target_name]
        encode = None if schema.name in _LOGICAL else self._value(schema, target)
        if encode is None:
            write = _alone(self.class_of(message), target_name, change)
        else:
            tag = varint(target.number << 3 | _WIRE_TYPES.get(target.type, 0))
            write = nullable(encode, tag, b"") if target.has_presence else _without_zeros(encode, tag)
        if default is None:
            return target.number, name, write
        return target.number, name, lambda column: write([default if value is None else value for value in column])

    def _value(self, schema: Schema, target: Any) -> Encode | None:
        """For values that are not null; None without code for them."""
        if target.is_repeated:
            return None
        match schema.type:
            case SchemaType.INT8 | SchemaType.INT16 | SchemaType.INT32 | SchemaType.INT64:
                bits = BITS[schema.type]
                return _integers(bits) if bits <= _INTEGERS.get(target.type, 0) else None
            case SchemaType.FLOAT64 if target.type == _DOUBLE:
                return _floats(Struct("<d"))
            case SchemaType.FLOAT32 if target.type == _FLOAT:
                return _floats(Struct("<f"))
            case SchemaType.BOOLEAN if target.type == _BOOL:
                return _booleans
            case SchemaType.STRING if target.type == _STRING:
                return _texts
            case SchemaType.BYTES if target.type == _BYTES:
                return _binary
            case SchemaType.STRUCT if target.type == _MESSAGE:
                inner = self.struct(schema, target.message_type)
                return None if inner is None else _messages(inner)
        return None


def _alone(kind: Any, name: str, change: Callable[[Any], Any]) -> Encode:
    """The field by a message that has no other."""

    def encode(column: Sequence[Any]) -> list[Piece]:
        return [[b"" if v is None else kind(**{name: change(v)}).SerializeToString() for v in column]]

    return encode


def _without_zeros(encode: Encode, tag: bytes) -> Encode:
    """For a field that is left out if it is null, zero, false or empty."""
    write = nullable(encode, tag, b"")

    def pieces(column: Sequence[Any]) -> list[Piece]:
        if all(column):
            return [tag, *encode(column)]
        if float in set(map(type, column)):  # a zero with a sign is written
            return write([value if value or str(value) == "-0.0" else None for value in column])
        return write([value or None for value in column])

    return pieces


def _integers(bits: int) -> Encode:
    def encode(column: Sequence[Any]) -> list[Piece]:
        of_kind(int, column)
        within(bits, column)
        if min(column) < 0:
            column = [value & 0xFFFFFFFFFFFFFFFF for value in column]
        return varints(column)

    return encode


def _floats(form: Struct) -> Encode:
    def encode(column: Sequence[Any]) -> list[Piece]:
        of_kind(float, column)
        return [list(map(form.pack, column))]

    return encode


def _booleans(column: Sequence[Any]) -> list[Piece]:
    of_kind(bool, column)
    return [[b"\1" if value else b"\0" for value in column]]


def _texts(column: Sequence[Any]) -> list[Piece]:
    of_kind(str, column)
    constant = is_constant(column)
    return _LENGTHS.before([column[0].encode()] * len(column) if constant else list(map(str.encode, column)))


def _binary(column: Sequence[Any]) -> list[Piece]:
    of_kind(bytes, column)
    return _LENGTHS.before(column)


def _messages(inner: Encode) -> Encode:
    return lambda column: _LENGTHS.before(joined(inner(column), len(column)))

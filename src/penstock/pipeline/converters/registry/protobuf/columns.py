"""Messages of plain fields from Protobuf's bytes to columns, all messages in lockstep.

It serves messages whose fields are numbers, booleans, texts, bytes and open enums, in the order of their numbers, each
at most once, as all libraries write them. At anything else it raises an exception, and the messages are parsed one by
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.pipeline.converters.registry.mapping.varints import varint
from penstock.pipeline.converters.registry.protobuf.files import field_proto
from penstock.pipeline.converters.registry.protobuf.to_connect import is_repeated, plain_fields, real_oneofs
from penstock.values.packed import PackedNumbers

if TYPE_CHECKING:
    from penstock.pipeline.converters.registry.mapping.lockstep import Lockstep, Read

Columns = Callable[[Sequence[bytes], int], "dict[str, Sequence[Any]]"]

MIN_MESSAGES = 48
"""Fewer messages are read faster one by one."""
_REQUIRED = 2
_DOUBLE, _FLOAT, _INT64, _UINT64, _INT32, _FIXED64, _FIXED32, _BOOL, _STRING = range(1, 10)
_BYTES, _UINT32, _ENUM, _SFIXED32, _SFIXED64, _SINT32, _SINT64 = range(12, 19)
_FIXED = {_DOUBLE: "<f8", _FIXED64: "<u8", _SFIXED64: "<i8", _FLOAT: "<f4", _FIXED32: "<u4", _SFIXED32: "<i4"}
_NUMBERS = frozenset((_INT64, _UINT64, _INT32, _BOOL, _UINT32, _ENUM, _SINT32, _SINT64))


def column_reader(message: Any, absent: frozenset[str] | set[str]) -> Columns | None:
    """A function that reads messages of this type, by the names of fields; None if it has other fields.

    Fields of ``absent`` are None where they are missing, others have their defaults.
    """
    fields = sorted(plain_fields(message), key=lambda field: int(field.number))
    if not fields or real_oneofs(message) or not all(map(_is_plain, fields)):
        return None
    readers: list[tuple[str, Read]] = []

    def read(messages: Sequence[bytes], start: int) -> dict[str, Sequence[Any]]:
        # A topic with few records needs no numpy.
        from penstock.pipeline.converters.registry.mapping.lockstep import Lockstep

        if not readers:
            readers[:] = [(field.name, _field(field, field.name in absent)) for field in fields]
        step = Lockstep(messages, start)
        found = {name: each(step) for name, each in readers}
        if (step.at != step.ends).any():
            raise ValueError("other fields, or another order")
        return found

    return read


def _is_plain(field: Any) -> bool:
    if is_repeated(field) or field_proto(field).label == _REQUIRED:
        return False
    if field.type == _ENUM:
        return not getattr(field.enum_type, "is_closed", True)
    return field.type in _FIXED or field.type in _NUMBERS or field.type in (_STRING, _BYTES)


def _field(field: Any, may_be_absent: bool) -> Read:
    wire = 2 if field.type in (_STRING, _BYTES) else 0 if field.type in _NUMBERS else 1
    if wire == 1 and _FIXED[field.type][-1] == "4":
        wire = 5
    tag = varint(field.number << 3 | wire)
    value, other = _value(field.type), None if may_be_absent else field.default_value

    def tagged(step: Lockstep) -> Sequence[Any]:
        step.at = step.at + len(tag)
        return value(step)

    def read(step: Lockstep) -> Sequence[Any]:
        there = step.at < step.ends
        for place, byte in enumerate(tag):
            there &= step.bytes[step.at + place] == byte
        return step.some(there, tagged, other)

    return read


def _value(type: int) -> Read:
    from penstock.pipeline.converters.registry.mapping.lockstep import zigzag

    if type in _FIXED:
        kind = _FIXED[type]
        return lambda step: PackedNumbers(step.fixed(kind))
    reads: dict[int, Read] = {
        _STRING: lambda step: step.texts_in_utf_8(step.varints(32)),
        _BYTES: lambda step: step.slices(step.varints(32)),
        _INT64: lambda step: PackedNumbers(step.varints().view("i8")),
        _UINT64: lambda step: PackedNumbers(step.varints()),
        _INT32: lambda step: PackedNumbers(step.varints().astype("u4").view("i4")),
        _ENUM: lambda step: PackedNumbers(step.varints().astype("u4").view("i4")),
        _UINT32: lambda step: PackedNumbers(step.varints().astype("u4")),
        _BOOL: lambda step: (step.varints() != 0).tolist(),
        _SINT32: lambda step: PackedNumbers(zigzag(step.varints().astype("u4").astype("u8"))),
        _SINT64: lambda step: PackedNumbers(zigzag(step.varints())),
    }
    return reads[type]

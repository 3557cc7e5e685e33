"""Records of plain fields from Avro's bytes to columns, all messages in lockstep.

It serves records whose fields are numbers, booleans, texts, bytes, enums and fixed, such records, or any of those or
null; and it only has to be right about bytes that are well formed: at anything else it raises, and the messages are
read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.avro.schema.fastavro_schema import is_nullable, other_branch
from penstock.pipeline.converters.registry.avro.schema.model import AvroType
from penstock.values.packed import PackedNumbers

if TYPE_CHECKING:
    from penstock.pipeline.converters.registry.mapping.lockstep import Lockstep, Read

Change = Callable[[Any], Any]
Changes = Callable[[AvroType, Schema], "list[Change | None]"]
"""Returns the changes of a record's fields."""

MIN_MESSAGES = 24
"""Fewer messages are read faster one by one."""
_PLAIN = frozenset(("int", "long", "string", "bytes", "boolean", "double", "float", "fixed", "enum"))


def table_reader(
    avro: AvroType, schema: Schema, changes: Changes, to_the_end: bool
) -> Callable[[Sequence[bytes], int], Table | None] | None:
    """A function that reads messages of this record as a table; None if it has other fields.

    ``changes`` gives what makes Connect's values of those read, None for a field that does not need it. The function
    raises an exception, or gives None, if the messages must be read one by one.
    """
    if not _is_plain(avro):
        return None
    readers: list[Callable[[Lockstep], Table]] = []

    def read(messages: Sequence[bytes], start: int) -> Table | None:
        if len(messages) < MIN_MESSAGES:
            return None
        # A topic with few records needs no numpy.
        from penstock.pipeline.converters.registry.mapping.lockstep import Lockstep

        if not readers:
            readers.append(_record(avro, schema, changes))
        step = Lockstep(messages, start)
        found = readers[0](step)
        if ((step.at != step.ends) if to_the_end else (step.at > step.ends)).any():
            raise ValueError("another length")
        return found

    return read


def _is_plain(avro: AvroType, around: tuple[AvroType, ...] = ()) -> bool:
    """Whether values of this type, in these records, can be read in lockstep."""
    if avro.kind == "union":
        return is_nullable(avro) and _is_plain(avro.branches[other_branch(avro)], around)
    if avro.kind == "record":
        fields = avro.fields if not any(avro is each for each in around) else []
        return bool(fields) and all(_is_plain(field.type, (*around, avro)) for field in fields)
    return avro.kind in _PLAIN


def _record(avro: AvroType, schema: Schema, changes: Changes) -> Callable[[Lockstep], Table]:
    names = [field.name for field in schema.fields]
    columns = [
        _field(field.type, target.schema, change, changes)
        for field, target, change in zip(avro.fields, schema.fields, changes(avro, schema), strict=True)
    ]
    return lambda step: Table(names, [each(step) for each in columns])


def _field(avro: AvroType, schema: Schema, change: Change | None, changes: Changes) -> Read:
    """Return a function that reads a field and changes its values; a record's fields are changed separately."""
    if avro.kind == "union":
        other = other_branch(avro)
        return _nullable(_field(avro.branches[other], schema, change, changes), 2 * other)
    if avro.kind == "record":
        return _record(avro, schema, changes)
    read = _value(avro)
    return read if change is None else lambda step: list(map(change, read(step)))


def _nullable(read: Read, there: int) -> Read:
    def nullable(step: Lockstep) -> Sequence[Any]:
        branch = step.one_byte()
        if ((branch != 0) & (branch != 2)).any():
            raise ValueError("no such branch")
        return step.some(branch == there, read, None)

    return nullable


def _value(avro: AvroType) -> Read:
    from penstock.pipeline.converters.registry.mapping.lockstep import zigzag

    def lengths(step: Lockstep) -> Any:
        found = step.varints(32)
        if (found & 1).any():
            raise ValueError("a negative length")
        return found >> 1

    def booleans(step: Lockstep) -> list[Any]:
        found = step.one_byte()
        if (found > 1).any():
            raise ValueError("no boolean")
        return (found == 1).tolist()

    match avro.kind:
        case "int":
            return lambda step: PackedNumbers(zigzag(step.varints(32)))
        case "long":
            return lambda step: PackedNumbers(zigzag(step.varints()))
        case "string":
            return lambda step: step.texts(lengths(step))
        case "bytes":
            return lambda step: step.slices(lengths(step))
        case "boolean":
            return booleans
        case "double" | "float":
            kind = "<f8" if avro.kind == "double" else "<f4"
            return lambda step: PackedNumbers(step.fixed(kind))
        case "fixed":
            return lambda step: step.slices(step.at * 0 + avro.size)
        case _:
            symbols = tuple(avro.symbols)
            return lambda step: [symbols[number] for number in lengths(step).tolist()]

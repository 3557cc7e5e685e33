"""Records of plain fields from Avro's bytes to columns, all messages in lockstep.

It serves records whose fields are numbers, booleans, texts, bytes, enums and fixed, or those or null; and it only has
to be right about bytes that are well formed: at anything else it raises, and the messages are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.avro.fastavro_schema import is_nullable, other_branch
from penstock.pipeline.converters.registry.avro.model import AvroType

if TYPE_CHECKING:
    from penstock.pipeline.converters.registry.mapping.lockstep import Lockstep, Read

Change = Callable[[Any], Any]

FEWEST = 24
"""Fewer messages are read faster one by one."""
_PLAIN = frozenset(("int", "long", "string", "bytes", "boolean", "double", "float", "fixed", "enum"))


def table_reader(
    avro: AvroType, schema: Schema, changes: Sequence[Change | None], to_the_end: bool
) -> Callable[[Sequence[bytes], int], Table | None] | None:
    """A function that reads messages of this record as a table; None if it has other fields.

    ``changes`` make Connect's values of those read, None being one that a field does not need. The function raises an
    exception, or gives None, if the messages must be read one by one.
    """
    if not avro.fields or not all(_is_plain(field.type) for field in avro.fields):
        return None
    names = [field.name for field in schema.fields]
    readers: list[Read] = []

    def read(messages: Sequence[bytes], start: int) -> Table | None:
        if len(messages) < FEWEST:
            return None
        # A topic with few records needs no numpy.
        from penstock.pipeline.converters.registry.mapping.lockstep import Lockstep

        if not readers:
            readers[:] = [_field(field.type) for field in avro.fields]
        step = Lockstep(messages, start)
        found = [each(step) for each in readers]
        if ((step.at != step.ends) if to_the_end else (step.at > step.ends)).any():
            raise ValueError("another length")
        return Table(names, [
            column if change is None else list(map(change, column))
            for column, change in zip(found, changes, strict=True)
        ])  # fmt: skip

    return read


def _is_plain(avro: AvroType) -> bool:
    if avro.kind == "union":
        return is_nullable(avro) and avro.branches[other_branch(avro)].kind in _PLAIN
    return avro.kind in _PLAIN


def _field(avro: AvroType) -> Read:
    if avro.kind != "union":
        return _value(avro)
    other = other_branch(avro)
    read = _value(avro.branches[other])

    def nullable(step: Lockstep) -> list[Any]:
        branch = step.one_byte()
        if ((branch != 0) & (branch != 2)).any():
            raise ValueError("no such branch")
        return step.some(branch == 2 * other, read, None)

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
            return lambda step: zigzag(step.varints(32)).tolist()
        case "long":
            return lambda step: zigzag(step.varints()).tolist()
        case "string":
            return lambda step: step.texts(lengths(step))
        case "bytes":
            return lambda step: step.slices(lengths(step))
        case "boolean":
            return booleans
        case "double" | "float":
            kind = "<f8" if avro.kind == "double" else "<f4"
            return lambda step: step.fixed(kind).tolist()
        case "fixed":
            return lambda step: step.slices(step.at * 0 + avro.size)
        case _:
            symbols = tuple(avro.symbols)
            return lambda step: [symbols[number] for number in lengths(step).tolist()]

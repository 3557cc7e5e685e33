"""Payloads that would exhaust the stack or the memory of the process that reads them: found before fastavro, which has
no bounds, sees them.

Only two kinds of schema allow a few bytes to do that: those of a type that contains itself, and those of arrays whose
items take no byte. Payloads of these are gone through once more.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.api.errors import SerializationError
from penstock.pipeline.converters.registry.avro.schema.model import AvroType, parts

MAX_EMPTY_ITEMS = 1_000_000
"""Maximum length of an array whose items take no bytes."""
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}

Skip = Callable[[bytes, int], int]
"""The place after a value. Raises SerializationError for a value beyond the bounds, IndexError for bytes that end too
early.
"""


def bounds(avro: AvroType) -> Skip | None:
    """Return a check of values of this type, or None if there is nothing to check."""
    arrays = [part for part in parts(avro) if part.kind == "array" and _is_empty(part.item, ())]
    if not arrays and not any(_contains_itself(part) for part in parts(avro) if part.kind == "record"):
        return None
    skip = _Compiler().skip(avro)

    def check(data: bytes, start: int) -> int:
        try:
            return skip(data, start)
        except RecursionError:
            raise SerializationError("The value is nested too deeply") from None

    return check


def _contains_itself(record: AvroType) -> bool:
    return any(part is record for field in record.fields for part in parts(field.type))


def _is_empty(avro: AvroType, seen: tuple[int, ...]) -> bool:
    """Whether values of this type take no byte."""
    match avro.kind:
        case "null":
            return True
        case "fixed":
            return avro.size == 0
        case "record":
            inner = (*seen, id(avro))
            return id(avro) not in seen and all(_is_empty(field.type, inner) for field in avro.fields)
    return False


class _Compiler:
    def __init__(self) -> None:
        self._records: dict[int, list[Skip]] = {}
        """By identity: how the fields of a record are skipped."""

    def skip(self, avro: AvroType) -> Skip:
        match avro.kind:
            case "int" | "long" | "enum":
                return lambda data, at: _number(data, at)[1]
            case "string" | "bytes":
                return _skip_bytes
            case "fixed":
                return _forward(avro.size)
            case "union":
                branches = [self.skip(branch) for branch in avro.branches]
                return lambda data, at: _skip_union(branches, data, at)
            case "array":
                return _blocks(self.skip(avro.item), _is_empty(avro.item, ()))
            case "map":
                value = self.skip(avro.item)
                return _blocks(lambda data, at: value(data, _skip_bytes(data, at)), False)
            case "record":
                return self._record(avro)
        return _forward(_SIZES[avro.kind])

    def _record(self, avro: AvroType) -> Skip:
        fields = self._records.get(id(avro))
        if fields is None:
            fields = self._records[id(avro)] = []
            fields += [self.skip(field.type) for field in avro.fields]
        found = fields

        def skip(data: bytes, at: int) -> int:
            for each in found:
                at = each(data, at)
            return at

        return skip


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value >> 1 ^ -(value & 1), at
        if shift > 63:
            raise SerializationError("A number has more than 64 bits")


def _forward(size: int) -> Skip:
    return lambda data, at: _checked(data, at + size)


def _checked(data: bytes, end: int) -> int:
    if end > len(data):
        raise IndexError("the bytes end too early")
    return end


def _skip_bytes(data: bytes, at: int) -> int:
    size, at = _number(data, at)
    if size < 0:
        raise SerializationError(f"{size} is no length")
    return _checked(data, at + size)


def _skip_union(branches: list[Skip], data: bytes, at: int) -> int:
    index, at = _number(data, at)
    if not 0 <= index < len(branches):
        raise SerializationError(f"A union has no branch {index}")
    return branches[index](data, at)


def _blocks(item: Skip, empty: bool) -> Skip:
    def skip(data: bytes, at: int) -> int:
        total = 0
        while True:
            count, at = _number(data, at)
            if count == 0:
                return at
            if count < 0:
                count = -count
                _, at = _number(data, at)
            total += count
            if empty:
                if total > MAX_EMPTY_ITEMS:
                    raise SerializationError(
                        f"An array has {total} items that take no byte, at most {MAX_EMPTY_ITEMS} may"
                    )
                continue
            for _ in range(count):
                at = item(data, at)

    return skip

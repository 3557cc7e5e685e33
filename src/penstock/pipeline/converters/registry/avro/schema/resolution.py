"""Values that were written with one Avro schema as those of another: Avro's schema resolution, compiled once per pair.

It changes what fastavro has read with the writer's schema into what it would read with the reader's. Where the two do
not fit, the function raises for the values concerned, as Java does. Java: ``org.apache.avro.Resolver``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api.errors import SerializationError
from penstock.java.numbers import float32, float32_of
from penstock.pipeline.converters.registry.avro.schema.fastavro_schema import (
    BRANCH,
    branch_name,
    is_nullable,
    is_wrapped,
    other_branch,
)
from penstock.pipeline.converters.registry.avro.schema.model import (
    NAMED,
    NULL_DEFAULT,
    AvroField,
    AvroType,
    valid_default,
)

Change = Callable[[Any], Any]
_PROMOTIONS: dict[tuple[str, str], Change | None] = {
    ("int", "long"): None,
    ("int", "float"): lambda value: float32(float(value)),
    ("int", "double"): float,
    ("long", "float"): float32_of,
    ("long", "double"): float,
    ("float", "double"): None,
    ("string", "bytes"): lambda value: value.encode(),
    ("bytes", "string"): lambda value: value.decode("utf-8", "replace"),
}


def resolution(writer: AvroType, reader: AvroType) -> Change | None:
    """The function for values of these schemas; None if they stay as they are."""
    return _Resolver().change(writer, reader)


class _Resolver:
    def __init__(self) -> None:
        self._records: dict[tuple[int, int], list[Change]] = {}
        """The functions of records that are being compiled; empty until there is one."""

    def change(self, writer: AvroType, reader: AvroType) -> Change | None:
        if writer.kind == "union":
            return self._of_union(writer, reader)
        if reader.kind == "union":
            return self._to_union(writer, reader)
        if (writer.kind, reader.kind) in _PROMOTIONS:
            return _PROMOTIONS[writer.kind, reader.kind]
        if writer.kind != reader.kind:
            return _misfit(writer, reader)
        match writer.kind:
            case "array" | "map":
                return self._items(writer, reader)
            case "record":
                return self._record(writer, reader)
            case "enum":
                return _enum(writer, reader) if same_name(writer, reader) else _misfit(writer, reader)
            case "fixed" if writer.size != reader.size or not same_name(writer, reader):
                return _misfit(writer, reader)
        return None

    def _of_union(self, writer: AvroType, reader: AvroType) -> Change | None:
        changes = [self.change(branch, reader) or _same for branch in writer.branches]
        nulls = [change for branch, change in zip(writer.branches, changes, strict=True) if branch.kind == "null"]
        if not is_wrapped(writer, writing=False):
            other = changes[other_branch(writer) if is_nullable(writer) else 0]
            return lambda value: nulls[0](value) if value is None and nulls else other(value)
        by_name = {branch_name(writer, index): change for index, change in enumerate(changes)}
        return lambda value: nulls[0](value) if value is None else by_name[value[0]](value[1][BRANCH])

    def _to_union(self, writer: AvroType, reader: AvroType) -> Change | None:
        index = _branch(writer, reader)
        if index is None:
            return _misfit(writer, reader)
        change = self.change(writer, reader.branches[index])
        if writer.kind == "null" or not is_wrapped(reader, writing=False):
            return change
        name, finish = branch_name(reader, index), change or _same
        return lambda value: (name, {BRANCH: finish(value)})

    def _items(self, writer: AvroType, reader: AvroType) -> Change | None:
        change = self.change(writer.item, reader.item)
        if change is None:
            return None
        finish = change
        if writer.kind == "array":
            return lambda items: [finish(item) for item in items]
        return lambda items: {key: finish(item) for key, item in items.items()}

    def _record(self, writer: AvroType, reader: AvroType) -> Change:
        place = id(writer), id(reader)
        if place in self._records:
            known = self._records[place]
            return lambda value: known[0](value)
        holder = self._records[place] = []
        fields: list[tuple[str, str | None, Change]] = []
        for field in reader.fields:
            source = _source(field, writer)
            if source is None:
                fields.append((field.name, None, _default(field, writer)))
            else:
                fields.append((field.name, source.name, self.change(source.type, field.type) or _same))

        def record(value: dict[str, Any]) -> dict[str, Any]:
            return {name: change(None if given is None else value[given]) for name, given, change in fields}

        holder.append(record)
        return record


def same_name(writer: AvroType, reader: AvroType) -> bool:
    """Whether two named types are of one simple name, or the reader's has an alias that is the writer's name."""
    assert reader.name is not None
    assert writer.name is not None
    space = reader.name.space
    aliases = {alias if "." in alias or not space else f"{space}.{alias}" for alias in reader.aliases}
    return reader.name.simple == writer.name.simple or writer.full_name in aliases


def _source(field: AvroField, writer: AvroType) -> AvroField | None:
    """The writer's field that a field of the reader's is read from."""
    return next((other for name in (field.name, *field.aliases) if (other := writer.field(name)) is not None), None)


def _branch(writer: AvroType, reader: AvroType) -> int | None:
    """The branch of the reader's union for a type that is none: of the same kind and name, or the first that fits."""
    kinds = list(enumerate(reader.branches))
    for index, branch in kinds:
        if branch.kind == writer.kind and (branch.kind not in NAMED or branch.full_name == writer.full_name):
            return index
    for index, branch in kinds:
        if branch.kind == writer.kind and (branch.kind == "record" or same_name(writer, branch)):
            return index
    return next((index for index, branch in kinds if (writer.kind, branch.kind) in _PROMOTIONS), None)


def _enum(writer: AvroType, reader: AvroType) -> Change | None:
    known = frozenset(reader.symbols)
    if known.issuperset(writer.symbols):
        return None

    def symbol(value: str) -> str:
        if value in known:
            return value
        if reader.default_symbol is None:
            raise SerializationError(f"No match for {value} in the Avro enum {reader.full_name}")
        return reader.default_symbol

    return symbol


def _default(field: AvroField, writer: AvroType) -> Change:
    if field.default is None:
        message = f"Found {writer.full_name}, which lacks the field {field.name} of the schema it is read as"

        def missing(value: Any) -> Any:
            raise SerializationError(f"{message}; the field has no default")

        return missing
    return lambda value: _value(field.type, field.default)


def _value(avro: AvroType, default: Any) -> Any:
    """Return the value that fastavro would read where the default's JSON is this."""
    if default is NULL_DEFAULT:
        default = None
    match avro.kind:
        case "union":
            index = next((i for i, branch in enumerate(avro.branches) if valid_default(branch, default)), None)
            if index is None:
                raise SerializationError(f"The default {default!r} fits no branch of the union")
            value = _value(avro.branches[index], default)
            wraps = value is not None and is_wrapped(avro, writing=False)
            return (branch_name(avro, index), {BRANCH: value}) if wraps else value
        case "bytes" | "fixed":
            return default.encode("latin-1")
        case "float" | "double":
            return float(default)
        case "array":
            return [_value(avro.item, item) for item in default]
        case "map":
            return {key: _value(avro.item, item) for key, item in default.items()}
        case "record":
            return {field.name: _value(field.type, default.get(field.name, field.default)) for field in avro.fields}
    return default


def _misfit(writer: AvroType, reader: AvroType) -> Change:
    def misfit(value: Any) -> Any:
        raise SerializationError(f"Found {writer.full_name}, expecting {reader.full_name}")

    return misfit


def _same(value: Any) -> Any:
    return value

"""Whether what is written with one Avro schema can be read with another one, by the rules of Avro's specification.

Java: ``SchemaCompatibility.checkReaderWriterCompatibility``.
"""

from __future__ import annotations

from penstock.pipeline.converters.registry.avro.schema.model import AvroField, AvroType
from penstock.pipeline.converters.registry.avro.schema.resolution import same_name

_PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}


def conflicts(reader: AvroType, writer: AvroType) -> list[str]:
    """Return the incompatibilities, each with its place; empty if the schemas are compatible."""
    return _conflicts(reader, writer, "", set())


def _conflicts(reader: AvroType, writer: AvroType, place: str, seen: set[tuple[int, int]]) -> list[str]:
    if (id(reader), id(writer)) in seen:
        return []
    seen.add((id(reader), id(writer)))
    if writer.kind == "union":
        return [found for branch in writer.branches for found in _conflicts(reader, branch, place, seen)]
    if reader.kind == "union":
        if any(not _conflicts(branch, writer, place, set(seen)) for branch in reader.branches):
            return []
        return [f"{place or '/'}: the reader's union lacks {writer.full_name}"]
    if reader.kind != writer.kind:
        if reader.kind in _PROMOTIONS.get(writer.kind, ()):
            return []
        return [f"{place or '/'}: {writer.full_name} can't be read as {reader.full_name}"]
    match reader.kind:
        case "array" | "map":
            return _conflicts(reader.item, writer.item, f"{place}/items", seen)
        case "record" | "enum" | "fixed" if not same_name(writer, reader):
            return [f"{place or '/'}: {writer.full_name} is another {reader.kind} than {reader.full_name}"]
        case "fixed" if reader.size != writer.size:
            return [f"{place or '/'}: {reader.full_name} has {reader.size} bytes, not {writer.size}"]
        case "enum":
            missing = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
            if missing and reader.default_symbol is None:
                return [f"{place or '/'}: {reader.full_name} lacks {', '.join(missing)}"]
        case "record":
            return [found for field in reader.fields for found in _field(field, writer, place, seen)]
    return []


def _field(field: AvroField, writer: AvroType, place: str, seen: set[tuple[int, int]]) -> list[str]:
    names = {field.name, *field.aliases}
    found = next((other for other in writer.fields if other.name in names), None)
    if found is not None:
        return _conflicts(field.type, found.type, f"{place}/{field.name}", seen)
    if field.default is None and not _has_enum_default(field.type):
        return [f"{place}/{field.name}: the writer lacks this field, which has no default"]
    return []


def _has_enum_default(avro: AvroType) -> bool:
    return avro.kind == "enum" and avro.default_symbol is not None

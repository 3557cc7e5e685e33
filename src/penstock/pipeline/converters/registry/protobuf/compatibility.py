"""Whether what is written as one message can be read as another one: fields are compared by their numbers."""

from __future__ import annotations

from typing import Any

from penstock.pipeline.converters.registry.protobuf.to_connect import is_repeated

_GROUPS = ({5, 3, 13, 4, 8, 14}, {17, 18}, {9, 12}, {7, 15}, {6, 16})
"""Types whose bytes are read alike: numbers of ``FieldDescriptorProto.Type``."""


def conflicts(reader: Any, writer: Any, place: str = "", seen: frozenset[str] = frozenset()) -> list[str]:
    """Return the incompatibilities; empty if the schemas are compatible."""
    found: list[str] = []
    if reader.full_name in seen:
        return found
    seen |= {reader.full_name}
    for field in writer.fields:
        other = reader.fields_by_number.get(field.number)
        at = f"{place}/{field.name}"
        if other is None:
            continue
        if is_repeated(other) != is_repeated(field) or not _alike(other.type, field.type):
            found.append(f"{at}: field {field.number} has another type in the reader's schema")
        elif field.message_type is not None:
            if other.message_type.name != field.message_type.name:
                found.append(f"{at}: field {field.number} is another message in the reader's schema")
            found += conflicts(other.message_type, field.message_type, at, seen)
    return found


def _alike(one: int, other: int) -> bool:
    return one == other or any(one in group and other in group for group in _GROUPS)

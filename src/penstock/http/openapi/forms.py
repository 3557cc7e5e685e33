"""Building blocks of the schemas of JSON documents."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
TEXT_OR_NULL: Json = {"type": ["string", "null"]}
NUMBER: Json = {"type": "integer"}
NUMBER_OR_NULL: Json = {"type": ["integer", "null"]}
FIGURE_OR_NULL: Json = {"type": ["number", "null"]}
OBJECT: Json = {"type": "object"}
OBJECT_OR_NULL: Json = {"type": ["object", "null"]}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(items: Json) -> Json:
    return {"type": "array", "items": items}


def map_of(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


def object_of(*optional: str, **members: Json) -> Json:
    """Return the schema of an object that has all of these members but the optional ones, and no others."""
    return {**open_object(*optional, **members), "additionalProperties": False}


def open_object(*optional: str, **members: Json) -> Json:
    """Return the schema of an object that may have other members as well."""
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": members, **({"required": required} if required else {})}


KIND: Json = {"enum": ["source", "sink", "unknown"]}
TEXTS = map_of(TEXT)

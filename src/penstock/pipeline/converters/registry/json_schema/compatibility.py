"""Whether what fits one JSON Schema can be read with another one, for what converters write.

The rules are those of Confluent's ``SchemaDiff`` for objects with open and closed content, types, enums and
combinations; other keywords are not compared.
"""

from __future__ import annotations

from typing import Any

Node = dict[str, Any]


def conflicts(reader: Node, writer: Node, place: str = "") -> list[str]:
    """Return the incompatibilities, each with its place; empty if the schemas are compatible."""
    at = place or "/"
    if "oneOf" in writer or "anyOf" in writer:
        branches = writer.get("oneOf") or writer["anyOf"]
        return [found for branch in branches for found in conflicts(reader, branch, place)]
    if "oneOf" in reader or "anyOf" in reader:
        branches = reader.get("oneOf") or reader["anyOf"]
        return [] if any(not conflicts(branch, writer, place) for branch in branches) else [f"{at}: no branch fits"]
    if "$ref" in reader or "$ref" in writer:
        same = reader.get("$ref") == writer.get("$ref")
        return [] if same else [f"{at}: {writer.get('$ref')} is not {reader.get('$ref')}"]
    if "enum" in reader or "enum" in writer:
        allowed: Any = reader.get("enum", writer.get("enum"))
        missing = [symbol for symbol in writer.get("enum", ["other texts"]) if symbol not in allowed]
        return [f"{at}: the reader's enum lacks {missing}"] if missing else []
    theirs, ours = reader.get("type"), writer.get("type")
    if theirs != ours and (theirs, ours) != ("number", "integer") and theirs is not None:
        return [f"{at}: {ours} can't be read as {theirs}"]
    if ours == "array":
        return conflicts(reader.get("items", {}), writer.get("items", {}), f"{place}/items")
    return _objects(reader, writer, place) if ours == "object" else []


def _objects(reader: Node, writer: Node, place: str) -> list[str]:
    theirs, ours = reader.get("properties", {}), writer.get("properties", {})
    found = []
    for name in ours:
        if name in theirs:
            found += conflicts(theirs[name], ours[name], f"{place}/{name}")
        elif reader.get("additionalProperties") is False:
            found.append(f"{place}/{name}: the reader has no such property, and allows no others")
    for name in theirs:
        if name in ours:
            continue
        if name in reader.get("required", ()) and "default" not in theirs[name]:
            found.append(f"{place}/{name}: the reader requires this property, which the writer lacks")
        elif writer.get("additionalProperties") is not False:
            found.append(f"{place}/{name}: the reader has this property, and the writer may have another of its name")
    inner, outer = reader.get("additionalProperties"), writer.get("additionalProperties")
    if isinstance(inner, dict) and isinstance(outer, dict):
        found += conflicts(inner, outer, f"{place}/*")
    return found

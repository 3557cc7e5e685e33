"""Paths to fields (KIP-821): in syntax V1 the name of a field, in V2 names with dots between them.

A name that has dots of its own stands between backticks.

Java: ``SingleFieldPath`` and ``FieldSyntaxVersion``.
"""

from __future__ import annotations

from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.schema import Field, Schema, SchemaType
from penstock.api.validators import CaseInsensitiveValidString

Path = tuple[str, ...]
NESTED_ACCESS = "nested field access"
"""The purpose in messages of errors at the structs and maps that lead to a nested field."""


def syntax_setting(definition: ConfigDef) -> ConfigDef:
    """Add ``field.syntax.version``."""
    return definition.define(
        "field.syntax.version",
        ConfigType.STRING,
        "V1",
        CaseInsensitiveValidString("V1", "V2"),
        Importance.HIGH,
        "How fields are named. With <code>V1</code> a name is that of a field of the struct or map itself. With "
        "<code>V2</code> dots lead into nested structs and maps; a name that has dots of its own is put between "
        "backticks, as in <code>`foo.bar`.baz</code>.",
    )


def parse_path(text: str, version: str) -> Path:
    """The names on the way, the field's own last. Raises ConfigError for a backtick without its pair."""
    return (text,) if version.upper() == "V1" else _parse_v2(text)


def _parse_v2(text: str) -> Path:
    steps: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "`":
            step, at = _quoted(text, at)
        else:
            end = text.find(".", at)
            step, at = (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)
        steps.append(step)
    if not text or text.endswith("."):
        steps.append("")
    return tuple(steps)


def _quoted(text: str, opening: int) -> tuple[str, int]:
    """The step that begins with this backtick, and where the next one begins.

    Only a backtick before a dot, or at the end, can close a step, and only if there is no backslash before it.
    """
    step, start, at = "", opening + 1, opening + 1
    while True:
        at = text.find("`", at)
        escaped = at > 0 and text[at - 1] == "\\"
        last = at == len(text) - 1
        if at < 0 or (last and escaped):
            raise ConfigError(
                f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick "
                f"at position {opening} to escape it"
            )
        if last:
            return step + text[start:at], at + 1
        if text[at + 1] == "." and not escaped:
            return step + text[start:at], at + 2
        if text[at + 1] == ".":
            step += text[start : at - 1] + "`"
            start = at + 1
        at += 1


def field_at(schema: Schema, path: Path) -> Field | None:
    """The field at the end of a path, None if there is none. Raises DataError if the way is through no struct."""
    found: Field | None = None
    for step in path:
        if found is not None:
            schema = found.schema
        if schema.type is not SchemaType.STRUCT:
            raise DataError("Cannot look up fields on non-struct type")
        found = schema.field(step)
        if found is None:
            return None
    return found


def get(values: list[Any], name: str, default: Any = None) -> list[Any]:
    """Return one field of each struct or map: null for null, and ``default`` for a null in the field."""
    found = [None if value is None else value.get(name) for value in values]
    if default is None:
        return found
    return [default if item is None and value is not None else item for item, value in zip(found, values, strict=True)]

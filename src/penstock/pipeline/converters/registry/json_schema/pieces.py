"""Parts of a JSON Schema: a combination, a type and an enum beside each other are three schemas, all of which hold.

Java: ``SchemaLoader.runSchemaExtractors`` of Everit, for drafts up to 7, and ``SchemaTranslator`` for later ones.
"""

from __future__ import annotations

from typing import Any

COMBINATIONS = ("allOf", "anyOf", "oneOf")
_WORDS = {
    "array": ("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "object": (
        "properties", "required", "minProperties", "maxProperties", "dependencies", "patternProperties",
        "additionalProperties", "propertyNames",
    ),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format"),
}  # fmt: skip
"""Keywords that imply the type of a schema without ``type``."""
_CONDITION = ("if", "then", "else")
_JAVA_NAMES = {"null": "NullSchema", "not": "NotSchema", "if": "ConditionalSchema"}

Node = dict[str, Any]


def pieces(node: Node, modern: bool = False) -> list[Node]:
    """The schemas that a schema consists of, without title, default and all else that belongs to the whole; the schema
    itself if it is only one. ``modern``: by the rules of the drafts since 2019.
    """
    if "$ref" in node and not modern:
        return [node]
    rest, found = dict(node), []
    if modern:
        rest.pop("format", None)

    def take(*words: str) -> None:
        if taken := {word: rest.pop(word) for word in words if word in rest}:
            found.append(taken)

    for word in ("$ref", *COMBINATIONS, "enum", "not", "const"):
        take(word)
    if "type" in rest:
        take("type", *(word for one in _types(rest) for word in _words(one)))
    for words in _WORDS.values():
        take(*words)
    take(*_CONDITION)
    return found if len(found) > 1 else [node]


def kind(node: Node, modern: bool = False) -> str | None:
    """``$ref``, a combination, ``enum``, ``const``, ``not``, ``if`` or a type; None for a schema that says nothing."""
    if len(pieces(node, modern)) > 1:
        return "allOf"
    for word in ("$ref", *COMBINATIONS, "enum", "not", "const"):
        if word in node:
            return word
    if "type" in node:
        return "anyOf" if isinstance(node["type"], list) else str(node["type"])
    for name, words in _WORDS.items():
        if any(word in node for word in words if not (modern and word == "format")):
            return name
    return "if" if any(word in node for word in _CONDITION) else None


def members(node: Node, combination: str) -> list[Any]:
    """The schemas that a combination of schemas, or of types, is made of."""
    if isinstance(node.get(combination), list):
        found: list[Any] = node[combination]
        return found
    return [{"type": one, **{word: node[word] for word in _words(one) if word in node}} for one in _types(node)]


def java_name(kind: str | None) -> str:
    """The class of schemas that have no type of Connect's."""
    return f"org.everit.json.schema.{_JAVA_NAMES[kind]}" if kind in _JAVA_NAMES else str(kind)


def _types(node: Node) -> list[Any]:
    found = node.get("type")
    return found if isinstance(found, list) else [found]


def _words(type: Any) -> tuple[str, ...]:
    return _WORDS.get("number" if type == "integer" else type, ()) if isinstance(type, str) else ()

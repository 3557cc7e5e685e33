"""The texts of a JSON Schema: itself and those it refers to by name, and what a ``$ref`` in one of them points to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin

from penstock.api.errors import DataError
from penstock.java.errors import JsonError
from penstock.java.jackson.reading import loads

Load = Callable[[bytes], Any]


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """A schema in a document."""

    node: dict[str, Any]
    document: str
    """The name of the document, empty for the schema itself."""

    def child(self, node: Any) -> SchemaPlace:
        """A schema inside of this one; ``true`` is the empty schema. Raises DataError for JSON that is none."""
        if node is True:
            return SchemaPlace({}, self.document)
        if not isinstance(node, dict):
            raise DataError(f"Only JSON objects are schemas for the converter, not {node}")
        return SchemaPlace(node, self.document)


class Documents:
    """``texts`` has the schemas referred to, by the names that refer to them. Raises DataError for what is no JSON."""

    def __init__(self, text: str, texts: Mapping[str, str], load: Load = loads) -> None:
        self._nodes = {"": _parsed(text, load), **{name: _parsed(inner, load) for name, inner in texts.items()}}

    def root(self) -> SchemaPlace:
        return SchemaPlace(self._nodes[""], "")

    def resolve(self, place: SchemaPlace, reference: str) -> SchemaPlace:
        """Resolve a ``$ref`` found at a place: a JSON pointer, an id, or another document. Raises DataError."""
        name, _, fragment = reference.partition("#")
        document = place.document if not name else self._document(place, name)
        root = self._nodes[document]
        if not fragment:
            return SchemaPlace(root, document)
        found = _pointed(root, fragment) if fragment.startswith("/") else _with_id(root, f"#{fragment}")
        if not isinstance(found, dict):
            raise DataError(f"The JSON Schema has nothing at $ref {reference}")
        return SchemaPlace(found, document)

    def _document(self, place: SchemaPlace, name: str) -> str:
        base = self._nodes[place.document].get("$id", "")
        for candidate in (name, urljoin(str(base), name)):
            if candidate in self._nodes:
                return candidate
            for known, node in self._nodes.items():
                if node.get("$id") == candidate:
                    return known
        raise DataError(f"The JSON Schema refers to {name}, which is none of its references")


def _parsed(text: str, load: Load) -> dict[str, Any]:
    try:
        node = load(text.encode())
    except JsonError as error:
        raise DataError(f"This is no JSON Schema: {text}") from error
    if not isinstance(node, dict):
        raise DataError(f"Only JSON objects are schemas for the converter, not {text}")
    return node


def _pointed(node: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def _with_id(node: Any, wanted: str) -> Any:
    if isinstance(node, dict):
        if wanted in (node.get("$id"), node.get("id"), f"#{node.get('$anchor')}"):
            return node
        node = list(node.values())
    if isinstance(node, list):
        return next((found for item in node if (found := _with_id(item, wanted)) is not None), None)
    return None

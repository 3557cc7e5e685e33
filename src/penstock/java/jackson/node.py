"""Parsed JSON text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

MISSING = object()
"""Stands for the value of an empty text."""

Node = Any
"""``None``, ``bool``, ``int``, ``float``, ``Decimal``, ``str``, ``list``, ``dict`` or MISSING."""


def node_type(node: Node) -> str:
    """``JsonNode.getNodeType``."""
    return "MISSING" if node is MISSING else _NODE_TYPES[type(node)]


_NODE_TYPES: dict[type, str] = {
    type(None): "NULL",
    bool: "BOOLEAN",
    int: "NUMBER",
    float: "NUMBER",
    Decimal: "NUMBER",
    str: "STRING",
    list: "ARRAY",
    dict: "OBJECT",
}

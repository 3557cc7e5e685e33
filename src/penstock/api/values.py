"""Values as Java prints, reads and orders them, for connectors that do what one of Java's does. Provisional.

``java_text(value)`` is the text of a value in a message, as of ``String.valueOf``; ``decoded_utf8(data)`` a text of
bytes that need not be valid UTF-8; ``hash_order(keys, capacity)`` the order in which a ``HashMap`` of this capacity
lists texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.java.hash_map import hash_order
from penstock.java.text import decoded_utf8, java_text

__all__ = ["decoded_utf8", "hash_order", "java_text", "to_lines"]


def to_lines(schemas: Sequence[Schema | None], values: Sequence[Any] | Table) -> bytes | memoryview:
    """Return values as lines of UTF-8, each as Java's ``toString`` prints it; both columns are of equal length.

    ``values`` is a batch's ``value_column`` or ``key_column``, ``schemas`` the schema of each value. A half of a
    surrogate pair becomes a question mark.
    """
    from penstock.values.lines import to_lines as lines

    return lines(schemas, values)

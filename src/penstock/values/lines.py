"""Columns of values as lines of text, as Java prints them: what FileStreamSink writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.values.column_printing import to_strings
from penstock.values.packed import Packed

MANY = 400
"""Fewer structs are printed faster from Python's objects, also where columns are packed."""


def to_lines(schemas: Sequence[Schema | None], values: Sequence[Any] | Table) -> bytes | memoryview:
    """``to_string`` of columns of equal length, a line each, in UTF-8; halves of surrogate pairs are question marks."""
    if isinstance(values, Table) and len(values) >= MANY and _is_packed(values):
        schema = schemas[0]
        if schema is not None and schemas.count(schema) == len(schemas):
            # A topic with few records needs neither numpy nor Arrow.
            from penstock.values.packed_lines import packed_lines

            if (lines := packed_lines(schema, values)) is not None:
                return lines
    return "\n".join([*to_strings(schemas, values), ""]).encode("utf-8", "replace")


def _is_packed(table: Table) -> bool:
    """Whether a column of it is."""
    return any(
        _is_packed(column) if isinstance(column, Table) else isinstance(column, Packed) for column in table.columns
    )

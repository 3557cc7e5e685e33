"""Tables to JSON column by column: a struct of plain fields needs no ``dict`` then."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import orjson

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.java.jackson.reading import escaped, needs_escapes
from penstock.pipeline.converters.json_writer import JsonWriter

_CONSTANTS = frozenset((str, int, bool))
"""Types of which equal values are spelled alike, as zeros of floats are not."""


def messages(writer: JsonWriter, schema: Schema | None, table: Table, head: bytes, tail: bytes) -> list[bytes] | None:
    """The structs of a table between head and tail, as Java writes them; None if they need more than orjson.

    Raises TypeError for an integer of more than 64 bits.
    """
    plain = writer.plain_columns(schema, table)
    if plain is None:
        return None
    columns: list[Any] = []
    text, before = head, b"{"
    for name, column in zip(table.names, plain, strict=True):
        text += before + escaped(orjson.dumps(name)) + b":"
        before = b","
        if type(column[0]) in _CONSTANTS and column[0] == column[-1] and column.count(column[0]) == len(column):
            text += escaped(orjson.dumps(column[0]))
        else:
            texts, quote = _texts(column)
            columns += [repeat(text + quote), texts]
            text = quote
    text += b"}" + tail
    if not columns:
        return [text] * len(table)
    return list(map(b"".join, zip(*columns, repeat(text), strict=False)))


def _texts(column: Sequence[Any]) -> tuple[list[bytes], bytes]:
    """The JSON of each value, without the quotes around it if they are around all: then they come second."""
    # Indented, values are on lines of their own; within a text a line end is always an escape.
    joined = orjson.dumps(column if type(column) is list else list(column), option=orjson.OPT_INDENT_2)
    kinds = set(map(type, column))
    if str in kinds and needs_escapes(joined):
        joined = escaped(joined)
    if kinds == {str}:
        return joined[5:-3].split(b'",\n  "'), b'"'
    return joined[4:-2].split(b",\n  "), b""

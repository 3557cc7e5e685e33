"""Structs and maps to JSON column by column.

Tables need no ``dict`` then, and values that orjson does not take as they are need fewer calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import is_
from typing import Any

import orjson

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.java.jackson.reading import escaped, needs_escapes
from penstock.pipeline.converters.json_writer import Column, JsonWriter

_CONSTANTS = frozenset((str, int, bool))
"""Types of which equal values are spelled alike, as zeros of floats are not."""
_NESTED = frozenset((dict, list))
_END = orjson.Fragment(b"\n")


def messages(
    writer: JsonWriter, schema: Schema | None, values: Table | list[Any], head: bytes, tail: bytes
) -> list[bytes] | None:
    """Structs, or maps without a schema, between head and tail, as Java writes them; None if not all have the same
    fields, exactly those of the schema.

    Raises TypeError for what orjson refuses, such as an integer of more than 64 bits, and DataError for a value that
    does not fit the schema.
    """
    table = values if isinstance(values, Table) else writer.table(schema, values)
    columns = None if table is None else writer.columns(schema, table)
    if table is None or columns is None:
        return None
    if table is not values and all(map(is_, table.columns, (column for column, _ in columns))):
        return one_by_one(values, head, tail)  # type: ignore[arg-type]
    return _of_columns(table.names, columns, head, tail)


def one_by_one(nodes: list[Any], head: bytes, tail: bytes) -> list[bytes]:
    """Return each node as JSON between head and tail, encoded one at a time. Raises TypeError as ``messages`` does."""
    encode, join = orjson.dumps, b"".join
    if head or tail:
        out = [join((head, encode(node), tail)) for node in nodes]
    else:
        # orjson keeps a kilobyte for every result until it is copied, which cutting off the newline does.
        out = [encode(node, None, orjson.OPT_APPEND_NEWLINE)[:-1] for node in nodes]
    if needs_escapes(join(out)):
        return [head + escaped(message[len(head) :]) for message in out]
    return out


def _of_columns(names: Sequence[str], columns: list[Column], head: bytes, tail: bytes) -> list[bytes]:
    parts: list[Any] = []
    text, before = head, b"{"
    for name, (column, kinds) in zip(names, columns, strict=True):
        text += before + escaped(orjson.dumps(name)) + b":"
        before = b","
        first = column[0]
        if len(kinds) == 1 and kinds <= _CONSTANTS and first == column[-1] and column.count(first) == len(column):
            text += escaped(orjson.dumps(first))
        else:
            texts, quote = _texts(column, kinds)
            parts += [repeat(text + quote), texts]
            text = quote
    text += b"}" + tail
    if not parts:
        return [text] * len(columns[0][0])
    return list(map(b"".join, zip(*parts, repeat(text), strict=False)))


def _texts(column: Sequence[Any], kinds: set[type]) -> tuple[list[bytes], bytes]:
    """The JSON of each value, without the quotes around it if they are around all: then they come second."""
    if kinds & _NESTED:
        # Line ends between values are the only ones: within a text a line end is always an escape.
        ended: list[Any] = [_END] * (2 * len(column))
        ended[::2] = column
        return _escaped(orjson.dumps(ended))[1:-3].split(b",\n,"), b""
    # Indented, values are on lines of their own.
    joined = orjson.dumps(column if type(column) is list else list(column), option=orjson.OPT_INDENT_2)
    if str in kinds:
        joined = _escaped(joined)
    if kinds == {str}:
        return joined[5:-3].split(b'",\n  "'), b'"'
    return joined[4:-2].split(b",\n  "), b""


def _escaped(joined: bytes) -> bytes:
    return escaped(joined) if needs_escapes(joined) else joined

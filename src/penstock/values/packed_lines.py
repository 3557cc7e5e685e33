"""Prints structs as Java does, one per line, like ``column_printing``, but makes no objects of packed columns.

The other columns of the structs are printed by ``column_printing``, so that both have the same format.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from penstock.api.columns import Table
from penstock.api.schema import Schema, SchemaType
from penstock.values.column_printing import NUMBERS, texts_of
from penstock.values.packed import PackedNumbers, PackedTexts
from penstock.values.splices import Array, Pieces, Splices

There = Array | None
"""Mask of the rows that have the field; None if all have it."""


def packed_lines(schema: Schema, table: Table) -> bytes | memoryview | None:
    """One line per struct; None if a text is not valid UTF-8."""
    splices = Splices()
    lines = splices.joined([*_struct(splices, schema, table), b"\n"], len(table))
    try:
        str(lines, "utf-8")
    except UnicodeDecodeError:
        return None
    return lines


def _struct(splices: Splices, schema: Schema, table: Table) -> Pieces:
    """Fields that are null or have no column are left out."""
    pieces: Pieces = [b"Struct{"]
    columns = table.as_dict()
    before: There = np.zeros(len(table), bool)
    """Mask of the structs that have printed a field already."""
    for field in schema.fields:
        if field.name not in columns:
            continue
        shown, there = _field(splices, field.schema, columns[field.name])
        label = f"{field.name}=".encode("utf-8", "replace")
        pieces += _label(splices, label, before, there)
        if there is None:
            before = None
            pieces += shown
        else:
            before = None if before is None else before | there
            absent = splices.constant(b"")
            pieces += [
                np.where(there, splices.constant(piece) if isinstance(piece, bytes) else piece, absent)
                for piece in shown
            ]
    return [*pieces, b"}"]


def _label(splices: Splices, label: bytes, before: There, there: There) -> Pieces:
    """The name of the field in the structs that have it, after a comma if it is not their first."""
    if there is None and (before is None or not before.any()):
        return [label if before is not None else b"," + label]
    with_comma = splices.constant(b"," + label)
    named = with_comma if before is None else np.where(before, with_comma, splices.constant(label))
    return [np.where(True if there is None else there, named, splices.constant(b""))]


def _field(splices: Splices, schema: Schema, column: Any) -> tuple[Pieces, There]:
    if isinstance(column, PackedTexts) and schema.type is SchemaType.STRING:
        return [splices.places(column.shared.data, column.first, column.last)], column.there
    if isinstance(column, PackedNumbers) and _is_spelled_alike(schema, column.numbers):
        numbers = orjson.dumps(np.ascontiguousarray(column.numbers), option=orjson.OPT_SERIALIZE_NUMPY)
        return [splices.separated(numbers, ord(","), len(column))], column.there
    if isinstance(column, Table) and schema.type is SchemaType.STRUCT:
        return _struct(splices, schema, column), None
    texts, nulls = texts_of(schema, column)
    if not nulls:
        return [splices.texts(texts)], None  # type: ignore[arg-type]
    return [splices.texts([text or "" for text in texts])], np.array([text is not None for text in texts])


def _is_spelled_alike(schema: Schema, numbers: Array) -> bool:
    """Whether orjson prints all of these as Java does."""
    if numbers.dtype.kind in "iu":
        return schema.type in NUMBERS[int]
    if schema.type is not SchemaType.FLOAT64 or numbers.dtype != np.float64:
        return False
    sizes = np.abs(numbers)
    return bool((((sizes >= 1e-3) & (sizes < 1e7)) | (sizes == 0)).all())

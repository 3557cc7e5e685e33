"""Messages of a batch put together from columns: each column gives pieces, and what is the same in all messages is made
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any

from penstock.api.columns import Table

Piece = bytes | list[bytes]
"""Bytes that all messages have at this place, or one entry per message."""
Encode = Callable[[Sequence[Any]], list[Piece]]
"""The pieces for a column, which has one value at least. Raises an exception if a value has to be converted by itself.
"""
EncodeStructs = Callable[["Sequence[Any] | Table"], list[Piece]]
"""The same for structs, which may be a table."""
_NONE = type(None)


def joined(pieces: Sequence[Piece], count: int) -> list[bytes]:
    """Join pieces to ``count`` messages."""
    columns: list[Piece] = []
    for constant, group in groupby(pieces, is_bytes):
        if constant:
            columns.append(b"".join(group))  # type: ignore[arg-type]
        else:
            columns += group
    if not any(map(is_list, columns)):
        return [b"".join(columns)] * count  # type: ignore[arg-type]
    rows = zip(*(repeat(each) if is_bytes(each) else each for each in columns), strict=False)
    return list(map(b"".join, rows))


def is_bytes(piece: Piece) -> bool:
    return type(piece) is bytes


def is_list(piece: Piece) -> bool:
    return type(piece) is list


def columns(names: Sequence[str], values: Sequence[Any] | Table) -> list[Sequence[Any]]:
    """A column for each of these keys. Raises an exception if a value is no dict or lacks one."""
    if isinstance(values, Table):
        found = values.as_dict()
        return [found[name] for name in names]
    if set(map(type, values)) != {dict}:
        raise TypeError("not all are structs")
    return [list(map(itemgetter(name), values)) for name in names]


def of_kind(kind: type, column: Sequence[Any]) -> None:
    """Raises TypeError unless all are of this very type."""
    if set(map(type, column)) != {kind}:
        raise TypeError(f"not all are of the type {kind.__name__}")


def within(bits: int, column: Sequence[int]) -> None:
    """Raises OverflowError unless all have no more bits than these, without the sign."""
    if min(column) < -(1 << bits) or max(column) >= 1 << bits:
        raise OverflowError(f"a number of more than {bits} bits")


def is_constant(column: Sequence[Any]) -> bool:
    """Whether all values of one type are equal."""
    return column[0] == column[-1] and column.count(column[0]) == len(column)


def nullable(encode: Encode, present: bytes, null: bytes) -> Encode:
    """Pieces for a column with nulls: what goes before a value that is there, and what stands for a null."""

    def pieces(column: Sequence[Any]) -> list[Piece]:
        if _NONE not in set(map(type, column)):
            return [present, *encode(column)]
        there = [value for value in column if value is not None]
        if not there:
            return [null]
        made = iter(joined([present, *encode(there)], len(there)))
        return [[null if value is None else next(made) for value in column]]

    return pieces

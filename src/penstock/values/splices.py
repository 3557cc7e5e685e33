"""Builds many lines from columns of pieces in one pass, without a Python object for any of them.

A piece is a range of bytes. Arrow's ``take`` copies the pieces in the order of the lines, in about ten nanoseconds
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]
Pieces = list["bytes | Array"]
"""The parts of a line, in order: bytes that all lines have in common, or for each line the number of its piece."""


class Splices:
    """The pieces, by number, and the lines made of them."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._at: dict[int, int] = {}
        """By ``id``: where bytes that were added begin; several columns may share them."""
        self._size = 0
        self._bounds: list[Array] = []
        """Piece ``n`` is between bounds ``n`` and ``n + 1`` of all these in a row."""
        self._count = 0
        self._constants: dict[bytes, int] = {}

    def constant(self, data: bytes) -> int:
        """The number of a piece with these bytes."""
        number = self._constants.get(data)
        if number is None:
            at = self._add(data)
            number = self._constants[data] = self._between(np.array((at, at + len(data))))
        return number

    def places(self, data: bytes, first: Array, last: Array) -> Array:
        """The numbers of the pieces of ``data`` from ``first`` up to ``last``, each after the one before it."""
        at = self._at.get(id(data))
        if at is None:
            at = self._at[id(data)] = self._add(data)
        bounds = np.empty(2 * len(first), np.int64)
        np.add(first, at, out=bounds[0::2])
        np.add(last, at, out=bounds[1::2])
        number = self._between(bounds)
        return np.arange(number, number + len(bounds), 2)

    def separated(self, data: bytes, comma: int, count: int) -> Array:
        """The numbers of ``count`` pieces, separated by the byte ``comma``, in brackets."""
        commas = np.flatnonzero(np.frombuffer(data, np.uint8) == comma)
        assert len(commas) == count - 1
        return self.places(data, np.concatenate(([1], commas + 1)), np.concatenate((commas, [len(data) - 1])))

    def texts(self, column: Sequence[str]) -> Array:
        """The numbers of these texts."""
        data = [text.encode("utf-8", "replace") for text in column]
        last = np.cumsum(np.fromiter(map(len, data), np.int64, len(data)))
        return self.places(b"".join(data), np.concatenate(([0], last[:-1])), last)

    def joined(self, pieces: Pieces, count: int) -> memoryview:
        """``count`` lines of these pieces."""
        columns: list[int | Array] = []
        for constant, group in groupby(pieces, _is_bytes):
            if constant:
                columns.append(self.constant(b"".join(group)))  # type: ignore[arg-type]
            else:
                columns += group  # type: ignore[arg-type]
        order = np.empty((count, len(columns)), np.int64)
        for place, column in enumerate(columns):
            order[:, place] = column
        bounds = np.concatenate(self._bounds)
        data = pa.py_buffer(b"".join(self._data))
        parts = pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), data])
        found = parts.take(pa.array(order.ravel()))
        _, ends, text = found.buffers()
        return memoryview(text)[: np.frombuffer(ends, np.int64)[len(found)]]

    def _add(self, data: bytes) -> int:
        at, self._size = self._size, self._size + len(data)
        self._data.append(data)
        return at

    def _between(self, bounds: Array) -> int:
        number, self._count = self._count, self._count + len(bounds)
        self._bounds.append(bounds)
        return number


def _is_bytes(piece: bytes | Array) -> bool:
    return type(piece) is bytes

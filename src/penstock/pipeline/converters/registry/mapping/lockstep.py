"""Reads many messages of the same structure in lockstep: one field of all messages at a time, by numpy.

A number or a text takes some hundredths of a microsecond, where a loop over bytes takes half a microsecond. Only
well-formed messages are read: for others ``ValueError`` or ``IndexError`` is raised, and the caller reads the messages
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.values.packed import PackedNumbers, PackedTexts, SharedBytes

Array = np.ndarray[Any, Any]
Read = Callable[["Lockstep"], "Sequence[Any]"]
"""Reads the next field of every message."""

_BEHIND = bytes(16)
"""Added after the last message, so that reading a little beyond its end is not an IndexError."""
_ONE, _EACH, _HIGH = np.uint64(1), np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_PAIRS = tuple(
    (np.uint64(bits), np.uint64(low), np.uint64(high))
    for bits, low, high in (
        (1, 0x007F007F007F007F, 0x7F007F007F007F00),
        (2, 0x00003FFF00003FFF, 0x3FFF00003FFF0000),
        (4, 0x000000000FFFFFFF, 0x0FFFFFFF00000000),
    )
)
"""Steps that join the seven bits of each byte to 14, 28 and 56 bits: the lower half stays, the higher moves down."""


class Lockstep:
    """``at`` is where each message is read next. When all fields have been read, the caller compares it with ``ends``.

    The array ``at`` is never changed in place, as texts keep it.
    """

    __slots__ = ("_shared", "_words", "at", "bytes", "ends")

    def __init__(self, messages: Sequence[bytes], start: int) -> None:
        self._shared = SharedBytes(b"".join((*messages, _BEHIND)))
        self.bytes: Array = np.frombuffer(self._shared.data, np.uint8)
        self._words = _at_each_byte(self.bytes, "<u8")
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        self.ends: Array = np.cumsum(lengths)
        self.at: Array = self.ends - lengths + start

    def __len__(self) -> int:
        return len(self.at)

    def some(self, chosen: Array, read: Read, other: Any) -> Sequence[Any]:
        """Return the values that ``read`` reads from the chosen messages, and ``other`` for the rest."""
        if chosen.all():
            return read(self)
        rows, before = np.flatnonzero(chosen), self.at
        if not len(rows):
            return [other] * len(self)
        part = object.__new__(Lockstep)
        part._shared, part.bytes, part._words = self._shared, self.bytes, self._words
        part.at, part.ends = before[rows], self.ends[rows]
        values = read(part)
        self.at = before.copy()
        self.at[rows] = part.at
        there = chosen if other is None else None
        match values:
            case PackedNumbers(there=None):
                numbers = np.full(len(self), 0 if other is None else other, values.numbers.dtype)
                numbers[rows] = values.numbers
                return PackedNumbers(numbers, there)
            case PackedTexts(there=None) if not other:
                first, last = before.copy(), before.copy()
                first[rows], last[rows] = values.first, values.last
                return PackedTexts(self._shared, first, last, there)
        found = [other] * len(self)
        for row, value in zip(rows.tolist(), values, strict=True):
            found[row] = value
        return found

    def one_byte(self) -> Array:
        found: Array = self.bytes[self.at]
        self.at = self.at + 1
        return found

    def varints(self, bits: int = 64) -> Array:
        """Unsigned numbers of variable length, as in Avro and Protobuf."""
        byte = self.bytes[self.at]
        if byte.max() < 128:
            self.at = self.at + 1
            return byte.astype(np.uint64)
        eight = self._words[self.at]
        ends = ~eight & _HIGH
        found = self._of_eight(eight, ends) if ends.all() else self._of_ten()
        if bits < 64 and (found >> np.uint64(bits)).any():
            raise ValueError(f"a number of more than {bits} bits")
        return found

    def _of_eight(self, eight: Array, ends: Array) -> Array:
        """Numbers of up to eight bytes; ``ends`` has a bit for each byte that may be the last one."""
        last = ends & (~ends + _ONE)
        all_of_it = last | (last - _ONE)
        self.at = self.at + ((all_of_it & _EACH) * _EACH >> np.uint64(56)).astype(np.int64)
        found = eight & all_of_it & ~_HIGH
        for bits, low, high in _PAIRS:
            found = found & low | (found & high) >> bits
        return found

    def _of_ten(self) -> Array:
        byte = self.one_byte()
        found = (byte & 127).astype(np.uint64)
        rows = np.flatnonzero(byte > 127)
        shift = 7
        while len(rows):
            byte = self.bytes[self.at[rows]]
            if shift > 63 or (shift == 63 and (byte > 1).any()):
                raise ValueError("a number of more than 64 bits")
            found[rows] |= (byte & 127).astype(np.uint64) << np.uint64(shift)
            self.at[rows] += 1
            rows = rows[byte > 127]
            shift += 7
        return found

    def fixed(self, kind: str) -> Array:
        """Numbers of this type, as numpy names it."""
        found: Array = _at_each_byte(self.bytes, kind)[self.at]
        self.at = self.at + found.itemsize
        return found

    def slices(self, lengths: Array) -> list[bytes]:
        return self._cut(*self._places(lengths))

    def texts(self, lengths: Array) -> PackedTexts:
        return PackedTexts(self._shared, *self._places(lengths))

    def texts_in_utf_8(self, lengths: Array) -> Sequence[str]:
        """Raises UnicodeDecodeError for a text that is not UTF-8."""
        found = self.texts(lengths)
        if (high := self._shared.high) is None:
            high = self._shared.high = np.cumsum(self.bytes > 127, dtype=np.int32)
        # The length stands before the first byte.
        if (high[found.first - 1] == high[found.last - 1]).all():
            return found
        return [each.decode() for each in self._cut(found.first, found.last)]

    def _cut(self, first: Array, last: Array) -> list[bytes]:
        data = self._shared.data
        return [data[first:last] for first, last in zip(first.tolist(), last.tolist(), strict=True)]

    def _places(self, lengths: Array) -> tuple[Array, Array]:
        first = self.at
        self.at = first + lengths.astype(np.int64)
        if (self.at > self.ends).any():
            raise ValueError("a length beyond the end of the message")
        return first, self.at


def _at_each_byte(data: Array, kind: str) -> Array:
    """The numbers of this type that begin at each byte."""
    return np.ndarray(len(data) - np.dtype(kind).itemsize + 1, kind, data, strides=(1,))


def zigzag(numbers: Array) -> Array:
    """The signed numbers that these zigzag-encoded ones stand for."""
    found: Array = (numbers >> np.uint64(1)).view(np.int64) ^ -(numbers & np.uint64(1)).view(np.int64)
    return found

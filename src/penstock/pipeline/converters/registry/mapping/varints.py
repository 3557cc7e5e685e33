"""Base-128 numbers, as Avro and Protobuf write them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from penstock.pipeline.converters.registry.mapping.pieces import Piece, is_constant


def varint(value: int) -> bytes:
    """A number that is not negative."""
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


@cache
def _groups() -> tuple[list[bytes], list[bytes]]:
    """Return the bytes of each value of a number's lower 14 bits: with more bytes to follow, and as the last ones."""
    more = [bytes((low & 127 | 128, low >> 7 | 128)) for low in range(1 << 14)]
    return more, [varint(low) for low in range(1 << 14)]


def varints(column: Sequence[int]) -> list[Piece]:
    """Numbers that are not negative."""
    if is_constant(column):
        return [varint(column[0])]
    more, last = _groups()
    return [
        [
            last[n]
            if n < 1 << 14
            else more[n & 16383] + last[n >> 14]
            if n < 1 << 28
            else more[n & 16383] + more[n >> 14 & 16383] + last[n >> 28]
            if n < 1 << 42
            else varint(n)
            for n in column
        ]
    ]


class Lengths(dict[int, bytes]):
    """Length prefixes by number of bytes, cached; few different lengths occur."""

    def __init__(self, factor: int) -> None:
        """``factor``: what the number is multiplied by: 2 where numbers have a sign."""
        self._factor = factor

    def __missing__(self, size: int) -> bytes:
        found = varint(size * self._factor)
        if size < 4096:
            self[size] = found
        return found

    def before(self, column: Sequence[bytes]) -> list[Piece]:
        """The bytes of a column, with their lengths."""
        if is_constant(column):
            return [self[len(column[0])] + column[0]]
        return [list(map(self.__getitem__, map(len, column))), list(column)]

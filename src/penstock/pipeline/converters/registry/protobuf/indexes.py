"""Message indexes: the place of a frame's message in the schema's file and, if nested, in each message around it.

Numbers are zigzag varints, the count first; the first message of a file is the one byte 0. Java: ``MessageIndexes``.
"""

from __future__ import annotations

from penstock.api.errors import SerializationError

MAX_DEPTH = 64
"""No message is nested deeper."""


def write_indexes(indexes: tuple[int, ...]) -> bytes:
    if indexes == (0,):
        return b"\0"
    return b"".join(_varint(number) for number in (len(indexes), *indexes))


def read_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """The indexes that begin at this place, and where they end. Raises SerializationError."""
    count, at = _read(data, start)
    if count == 0:
        return (0,), at
    if not 0 < count <= MAX_DEPTH:
        raise SerializationError(f"{count} indexes of a Protobuf message are too many")
    indexes = []
    for _ in range(count):
        index, at = _read(data, at)
        indexes.append(index)
    return tuple(indexes), at


def _varint(number: int) -> bytes:
    number, data = number << 1, bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes([*data, number])


def _read(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 28:
            raise SerializationError("The indexes of a Protobuf message end too early")
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number >> 1 ^ -(number & 1), at

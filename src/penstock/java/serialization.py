"""Java's object serialization, as far as a ``HashMap<byte[], byte[]>`` goes.

That is what Java Connect's standalone mode keeps its source offsets in (``FileOffsetBackingStore``), so that its file
can be used by either. The format: Java Object Serialization Specification, chapter 6.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

_HEADER = bytes.fromhex("aced0005")
_HASH_MAP = (
    b"\x72\x00\x11java.util.HashMap"
    + bytes.fromhex("0507dac1c31660d1")
    + b"\x03\x00\x02F\x00\x0aloadFactorI\x00\x09threshold\x78\x70"
)
_BYTE_ARRAY = b"\x72\x00\x02[B" + bytes.fromhex("acf317f8060854e0") + b"\x02\x00\x00\x78\x70"

_NULL, _REFERENCE, _OBJECT, _ARRAY, _BLOCK, _END = 0x70, 0x71, 0x73, 0x75, 0x77, 0x78
_FIRST_HANDLE = 0x7E0000
# Handles are given in the order in which things appear: the map's class, the map, the arrays' class, then the arrays.
_ARRAY_CLASS, _FIRST_ARRAY = 2, 3

Pair = tuple[bytes | None, bytes | None]


def dump(pairs: Sequence[Pair]) -> bytes:
    """The stream of a map with these keys and values."""
    capacity = 16
    while len(pairs) > capacity * 3 // 4:
        capacity *= 2
    threshold = capacity * 3 // 4 if pairs else 0
    out = [_HEADER, bytes([_OBJECT]), _HASH_MAP, struct.pack(">fi", 0.75, threshold)]
    out.append(struct.pack(">BBii", _BLOCK, 8, capacity, len(pairs)))
    known = False
    for item in (item for pair in pairs for item in pair):
        if item is None:
            out.append(bytes([_NULL]))
            continue
        kind = struct.pack(">BI", _REFERENCE, _FIRST_HANDLE + _ARRAY_CLASS) if known else _BYTE_ARRAY
        out += [bytes([_ARRAY]), kind, struct.pack(">i", len(item)), item]
        known = True
    return b"".join([*out, bytes([_END])])


def load(stream: bytes) -> list[Pair]:
    """The keys and values of such a stream, in its order; raises ValueError if it is none."""
    prefix = _HEADER + bytes([_OBJECT]) + _HASH_MAP
    if not stream.startswith(prefix):
        raise ValueError("it does not begin with a serialized java.util.HashMap")
    try:
        return _Entries(stream, len(prefix) + 8).read()
    except (struct.error, IndexError) as e:
        raise ValueError("it ends too early") from e


class _Entries:
    def __init__(self, stream: bytes, at: int) -> None:
        self.stream, self.at = stream, at
        self.arrays: list[bytes] = []

    def read(self) -> list[Pair]:
        tag, length, _, size = struct.unpack_from(">BBii", self.stream, self.at)
        if (tag, length) != (_BLOCK, 8):
            raise ValueError("the map's size is missing")
        self.at += 10
        return [(self.item(), self.item()) for _ in range(size)]

    def item(self) -> bytes | None:
        tag = self.stream[self.at]
        self.at += 1
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            handle = self.number() - _FIRST_HANDLE - _FIRST_ARRAY
            if not 0 <= handle < len(self.arrays):
                raise ValueError("an entry refers to something that is no byte array")
            return self.arrays[handle]
        if tag != _ARRAY:
            raise ValueError(f"an entry is no byte array but of kind {tag:#x}")
        self.array_class()
        length = self.number()
        if not 0 <= length <= len(self.stream) - self.at:
            raise ValueError("it ends too early")
        self.at += length
        self.arrays.append(self.stream[self.at - length : self.at])
        return self.arrays[-1]

    def array_class(self) -> None:
        if self.stream.startswith(_BYTE_ARRAY, self.at):
            self.at += len(_BYTE_ARRAY)
            return
        tag = self.stream[self.at]
        self.at += 1
        if tag != _REFERENCE or self.number() != _FIRST_HANDLE + _ARRAY_CLASS:
            raise ValueError("an entry is an array of something else than bytes")

    def number(self) -> int:
        (value,) = struct.unpack_from(">i", self.stream, self.at)
        self.at += 4
        return int(value)

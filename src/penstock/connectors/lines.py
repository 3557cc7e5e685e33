"""Splitting of blocks of bytes into lines with their positions: the file source's inner loop, thirty million lines a
minute.

A block is split and decoded as a whole. The positions of its lines are computed only if others than the last are
needed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, overload

from penstock.api.origin import IdentifiedDict
from penstock.api.values import decoded_utf8

log = logging.getLogger(__name__)


class LineReader:
    """Reader that is fed blocks and gives lines; ``name`` is for errors, ``text`` asks for ``str``."""

    def __init__(self, name: str, text: bool) -> None:
        self._name, self._text, self._warned = name, text, False
        self.start_at(0)

    def start_at(self, position: int) -> None:
        """Discard everything; the next block begins at this position."""
        self._position = position
        """Position of the first byte that is not split yet: of ``_whole``, and then ``_rest``."""
        self._whole = b""
        self._rest: list[bytes] = []
        self._values: list[Any] = []
        self._positions: LineOffsets = LineOffsets(position, b"", 0)
        self._next = 0

    @property
    def position(self) -> int:
        """The position of the bytes that are not split into lines yet."""
        return self._position

    @property
    def ready(self) -> bool:
        """Whether ``take`` gives lines without another block."""
        return self._next < len(self._values) or bool(self._whole)

    def feed(self, block: bytes) -> None:
        if self._rest and b"\n" not in block and b"\r" not in block and not self._rest[-1].endswith(b"\r"):
            self._rest.append(block)
            return
        data = b"".join((*self._rest, block)) if self._rest else block
        cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
        self._whole += data[:cut]
        self._rest = [data[cut:]] if cut < len(data) else []

    def end(self) -> None:
        """Take the remainder as a line; called when no more blocks follow."""
        if self._rest:
            self._whole += b"".join(self._rest)
            self._rest = []

    def take(self, limit: int) -> tuple[list[Any], LineOffsets]:
        """Return up to this many lines, and the positions after them."""
        if self._next >= len(self._values) and self._whole:
            self._split()
        start, end = self._next, min(self._next + limit, len(self._values))
        self._next = end
        values = self._values if end - start == len(self._values) else self._values[start:end]
        return values, self._positions[start:end]

    def _split(self) -> None:
        whole, self._whole = self._whole, b""
        if self._text:
            text = self._decoded(whole)
        if b"\r" in whole:
            lines: list[Any] = whole.splitlines()
            self._values = [decoded_utf8(line) for line in lines] if self._text else lines
        else:
            self._values = text.split("\n") if self._text else whole.split(b"\n")
            if whole.endswith(b"\n"):
                self._values.pop()
        self._positions = LineOffsets(self._position, whole, len(self._values))
        self._position += len(whole)
        self._next = 0

    def _decoded(self, whole: bytes) -> str:
        """Decode a line as Java's reader does: U+FFFD for bytes that are not UTF-8, with a warning the first time."""
        try:
            return whole.decode()
        except UnicodeDecodeError as e:
            if not self._warned:
                self._warned = True
                log.warning(
                    "File %s is not UTF-8: %s, byte 0x%02x at position %d. Such bytes are sent as U+FFFD, the "
                    "replacement character. Set value.format=bytes (and value.converter to ByteArrayConverter) to send "
                    "lines as they are.",
                    self._name,
                    e.reason,
                    whole[e.start],
                    self._position + e.start,
                )
            return decoded_utf8(whole)


class LineOffsets(Sequence[dict[str, Any]]):
    """The offsets ``{"position": …}`` after the lines of a block, or of a slice of it.

    ``identity`` is that of the file up to the last of them, or None; a slice up to there has it, too.
    """

    __slots__ = ("_base", "_block", "_count", "_ends", "_start", "_stop", "identity")

    def __init__(self, base: int, block: bytes, count: int) -> None:
        self._base, self._block, self._count = base, block, count
        self._start, self._stop = 0, count
        self._ends: list[list[int]] = []
        self.identity: Mapping[str, Any] | None = None

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, i: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, i: slice) -> LineOffsets: ...
    def __getitem__(self, i: int | slice) -> dict[str, Any] | LineOffsets:
        if isinstance(i, slice):
            start, stop, step = i.indices(len(self))
            if step != 1:
                raise ValueError("positions can be sliced by steps of 1 only")
            part = LineOffsets(self._base, self._block, self._count)
            part._start, part._stop, part._ends = self._start + start, self._start + max(start, stop), self._ends
            part.identity = self.identity if part._stop == self._stop else None
            return part
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        if i in (-1, len(self) - 1):
            last = {"position": self._base + self._end()}
            return last if self.identity is None else IdentifiedDict(last, self.identity)
        return {"position": self._base + self._all()[self._start + i if i >= 0 else self._stop + i]}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        base = self._base
        offsets: list[dict[str, Any]] = [{"position": base + end} for end in self._all()[self._start : self._stop]]
        if offsets and self.identity is not None:
            offsets[-1] = IdentifiedDict(offsets[-1], self.identity)
        return iter(offsets)

    def first_and_last(self, count: int) -> tuple[bytes, bytes]:
        """Return so many of the first and of the last bytes of the lines, which overlap if there are fewer."""
        start, end = self._all()[self._start - 1] if self._start else 0, self._end()
        return self._block[start : min(start + count, end)], self._block[max(start, end - count) : end]

    def _end(self) -> int:
        """The end of the last line of the slice, which is not empty, in the block."""
        return len(self._block) if self._stop == self._count else self._all()[self._stop - 1]

    def _all(self) -> list[int]:
        """The ends of all lines of the block, shared by its slices."""
        if not self._ends:
            self._ends.append(list(accumulate(map(len, self._block.splitlines(keepends=True)))))
        return self._ends[0]

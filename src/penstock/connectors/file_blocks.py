"""The blocks of a file whose end may be NUL bytes: programs that allocate a log in advance write later lines there."""

from __future__ import annotations

import os
import time
from typing import BinaryIO

BLOCK = 1 << 20
SCAN_SECONDS = 30.0
"""Interval at which all NUL bytes at the end of a file are read."""


class FileBlocks:
    """Reads what was written of one file, block by block, from where the file is."""

    def __init__(self) -> None:
        self._room: tuple[int, int] | None = None
        """Size and time of the last change of the file, if it has only NUL bytes after what was read of it."""
        self._next_scan = 0.0

    def clear(self) -> None:
        """Begin with another file, or again with the same."""
        self._room = None

    def ends_at(self, size: int) -> bool:
        """Return whether the rest of the file, if this is its size, is known to have only NUL bytes."""
        return self._room is not None and self._room[0] == size

    def read(self, file: BinaryIO) -> bytes:
        """Return what follows, without the NUL bytes at the end of the file; empty if there is nothing else. Raises
        OSError.
        """
        status = os.fstat(file.fileno())
        if self._room is not None:
            if self._room == (status.st_size, status.st_mtime_ns) and os.pread(file.fileno(), 1, file.tell()) == b"\0":
                return b""
            self._room = None
        block: bytes = file.read(BLOCK)
        if block.endswith(b"\0") and self._only_zeros(file, file.tell(), status.st_size):
            written = block.rstrip(b"\0")
            file.seek(len(written) - len(block), os.SEEK_CUR)
            self._room = status.st_size, status.st_mtime_ns
            return written
        return block

    def _only_zeros(self, file: BinaryIO, position: int, end: int) -> bool:
        """Return whether the file has nothing but NUL bytes from a position on: at intervals all of them are read, else
        the next and the last ones. Raises OSError.
        """
        places = [position, max(position, end - BLOCK)]
        now = time.monotonic()
        if now >= self._next_scan:
            places = list(range(position, end, BLOCK))
            self._next_scan = now + SCAN_SECONDS
        return not any(os.pread(file.fileno(), BLOCK, place).strip(b"\0") for place in places)

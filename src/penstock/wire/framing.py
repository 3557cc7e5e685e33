"""Frames on a connection: a length of four bytes (big-endian), then so many bytes.

A message is a frame with the message itself, its *body*. Bytes beside it, such as columns of records, follow in frames
of their own, its *payload*; the highest bit of a length says that another frame of the same message follows.

Java: ``penstock.host.Frames``.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

Bytes = bytes | bytearray | memoryview

HEADER_BYTES = 4
MAX_FRAME = 2**31 - 1
"""Bytes of one frame; a larger payload is several of them."""
_FOLLOWED = 1 << 31
_MAX_PARTS = 64
"""Buffers given to the kernel at a time; Linux takes 1,024."""


def frame(body: bytes) -> bytes:
    """Return the frame of a message without a payload."""
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def frame_size(header: Bytes, limit: int) -> int:
    """Return the length of the body that follows, of a protocol without payloads.

    Raises ConnectionError if it exceeds the limit.
    """
    size = int.from_bytes(header, "big")
    if size > limit:
        raise ConnectionError(f"a message of {size} bytes is announced, the limit is {limit}")
    return size


async def read_frame(reader: asyncio.StreamReader, limit: int) -> bytes:
    """Return the next body of a protocol without payloads. Raises OSError, asyncio.IncompleteReadError."""
    header = await reader.readexactly(HEADER_BYTES)
    return await reader.readexactly(frame_size(header, limit))


class FrameDecoder:
    """Cuts a stream of bytes into the bodies of messages that have no payload."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """Bytes of one body."""
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the bodies that are complete now. Raises ConnectionError for one that exceeds the limit."""
        self._buffer += data
        while len(self._buffer) >= HEADER_BYTES:
            end = HEADER_BYTES + frame_size(self._buffer[:HEADER_BYTES], self.limit)
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[HEADER_BYTES:end])
            del self._buffer[:end]
            yield body


class FrameConnection:
    """Messages with payloads on a connected socket. Any thread may ``write``; one thread calls ``read``."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(None)  # whatever a plugin has made of ``socket.setdefaulttimeout``
        self._socket = connection
        self._writing = threading.Lock()

    def write(self, body: Bytes, payload: Sequence[Bytes] = ()) -> None:
        """Send a message; the parts of its payload arrive as one. Raises OSError if the other side is gone."""
        parts = [part for part in message_parts(body, payload) if len(part)]
        with self._writing:
            while parts:
                sent = self._socket.sendmsg(parts[:_MAX_PARTS])
                while parts and sent >= len(parts[0]):
                    sent -= len(parts[0])
                    del parts[0]
                if sent:
                    parts[0] = parts[0][sent:]

    def read(self) -> tuple[bytearray, memoryview]:
        """Return the next message and its payload. Raises OSError or EOFError if the other side is gone."""
        body, followed = self._frame()
        payload = bytearray()
        while followed:
            more, followed = self._frame()
            payload = payload + more if payload else more
        return body, memoryview(payload)

    def _frame(self) -> tuple[bytearray, bool]:
        header = int.from_bytes(self._exactly(HEADER_BYTES), "big")
        return self._exactly(header & MAX_FRAME), header >= _FOLLOWED

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while len(view):
            count = self._socket.recv_into(view)
            if not count:
                raise EOFError("the other side has closed the connection")
            view = view[count:]
        return data


def message_parts(body: Bytes, payload: Sequence[Bytes] = ()) -> list[memoryview]:
    """Return the buffers of a message in the order in which they are sent, headers among them."""
    size = sum(map(len, payload))
    if not size:
        return [memoryview(_header(len(body), followed=False)), memoryview(body)]
    parts = [memoryview(_header(len(body), followed=True)), memoryview(body)]
    if size <= MAX_FRAME:
        return [*parts, memoryview(_header(size, followed=False)), *(memoryview(part) for part in payload)]
    whole = memoryview(b"".join(payload))
    for start in range(0, size, MAX_FRAME):
        piece = whole[start : start + MAX_FRAME]
        parts += [memoryview(_header(len(piece), followed=start + MAX_FRAME < size)), piece]
    return parts


def _header(size: int, followed: bool) -> bytes:
    return (size | _FOLLOWED if followed else size).to_bytes(HEADER_BYTES, "big")

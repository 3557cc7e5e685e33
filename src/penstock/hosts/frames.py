"""Messages between this process and a host: two lengths (little-endian), a JSON object, and a payload of bytes.

A message is a call, the reply to one, or a notice without a reply; either side may send any of them at any time.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Any

import orjson

Message = dict[str, Any]
Bytes = bytes | bytearray | memoryview

_LENGTHS = struct.Struct("<II")
_JSON = orjson.OPT_NON_STR_KEYS


class Frames:
    """The messages on a connected socket. Any thread may ``write``; one thread calls ``read``."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._writing = threading.Lock()

    def write(self, message: Message, payload: Sequence[Bytes] = ()) -> None:
        """Raises OSError if the other side is gone."""
        text = orjson.dumps(message, option=_JSON)
        size = sum(map(len, payload))
        parts = [memoryview(part) for part in (_LENGTHS.pack(len(text), size), text, *payload) if len(part)]
        with self._writing:
            while parts:
                sent = self._socket.sendmsg(parts[:64])
                while parts and sent >= len(parts[0]):
                    sent -= len(parts[0])
                    del parts[0]
                if sent:
                    parts[0] = parts[0][sent:]

    def read(self) -> tuple[Message, memoryview]:
        """The next message, with its payload. Raises OSError or EOFError if the other side is gone."""
        text, payload = _LENGTHS.unpack(self._exactly(_LENGTHS.size))
        return _parsed(self._exactly(text)), memoryview(self._exactly(payload))

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while len(view):
            count = self._socket.recv_into(view)
            if not count:
                raise EOFError
            view = view[count:]
        return data


def _parsed(text: bytearray) -> Message:
    try:
        message: Message = orjson.loads(text)
    except orjson.JSONDecodeError:
        # Java's strings may have halves of surrogate pairs, such as a message that was cut off within an emoji.
        # Question marks take their place, as in what Java encodes itself.
        whole = json.dumps(json.loads(text), ensure_ascii=False)
        message = orjson.loads(whole.encode("utf-8", "replace"))
    return message

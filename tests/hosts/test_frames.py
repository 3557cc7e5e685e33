"""Messages between this process and a host."""

from __future__ import annotations

import socket
import struct

import pytest

from penstock.hosts.frames import Frames, Message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rb'{"text": "cut \ud83d"}', {"text": "cut ?"}),
        (
            rb'{"\udc00": ["\ud83d\ude00 \\ud83d", 12345678901234567890, 0.1, null]}',
            {"?": ["😀 \\ud83d", 12345678901234567890, 0.1, None]},
        ),
        (b'{"text": "\xf0\x9f\x98\x80 \\ude00\\ud83d"}', {"text": "😀 ??"}),
    ],
)
def test_half_a_surrogate_pair_of_java_is_a_question_mark(text: bytes, message: Message) -> None:
    """As Jackson writes them: what a plugin logs or throws must not end its session."""
    here, there = socket.socketpair()
    with here, there:
        there.sendall(struct.pack("<II", len(text), 3) + text + b"abc")
        there.sendall(struct.pack("<II", 2, 0) + b"{}")
        frames = Frames(here)
        got, payload = frames.read()
        assert (got, bytes(payload)) == (message, b"abc")
        assert frames.read() == ({}, b"")

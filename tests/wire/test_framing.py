"""Framing: bodies and payloads arrive as they were sent, whatever the network makes of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from penstock.wire import framing
from penstock.wire.framing import FrameConnection, FrameDecoder, frame, message_parts


@pytest.fixture
def ends() -> Iterator[tuple[FrameConnection, FrameConnection]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield FrameConnection(ours), FrameConnection(theirs)


def test_bodies_are_cut_out_of_a_stream() -> None:
    stream = frame(b"one") + frame(b"") + frame(b"three")
    decoder = FrameDecoder(limit=10)
    found = [body for at in range(len(stream)) for body in decoder.feed(stream[at : at + 1])]
    assert found == [b"one", b"", b"three"]
    assert list(decoder.feed(stream)) == found


def test_a_body_beyond_the_limit_is_refused_before_it_has_arrived() -> None:
    with pytest.raises(ConnectionError, match="a message of 11 bytes is announced, the limit is 10"):
        list(FrameDecoder(limit=10).feed(b"\0\0\0\x0b"))


def test_a_payload_is_refused_where_a_protocol_has_none() -> None:
    parts = b"".join(message_parts(b"body", [b"payload"]))
    with pytest.raises(ConnectionError, match="the limit is 256"):
        list(FrameDecoder(limit=256).feed(parts))


def test_payloads_arrive_as_one(ends: tuple[FrameConnection, FrameConnection]) -> None:
    ours, theirs = ends
    payload = [b"", b"ab", memoryview(b"cd"), *[bytes([i]) for i in range(100)]]
    ours.write(b"first", payload)
    ours.write(b"second")
    assert theirs.read() == (b"first", b"abcd" + bytes(range(100)))
    body, rest = theirs.read()
    assert (body, bytes(rest)) == (b"second", b"")


def test_large_payloads_arrive_while_they_are_sent(ends: tuple[FrameConnection, FrameConnection]) -> None:
    ours, theirs = ends
    large = bytes(range(256)) * 40_000
    threading.Thread(target=ours.write, args=(b"head", [large, b"end"]), daemon=True).start()
    body, payload = theirs.read()
    assert body == b"head"
    assert payload == large + b"end"


def test_payloads_beyond_one_frame_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_FRAME", 4)
    assert [bytes(part) for part in message_parts(b"ab", [b"123456", b"789"])] == [
        b"\x80\0\0\x02",
        b"ab",
        b"\x80\0\0\x04",
        b"1234",
        b"\x80\0\0\x04",
        b"5678",
        b"\0\0\0\x01",
        b"9",
    ]


def test_frames_of_one_payload_are_put_together(ends: tuple[FrameConnection, FrameConnection]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"\x80\0\0\x02ab" + b"\x80\0\0\x02cd" + b"\0\0\0\x01e")
        assert FrameConnection(theirs).read() == (b"ab", b"cde")


def test_the_end_of_a_connection_is_an_error() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(b"\0\0")
        with pytest.raises(EOFError):
            FrameConnection(theirs).read()

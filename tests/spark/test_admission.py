"""Connections to the port for tasks by other programs: nothing that they send or omit costs the worker much."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.spark import admission
from penstock.spark.admission import Link, Reception
from penstock.spark.channel import TaskChannel
from penstock.spark.messages.task import (
    ADMISSIONS,
    PRESENTATIONS,
    AdmissionAnswer,
    AdmittedTask,
    Challenge,
    Presentation,
    Refusal,
    RunningReport,
    TaskIdentity,
)
from penstock.spark.tls import SecuredConnection, identity
from penstock.wire.framing import FrameDecoder, frame
from support.spark.host import make_spec
from support.waiting import until

KEY = "ab" * 32
WHO = TaskIdentity("c", 0, 1)
ADMITTED = AdmittedTask(make_spec(), 1.0, {"x": "DEBUG", "y": 10})


@contextmanager
def reception() -> Iterator[tuple[tuple[str, int], Reception]]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)

    def admit(who: TaskIdentity, link: Link) -> AdmittedTask:
        assert who == link.who == WHO
        return ADMITTED

    place = Reception(identity(), lambda who: KEY if who == WHO else None, lambda _: None, admit)
    loop = asyncio.new_event_loop()

    def serve() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(place.serve(listening))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname(), place
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join()
        loop.close()


def assert_admits(address: tuple[str, int]) -> None:
    channel, admitted = TaskChannel.connect(address, identity().fingerprint, KEY, WHO, timeout=900.0)
    assert admitted == ADMITTED
    channel.close()
    channel._socket.close()


def test_random_bytes_before_and_in_tls_do_not_hinder_a_task() -> None:
    chance = random.Random(18)
    with reception() as (address, place):
        for number in range(60):
            with socket.create_connection(address, 30) as plain, suppress(OSError):
                said = chance.randbytes(chance.randrange(1, 2000))
                if number % 3:
                    to: Any = SecuredConnection(plain, identity().fingerprint)
                    # Frames of any length, of a length beyond the limit, and JSON that is not an object.
                    to.sendall((said, b"\x7f\xff\xff\xff" + said, b"\0\0\0\2[]")[number % 3])
                else:
                    plain.sendall(said)
                plain.shutdown(socket.SHUT_WR)
                while plain.recv(1 << 16):
                    pass
        assert_admits(address)
        until(lambda: not place._strangers, "the end of all that is kept of them")


def answer_to(said: Presentation) -> AdmissionAnswer:
    """Return the worker's answer to a presentation before it closes the connection."""
    with reception() as (address, _place), socket.create_connection(address, 30) as plain:
        secured, frames = SecuredConnection(plain, identity().fingerprint), FrameDecoder(1 << 16)
        secured.sendall(frame(PRESENTATIONS.encode(said)))
        heard = [body for data in iter(lambda: secured.recv(1 << 16), b"") for body in frames.feed(data)]
        challenge, answer = map(ADMISSIONS.decode, heard)
        assert isinstance(challenge, Challenge)
        return answer


@pytest.mark.parametrize(
    "who", ["", "[]", '{"connector":"c","task":0}', '{"connector":"c","task":"0","run":1}', "\udcff", "[" * 9999]
)
def test_a_process_that_does_not_identify_itself_is_refused(who: str) -> None:
    assert answer_to(Presentation(who, "n", "p")) == Refusal("it does not identify itself")


def test_a_proof_of_any_text_is_refused() -> None:
    who = '{"connector":"c","task":0,"run":1}'
    refusal = Refusal("this worker does not expect this task, or it does not know its key")
    assert answer_to(Presentation(who, "\udcff", "\udcff")) == refusal


def test_a_message_of_another_version_closes_the_channel_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> list[Any]:
        reader = asyncio.StreamReader()
        for name in ("RunningReport", "RuningReport", "DoneReport"):
            reader.feed_data(frame(f'{{"type":"{name}"}}'.encode()))
        writer: Any = SimpleNamespace(close=lambda: None)
        return [message async for message in Link(reader, writer, WHO).messages(60.0)]

    assert asyncio.run(story()) == [RunningReport()]
    assert "Run 1 of task c-0 has sent an invalid message; its channel is closed" in caplog.text
    assert "the task channel (task to worker) has no message 'RuningReport'" in caplog.text


def test_who_says_nothing_is_given_up_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "STRANGERS", 4)
    monkeypatch.setattr(admission, "PATIENCE", 600.0)
    with reception() as (address, _place):
        silent = [socket.create_connection(address, 30) for _ in range(6)]
        for early in silent[:2]:
            assert early.recv(1) == b""
        assert_admits(address)
        for late in silent[3:]:
            late.setblocking(False)
            with pytest.raises(BlockingIOError):
                late.recv(1)
        for each in silent:
            each.close()


def test_who_says_nothing_has_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "PATIENCE", 0.2)
    with reception() as (address, _place):
        with socket.create_connection(address, 30) as silent:
            assert silent.recv(1) == b""
        # Its time may be over before it has sent anything.
        with socket.create_connection(address, 60) as plain, suppress(OSError):
            secured = SecuredConnection(plain, identity().fingerprint)
            secured.sendall(b"\0\0")
            while secured.recv(1 << 16):
                pass

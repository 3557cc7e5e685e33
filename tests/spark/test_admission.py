"""Who connects to the port of the tasks without being one: nothing it says or does not say costs the worker much."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from penstock.spark import admission
from penstock.spark.admission import Link, Reception
from penstock.spark.channel import Message, TaskChannel
from penstock.spark.tls import SecuredConnection, identity
from support.waiting import until

KEY = "ab" * 32
WHO = {"connector": "c", "task": 0, "run": 1}


@contextmanager
def reception() -> Iterator[tuple[tuple[str, int], Reception]]:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)

    def admit(who: Message, link: Link) -> Message:
        return {"lease": 1.0, "who": who}

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
    channel, admitted = TaskChannel.connect(address, identity().fingerprint, KEY, WHO, timeout=30.0)
    assert admitted == {"lease": 1.0, "who": WHO}
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
                    # Of any length, of a length beyond the limit, and JSON that is no object.
                    to.sendall((said, b"\x7f\xff\xff\xff" + said, b"\0\0\0\2[]")[number % 3])
                else:
                    plain.sendall(said)
                plain.shutdown(socket.SHUT_WR)
                while plain.recv(1 << 16):
                    pass
        assert_admits(address)
        until(lambda: not place._strangers, "the end of all that is kept of them", 60)


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
        # Its time may be over before it has said anything.
        with socket.create_connection(address, 60) as plain, suppress(OSError):
            secured = SecuredConnection(plain, identity().fingerprint)
            secured.sendall(b"\0\0")
            while secured.recv(1 << 16):
                pass

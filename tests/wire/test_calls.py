"""Calls between two processes: lanes, calls during calls, errors, timeouts and the end of the other side."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.wire.calls import BACKGROUND, CallPeer, Envelope, RemoteCall, RemoteFailure, RemoteReply
from penstock.wire.framing import FrameConnection

WAIT = 30.0


class GoneError(Exception):
    pass


class JsonCalls:
    """A protocol whose messages are a method and its arguments."""

    def __init__(self, connection: socket.socket) -> None:
        self._frames = FrameConnection(connection)
        self.answers: dict[str, Callable[..., Any]] = {}
        self.failures: list[str] = []

    def send(self, envelope: Envelope) -> None:
        head = {"kind": type(envelope).__name__, "number": envelope.number, "message": envelope.message}
        if isinstance(envelope, RemoteCall):
            head |= {"lane": envelope.lane, "during": envelope.during}
        self._frames.write(json.dumps(head).encode(), envelope.payload)

    def receive(self) -> Envelope:
        body, payload = self._frames.read()
        head = json.loads(body)
        kinds: dict[str, Any] = {each.__name__: each for each in (RemoteCall, RemoteReply, RemoteFailure)}
        found: Envelope = kinds[head.pop("kind")](payload=(payload,), **head)
        return found

    def answer(self, call: RemoteCall) -> RemoteReply:
        method, *arguments = call.message
        return RemoteReply(self.answers[method](*arguments), [call.data])

    def failure(self, call: RemoteCall, error: BaseException) -> RemoteFailure:
        self.failures.append(str(error))
        return RemoteFailure(str(error))

    def error(self, failure: RemoteFailure) -> BaseException:
        return ValueError(failure.message)

    def lost(self) -> BaseException:
        return GoneError()


class End:
    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.protocol = JsonCalls(connection)
        self.peer = CallPeer(self.protocol)

    def call(self, *message: Any, **options: Any) -> Any:
        return self.peer.call(message, **options).message


@pytest.fixture
def ends() -> Iterator[tuple[End, End]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        both = End(ours), End(theirs)
        for end in both:
            end.peer.start()
        yield both
        ours.shutdown(socket.SHUT_RDWR)
        for end in both:
            assert end.peer.gone.wait(WAIT)


def test_a_call_returns_its_result_and_bytes(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    theirs.protocol.answers["add"] = lambda a, b: a + b
    reply = ours.peer.call(("add", 1, 2), [b"ab", b"c"])
    assert (reply.message, bytes(reply.data)) == (3, b"abc")


def test_replies_reach_the_thread_that_waits_for_them(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    theirs.protocol.answers["same"] = lambda value: (time.sleep(0.001 * (value % 3)), value)[1]
    found: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
    threads = [threading.Thread(target=lambda i=i: found.put((i, ours.call("same", i, lane=None)))) for i in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT)
    assert sorted(found.get_nowait() for _ in threads) == [(i, i) for i in range(20)]


def test_calls_of_a_lane_run_in_order_and_lanes_beside_each_other(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    release, order = threading.Event(), list[int]()
    theirs.protocol.answers |= {"wait": lambda: release.wait(WAIT), "note": order.append}
    waiting = ours.peer.begin(("wait",), lane="slow")
    noted = [ours.peer.begin(("note", i), lane="slow") for i in range(5)]
    ours.call("note", 100, lane="fast")
    assert order == [100]
    release.set()
    assert waiting.wait(WAIT) is not None
    for each in noted:
        each.wait(WAIT)
    assert order == [100, 0, 1, 2, 3, 4]


def test_a_call_made_during_a_call_is_answered_by_the_waiting_thread(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    ours.protocol.answers["who"] = lambda: threading.current_thread().name
    theirs.protocol.answers["ask back"] = lambda: theirs.call("who")
    assert ours.call("ask back") == threading.current_thread().name


def test_a_call_made_during_one_aside_is_answered_by_another_thread(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    ours.protocol.answers["who"] = lambda: threading.current_thread().name
    theirs.protocol.answers["ask back"] = lambda: theirs.call("who")
    pending = ours.peer.begin(("ask back",), aside=True)
    assert pending.done.wait(WAIT)
    assert pending.succeeded
    reply = pending.wait(0)
    assert reply is not None
    assert reply.message == f"peer-{BACKGROUND}"


def test_an_error_is_raised_where_the_call_was_made(ends: tuple[End, End]) -> None:
    ours, theirs = ends

    def fail() -> None:
        raise RuntimeError("no such thing")

    theirs.protocol.answers["fail"] = fail
    with pytest.raises(ValueError, match="no such thing"):
        ours.call("fail")
    ours.peer.tell(("fail",))
    theirs.protocol.answers["failures"] = lambda: theirs.protocol.failures
    assert ours.call("failures") == ["no such thing"] * 2


def test_a_late_reply_is_dropped(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    release = threading.Event()
    theirs.protocol.answers |= {"wait": lambda: release.wait(WAIT), "next": lambda: "next"}
    with pytest.raises(TimeoutError, match=r"waiting has not returned for 0\.01 s"):
        ours.call("wait", timeout=0.01, name="waiting")
    release.set()
    assert ours.call("next") == "next"


def test_a_call_back_after_the_timeout_is_answered_all_the_same(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    release, answered = threading.Event(), threading.Event()
    ours.protocol.answers["back"] = answered.set
    theirs.protocol.answers["wait"] = lambda: (release.wait(WAIT), theirs.call("back"))[1]
    with pytest.raises(TimeoutError):
        ours.call("wait", timeout=0.01)
    release.set()
    assert answered.wait(WAIT)


def test_all_who_wait_hear_of_the_end(ends: tuple[End, End]) -> None:
    ours, theirs = ends
    theirs.protocol.answers["leave"] = lambda: theirs.socket.shutdown(socket.SHUT_RDWR)
    other = ours.peer.begin(("leave",), lane="other")
    with pytest.raises(GoneError):
        other.wait(WAIT)
    assert not other.succeeded
    with pytest.raises(GoneError):
        ours.call("anything")


def test_a_thread_of_ones_own_runs_a_lane() -> None:
    near, far = socket.socketpair()
    with near, far:
        ours, theirs = End(near), End(far)
        theirs.protocol.answers["who"] = lambda: threading.current_thread().name
        main = threading.Thread(target=theirs.peer.run_lane, args=("task",), name="own thread")
        main.start()
        while "task" not in theirs.peer._lanes:
            time.sleep(0.001)
        ours.peer.start()
        theirs.peer.start()
        assert ours.call("who", lane="task") == "own thread"
        near.shutdown(socket.SHUT_RDWR)
        main.join(WAIT)
        assert not main.is_alive()

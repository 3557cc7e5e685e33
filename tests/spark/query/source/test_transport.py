"""Transport of Arrow batches from many senders to one receiver, over real sockets."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.query.source import transport
from penstock.spark.query.source.partitions import BatchLostError
from penstock.spark.query.source.transport import NUMBER_BYTES, Receiver, Send
from support.tasks.runs import SECONDS, eventually

ROWS = pa.record_batch({"id": [1, 2, 3]})


def send(to: Send, partition: int, batches: int, key: bytes | None = None) -> None:
    replace(to, key=key or to.key).partition(partition, [ROWS] * batches)


def receivers() -> int:
    """Return the number of connections that are being served."""
    return sum("_receive" in repr(getattr(each, "_target", None)) for each in threading.enumerate())


class Failing:
    """A listening socket whose second connection is closed before it is accepted."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening, self.failed = listening, False

    def accept(self) -> Any:
        if self.failed:
            return self._listening.accept()
        self.failed = True
        raise ConnectionAbortedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listening, name)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver("127.0.0.1")


def test_the_end_comes_after_all_rows(receiver: Receiver) -> None:
    to = receiver.expect()
    threads = [threading.Thread(target=send, args=(to, number, 5)) for number in range(3)]
    for each in threads:
        each.start()
    assert [receiver.take(SECONDS).num_rows for _ in range(15)] == [3] * 15
    for each in threads:
        each.join()
    receiver.finish(45, "end")
    assert receiver.take(SECONDS) == "end"
    receiver.close()


def test_strangers_and_who_is_late_are_not_heard(receiver: Receiver) -> None:
    old = receiver.expect()
    to = receiver.expect()
    for late, key in ((old, None), (to, bytes(32))):
        with pytest.raises(OSError):
            send(late, 0, 1, key)
    send(to, 0, 1)
    receiver.finish(3, "end")
    assert [receiver.take(SECONDS).num_rows, receiver.take(SECONDS)] == [3, "end"]
    receiver.close()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(40)])
def test_a_connection_of_a_stranger_does_not_fail_the_batch(receiver: Receiver, sent: bytes) -> None:
    to = receiver.expect()
    with socket.create_connection(to.address) as stranger:
        stranger.sendall(sent)
        # Close the connection with a reset.
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    eventually(lambda: receivers() == 0)
    send(to, 0, 1)
    receiver.finish(3, "end")
    assert [receiver.take(SECONDS).num_rows, receiver.take(SECONDS)] == [3, "end"]
    receiver.close()


def test_a_connection_that_can_not_be_accepted_does_not_end_the_listening(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing(receiver._listening)
    monkeypatch.setattr(receiver, "_listening", failing)
    to = receiver.expect()
    for number in range(3):
        send(to, number, 1)
        assert receiver.take(SECONDS).num_rows == 3
    receiver.finish(9, "end")
    assert receiver.take(SECONDS) == "end"
    assert failing.failed
    receiver.close()


def breaking(rows: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches and then fail, as if the sending process died."""
    yield from rows
    raise ConnectionAbortedError


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_partition_that_is_sent_again_is_taken_once(receiver: Receiver, before: int) -> None:
    to, other = receiver.expect(), pa.record_batch({"id": [4, 5]})
    with pytest.raises(ConnectionAbortedError):
        to.partition(7, breaking([ROWS, other][:before]))
    assert [receiver.take(SECONDS).num_rows for _ in range(before)] == [3, 2][:before]
    assert to.partition(7, [ROWS, other]) == 5
    assert [receiver.take(SECONDS) for _ in range(2 - before)] == [ROWS, other][before:]
    receiver.finish(5, "end")
    assert receiver.take(SECONDS) == "end"
    receiver.close()


def test_a_partition_that_had_arrived_whole_may_be_sent_again(receiver: Receiver) -> None:
    to = receiver.expect()
    for _ in range(2):
        assert to.partition(7, [ROWS]) == 3
    receiver.finish(3, "end")
    assert [receiver.take(SECONDS), receiver.take(SECONDS)] == [ROWS, "end"]
    receiver.close()


def test_an_attempt_that_still_sends_is_ended_by_the_next(receiver: Receiver) -> None:
    to, going = receiver.expect(), threading.Event()

    def hanging() -> Iterator[pa.RecordBatch]:
        yield ROWS
        going.wait()
        yield ROWS

    ends: list[BaseException] = []

    def first() -> None:
        try:
            to.partition(7, hanging())
        except OSError as error:
            ends.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    assert receiver.take(SECONDS) == ROWS
    assert to.partition(7, [ROWS, ROWS]) == 6
    going.set()
    thread.join()
    assert ends
    receiver.finish(6, "end")
    assert [receiver.take(SECONDS), receiver.take(SECONDS)] == [ROWS, "end"]
    receiver.close()


@pytest.mark.parametrize("again", [[pa.record_batch({"id": [3, 2, 1]})], []], ids=["another order", "fewer"])
def test_a_partition_with_other_rows_than_before_loses_the_batch(
    receiver: Receiver, again: list[pa.RecordBatch]
) -> None:
    to = receiver.expect()
    with pytest.raises(ConnectionAbortedError):
        to.partition(7, breaking([ROWS]))
    assert receiver.take(SECONDS) == ROWS
    with pytest.raises(OSError):
        to.partition(7, again)
    with pytest.raises(BatchLostError, match="partition 7 twice"):
        receiver.check()
    receiver.close()


def test_rows_that_have_not_arrived_lose_the_batch(receiver: Receiver) -> None:
    receiver.expect().partition(7, [ROWS])
    with pytest.raises(BatchLostError, match="6 rows were sent, but 3 have arrived"):
        receiver.finish(6, "end")
    receiver.close()


def test_rows_go_to_the_pinned_certificate_alone_and_are_not_readable(receiver: Receiver) -> None:
    to = receiver.expect()
    with pytest.raises(ConnectionError, match="another certificate"):
        send(replace(to, fingerprint="00" * 32), 0, 1)
    with socket.create_connection(to.address) as plain:
        plain.settimeout(10)
        plain.sendall(to.key + bytes(NUMBER_BYTES))
        answer = b""
        with suppress(ConnectionResetError):
            answer = plain.recv(100)
    assert answer[:1] in (b"", b"\x15"), "a client without TLS gets at most an alert"
    receiver.close()


def test_oldest_of_too_many_unknown_connections_is_closed(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "STRANGERS", 3)
    to = receiver.expect()
    strangers = [socket.create_connection(to.address) for _ in range(5)]
    for early in strangers[:2]:
        early.settimeout(10)
        assert early.recv(1) == b""
    send(to, 0, 1)
    receiver.finish(3, "end")
    assert [receiver.take(SECONDS).num_rows, receiver.take(SECONDS)] == [3, "end"]
    for each in strangers:
        each.close()
    receiver.close()

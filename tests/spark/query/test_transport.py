"""Arrow batches from many to one, over real sockets."""

from __future__ import annotations

import socket
import struct
import threading
from typing import Any

import pyarrow as pa
import pytest

from penstock.api.errors import ConnectError
from penstock.spark.query.source.transport import NUMBER_BYTES, Receiver, Send
from support.tasks.runs import eventually

ROWS = pa.record_batch({"id": [1, 2, 3]})


def send(to: Send, partition: int, batches: int, key: bytes | None = None) -> None:
    with socket.create_connection(to.address) as connection, connection.makefile("wb") as stream:
        stream.write((key or to.key) + partition.to_bytes(NUMBER_BYTES))
        with pa.ipc.new_stream(stream, ROWS.schema) as writer:
            for _ in range(batches):
                writer.write_batch(ROWS)


def receivers() -> int:
    """How many connections are served now."""
    return sum("_receive" in repr(getattr(each, "_target", None)) for each in threading.enumerate())


class Failing:
    """A listening socket whose second connection is gone before it is accepted."""

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
    threads.append(threading.Thread(target=receiver.finish, args=(45, "end")))
    for each in threads:
        each.start()
    taken = [receiver.take(10) for _ in range(16)]
    assert [rows.num_rows for rows in taken[:-1]] == [3] * 15
    assert taken[-1] == "end"
    receiver.close()


def test_strangers_and_who_is_late_are_not_heard(receiver: Receiver) -> None:
    old = receiver.expect()
    to = receiver.expect()
    send(old, 0, 1)
    send(to, 0, 1, key=bytes(32))
    send(to, 0, 1)
    receiver.finish(3, "end")
    assert [receiver.take(10).num_rows, receiver.take(10)] == [3, "end"]
    receiver.close()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(40)])
def test_a_connection_of_a_stranger_does_not_fail_the_batch(receiver: Receiver, sent: bytes) -> None:
    to = receiver.expect()
    with socket.create_connection(to.address) as stranger:
        stranger.sendall(sent)
        # Closed with a reset.
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    eventually(lambda: receivers() == 0)
    send(to, 0, 1)
    receiver.finish(3, "end")
    assert [receiver.take(10).num_rows, receiver.take(10)] == [3, "end"]
    receiver.close()


def test_a_connection_that_can_not_be_accepted_does_not_end_the_listening(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing(receiver._listening)
    monkeypatch.setattr(receiver, "_listening", failing)
    to = receiver.expect()
    for number in range(3):
        send(to, number, 1)
        assert receiver.take(10).num_rows == 3
    receiver.finish(9, "end")
    assert receiver.take(10) == "end"
    assert failing.failed
    receiver.close()


def test_a_partition_that_is_sent_again_is_no_batch(receiver: Receiver) -> None:
    to = receiver.expect()
    send(to, 7, 1)
    assert receiver.take(10).num_rows == 3
    send(to, 7, 2)
    with pytest.raises(ConnectError, match="6 rows were sent, but 3 have arrived") as raised:
        receiver.finish(6, "end")
    assert "partition 7" in str(raised.value.__cause__)
    receiver.close()

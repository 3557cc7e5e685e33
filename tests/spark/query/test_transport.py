"""Arrow batches from many to one, over real sockets."""

from __future__ import annotations

import socket
import threading

import pyarrow as pa
import pytest

from penstock.api.errors import ConnectError
from penstock.spark.query.source.transport import NUMBER_BYTES, Receiver, Send

ROWS = pa.record_batch({"id": [1, 2, 3]})


def send(to: Send, partition: int, batches: int, key: bytes | None = None) -> None:
    with socket.create_connection(to.address) as connection, connection.makefile("wb") as stream:
        stream.write((key or to.key) + partition.to_bytes(NUMBER_BYTES))
        with pa.ipc.new_stream(stream, ROWS.schema) as writer:
            for _ in range(batches):
                writer.write_batch(ROWS)


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


def test_a_partition_that_is_sent_again_is_no_batch(receiver: Receiver) -> None:
    to = receiver.expect()
    send(to, 7, 1)
    assert receiver.take(10).num_rows == 3
    send(to, 7, 2)
    with pytest.raises(ConnectError, match="6 rows were sent, but 3 have arrived") as raised:
        receiver.finish(6, "end")
    assert "partition 7" in str(raised.value.__cause__)
    receiver.close()

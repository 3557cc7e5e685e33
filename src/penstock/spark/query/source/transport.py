"""Rows from Spark's processes to the driver's: Arrow batches over sockets, no faster than they are taken.

Spark's own ways to its driver gather a whole partition, a file perhaps, in Java's memory. Here a process of Spark holds
one Arrow batch, and so does each connection.
"""

from __future__ import annotations

import hmac
import queue
import secrets
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import sleep
from typing import Any, BinaryIO, cast

import pyarrow as pa

from penstock.api.errors import ConnectError

KEY_BYTES, NUMBER_BYTES = 32, 4
SENT = "sent"
KEY_SECONDS = 30.0
"""How long a connection may take to send its key."""
RETRY_SECONDS = 0.1
AHEAD = 2
"""Arrow batches that wait to be taken."""
LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Send:
    """The function of ``mapInArrow``: sends a partition and answers with the number of its rows."""

    address: tuple[str, int]
    key: bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        sent = 0
        with socket.create_connection(self.address) as connection, connection.makefile("wb") as stream:
            stream.write(self.key + context.partitionId().to_bytes(NUMBER_BYTES))
            writer = None
            for batch in filter(len, batches):
                writer = writer or pa.ipc.new_stream(stream, batch.schema)
                writer.write_batch(batch)
                stream.flush()
                sent += batch.num_rows
            if writer is not None:
                writer.close()
        yield pa.record_batch({SENT: pa.array([sent], pa.int64())})


class Receiver:
    """Takes what the partitions of one batch at a time send. ``take`` is for one thread, ``finish`` for another."""

    def __init__(self, host: str) -> None:
        """``host``: this machine's name for Spark's processes."""
        own = "127.0.0.1" if host in ("127.0.0.1", "localhost") else "0.0.0.0"
        self._listening = socket.create_server((own, 0), backlog=1024)
        self._host = host
        self._key = b""
        self._rows: queue.Queue[Any] = queue.Queue(AHEAD)
        self._begun: set[bytes] = set()
        self._received = 0
        self._broken: Exception | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._connections: set[socket.socket] = set()
        threading.Thread(target=self._accept, name="rows", daemon=True).start()

    def expect(self) -> Send:
        """Begin a batch: the function by which its partitions are to send."""
        with self._changed:
            self._key, self._begun, self._received, self._broken = secrets.token_bytes(KEY_BYTES), set(), 0, None
        return Send((self._host, self._listening.getsockname()[1]), self._key)

    def take(self, seconds: float) -> Any:
        """The next Arrow batch, or what ``finish`` was given; None if nothing comes for so long."""
        try:
            return self._rows.get(timeout=seconds)
        except queue.Empty:
            return None

    def finish(self, sent: int, end: object) -> None:
        """Called when all partitions have sent their rows, ``sent`` in all: ``end`` is taken after the last of them."""
        with self._changed:
            # The last of them may be on their way still.
            self._changed.wait_for(lambda: self._closed or self._broken or self._received >= sent)
            if self._received != sent and not self._closed:
                problem = f"Spark says that {sent} rows were sent, but {self._received} have arrived"
                raise ConnectError(problem) from self._broken
        self._put(end)

    def close(self) -> None:
        """Called from any thread: no more rows are taken, and partitions that send fail."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            connections = list(self._connections)
        for each in (self._listening, *connections):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                # A connection that is gone before it is accepted, or no descriptor for it.
                sleep(RETRY_SECONDS)
                continue
            threading.Thread(target=self._receive, args=(connection,), name="rows", daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        """One partition. A connection that breaks is its sender's failure, which Spark reports.

        What does not begin with the key of the batch is no partition of it, and is ignored.
        """
        with self._changed:
            self._connections.add(connection)
        key = b""
        try:
            with connection, connection.makefile("rb") as stream:
                connection.settimeout(KEY_SECONDS)
                key = stream.read(KEY_BYTES)
                if self._closed or not hmac.compare_digest(key, self._key):
                    return
                connection.settimeout(None)
                self._begin(stream.read(NUMBER_BYTES))
                if not stream.peek(1):
                    return
                for rows in pa.ipc.open_stream(cast(BinaryIO, stream)):
                    if key != self._key or not self._put(rows):
                        return
                    with self._changed:
                        self._received += rows.num_rows
                        self._changed.notify_all()
        except (OSError, EOFError, pa.ArrowException) as error:
            with self._changed:
                if hmac.compare_digest(key, self._key):
                    self._broken = error
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._connections.discard(connection)

    def _begin(self, partition: bytes) -> None:
        with self._changed:
            if partition in self._begun:
                raise OSError(f"Spark has begun again with partition {int.from_bytes(partition)}")
            self._begun.add(partition)

    def _put(self, item: object) -> bool:
        while not self._closed:
            with suppress(queue.Full):
                self._rows.put(item, timeout=LOOK_SECONDS)
                return True
        return False

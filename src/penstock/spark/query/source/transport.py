"""Rows from Spark's processes to the driver's: Arrow batches over TLS, no faster than they are taken.

Spark's own ways to its driver gather a whole partition, a file perhaps, in Java's memory. Here a process of Spark holds
one Arrow batch, and so does each connection.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, cast

import pyarrow as pa

from penstock.spark.query.source.arrivals import Arrivals, Arriving, AsTheyCome
from penstock.spark.query.source.partitions import BatchLostError, Partitions
from penstock.spark.tls import identity, wrapped

log = logging.getLogger(__name__)

KEY_BYTES, NUMBER_BYTES, COUNT_BYTES = 32, 4, 8
ROWS, END = b"R", b"E"
"""Tags of what follows on a connection: an Arrow stream, or the number of the partition's rows."""
TAKEN = b"T"
"""The answer when all of a partition has arrived."""
SENT = "sent"
KEY_SECONDS = 10.0
"""Seconds that a connection may take for TLS, and then to send its key."""
STRANGERS = 256
"""Maximum of connections that have not sent their key; the oldest of more is closed."""
BUFFER = 1 << 18
"""Bytes; with Python's own 8 KiB, TLS would cut and put together many more records."""
RETRY_SECONDS = 0.1
LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Send:
    """The function of ``mapInArrow``: sends a partition and answers with the number of its rows."""

    address: tuple[str, int]
    fingerprint: str
    """The fingerprint of the certificate of the driver's process."""
    key: bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        yield pa.record_batch({SENT: pa.array([self.partition(context.partitionId(), batches)], pa.int64())})

    def partition(self, number: int, batches: Iterable[pa.RecordBatch]) -> int:
        """Send one partition; returns the number of its rows when all have arrived."""
        sent = 0
        with self._connection() as connection, connection.makefile("wb", BUFFER) as stream:
            stream.write(self.key + number.to_bytes(NUMBER_BYTES))
            for batch in filter(len, batches):
                if not sent:
                    stream.write(ROWS)
                    writer = pa.ipc.new_stream(stream, batch.schema)
                writer.write_batch(batch)
                stream.flush()
                sent += batch.num_rows
            if sent:
                writer.close()
            stream.write(END + sent.to_bytes(COUNT_BYTES))
            stream.flush()
            if connection.recv(len(TAKEN)) != TAKEN:
                raise ConnectionError(f"The task has not taken the rows of partition {number}")
        return sent

    def _connection(self) -> ssl.SSLSocket:
        plain = socket.create_connection(self.address)
        try:
            return wrapped(plain, self.fingerprint)
        except BaseException:
            plain.close()
            raise


class Receiver:
    """Takes what the partitions of one batch at a time send. ``take`` is for one thread, ``finish`` for another."""

    def __init__(self, host: str, arrivals: Arrivals | None = None) -> None:
        """``host``: this machine's name for Spark's processes. ``arrivals``: in which order rows are taken."""
        own = "127.0.0.1" if host in ("127.0.0.1", "localhost") else "0.0.0.0"
        self._listening = socket.create_server((own, 0), backlog=1024)
        self._host = host
        self._key = b""
        self._arrivals: Arrivals = arrivals or AsTheyCome()
        self._partitions = Partitions()
        self._changed = threading.Condition()
        self._closed = False
        self._connections: set[socket.socket] = set()
        self._strangers: dict[socket.socket, None] = {}
        self._identity = identity()
        threading.Thread(target=self._accept, name="rows", daemon=True).start()

    def expect(self, partitions: int = 0) -> Send:
        """Begin a batch: the function by which its partitions are to send, so many if their order counts."""
        with self._changed:
            self._key, self._partitions = secrets.token_bytes(KEY_BYTES), Partitions()
            self._arrivals.begin(partitions)
        return Send((self._host, self._listening.getsockname()[1]), self._identity.fingerprint, self._key)

    def take(self, seconds: float) -> Any:
        """Return the next Arrow batch, or the object of ``finish``; None if neither arrives within ``seconds``."""
        return self._arrivals.take(seconds)

    def finish(self, sent: int, end: object) -> None:
        """Called when all partitions have sent their rows, ``sent`` in all: ``end`` is taken after the last of them.

        Raises BatchLostError if these are not the rows that were taken.
        """
        self.check()
        if self._partitions.rows != sent and not self._closed:
            raise BatchLostError(f"Spark says that {sent} rows were sent, but {self._partitions.rows} have arrived")
        while not self._closed and not self._arrivals.finish(end, LOOK_SECONDS):
            pass

    def check(self) -> None:
        """Raise BatchLostError if Spark has sent a partition twice with different rows."""
        if self._partitions.differing:
            raise BatchLostError(self._partitions.differing[0])

    def abandon(self) -> None:
        """Take no more rows of this batch."""
        with self._changed:
            self._key, self._partitions = secrets.token_bytes(KEY_BYTES), Partitions()
            self._arrivals.clear()

    def close(self) -> None:
        """Called from any thread: no more rows are taken, and partitions that send fail."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            connections = list(self._connections)
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        for each in connections:
            _hang_up(each)
        self._listening.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                # A connection that is gone before it is accepted, or no descriptor for it.
                time.sleep(RETRY_SECONDS)
                continue
            try:
                secured = self._identity.context.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
            except OSError:
                connection.close()  # it is gone already
                continue
            with self._changed:
                if len(self._strangers) >= STRANGERS:
                    oldest = next(iter(self._strangers))
                    del self._strangers[oldest]
                    _hang_up(oldest)
                self._connections.add(secured)
                self._strangers[secured] = None
            threading.Thread(target=self._receive, args=(secured,), name="rows", daemon=True).start()

    def _receive(self, connection: ssl.SSLSocket) -> None:
        """Receive one partition. A connection that breaks is its sender's failure, which Spark reports.

        What does not begin with the key of the batch is no partition of it, and is ignored.
        """
        try:
            with connection:
                connection.settimeout(KEY_SECONDS)
                connection.do_handshake()
                key = _exactly(connection, KEY_BYTES, time.monotonic() + KEY_SECONDS)
                with self._changed:
                    self._strangers.pop(connection, None)
                    partitions = self._partitions
                    if self._closed or not hmac.compare_digest(key, self._key):
                        return
                connection.settimeout(None)
                with connection.makefile("rb", BUFFER) as stream:
                    self._take_partition(partitions, connection, cast(BinaryIO, stream))
        except (OSError, EOFError, pa.ArrowException) as error:
            log.debug("A connection for rows has ended: %r", error)
        finally:
            with self._changed:
                self._connections.discard(connection)
                self._strangers.pop(connection, None)

    def _take_partition(self, partitions: Partitions, connection: socket.socket, stream: BinaryIO) -> None:
        number = int.from_bytes(stream.read(NUMBER_BYTES))
        arrivals = self._arrivals.partition(number)
        with partitions.attempt(number, partial(_hang_up, connection)) as attempt:
            if (kind := stream.read(len(END))) == ROWS:
                for rows in pa.ipc.open_stream(stream):
                    if partitions is not self._partitions:
                        return
                    if attempt.is_new(rows) and not self._put(partitions, arrivals, rows):
                        return
                kind = stream.read(len(END))
            if kind == END and attempt.ends(int.from_bytes(stream.read(COUNT_BYTES))):
                arrivals.ended()
                connection.sendall(TAKEN)

    def _put(self, partitions: Partitions, arrivals: Arriving, rows: pa.RecordBatch) -> bool:
        while not self._closed and partitions is self._partitions:
            if arrivals.put(rows, LOOK_SECONDS):
                return True
        return False


def _exactly(connection: socket.socket, size: int, deadline: float) -> bytes:
    """Read ``size`` bytes, or fewer if the connection ends. Raises OSError after the deadline."""
    data = b""
    while len(data) < size:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        part = connection.recv(size - len(data))
        if not part:
            break
        data += part
    return data


def _hang_up(connection: socket.socket) -> None:
    """Shut a connection down, from any thread, for which ``ssl.SSLSocket.shutdown`` is not made."""
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)

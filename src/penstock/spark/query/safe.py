"""Delivery of a connector's configuration to Spark's processes, and to its plugins there.

Its secrets are kept out of everything that Spark ships to its processes, shows or stores.

A closure has only a reference: the address of the driver's process, the fingerprint of its certificate, and a key that
is invalid once the run has ended, or another one may have begun. The process of a Spark task fetches the contents over
TLS once, except for one that asks before each commit whether it still may.
"""

from __future__ import annotations

import functools
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import msgspec

from penstock.hosts.jvm.tasks.task_jvm import TaskJvm, task_jvm
from penstock.pipeline.chain import Resolve
from penstock.pipeline.task import TaskSpec
from penstock.spark.parent import ends_with
from penstock.spark.tls import identity, wrapped

KEY_BYTES, SIZE_BYTES = 32, 4
SECONDS = 10.0
"""Seconds that a connection may take for TLS and its key."""
PLACES = 256
"""Maximum of connections at a time; the oldest of more is closed."""
RETRY_SECONDS = 0.1
ATTEMPTS = 3
KEPT = 16
"""Specs that a process of Spark remembers: it is used again for other connectors."""


@dataclass(frozen=True, slots=True)
class SafeReference:
    """The place of contents. Java has the same class, ``penstock.jdbc.Reference``."""

    host: str
    port: int
    fingerprint: str
    key: bytes

    def contents(self) -> bytes:
        """Fetch the contents. Raises OSError if the safe is closed, or has nothing of this key."""
        connection, contents = self.connected()
        connection.close()
        return contents

    def connected(self) -> tuple[socket.socket, bytes]:
        """Fetch the contents; return them with the connection, which the safe closes when the run is over."""
        for attempt in range(ATTEMPTS):
            try:
                return self._connected()
            except OSError:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(RETRY_SECONDS)
        raise AssertionError("unreachable")

    def _connected(self) -> tuple[socket.socket, bytes]:
        with ExitStack() as failing:
            plain = failing.enter_context(socket.create_connection((self.host, self.port), SECONDS))
            _keep_alive(plain)
            connection = failing.enter_context(wrapped(plain, self.fingerprint))
            connection.sendall(self.key)
            contents = _exactly(connection, int.from_bytes(_exactly(connection, SIZE_BYTES)))
            failing.pop_all()
            return connection, contents


@dataclass(frozen=True, slots=True)
class SafeSpec:
    """A TaskSpec in closures: the reference to it."""

    reference: SafeReference
    jars: bool = False
    """Whether converters or transforms of the connector come from jars; without them no partition looks at any."""

    def spec(self) -> TaskSpec:
        return _spec(self.reference)

    @contextmanager
    def during_the_run(self) -> Iterator[TaskSpec]:
        """Yield the spec; inside, this process ends when the run of the query does, or its driver."""
        connection, contents = self.reference.connected()
        with connection, ends_with(connection):
            yield _read(contents)


@functools.lru_cache(KEPT)
def _spec(reference: SafeReference) -> TaskSpec:
    return _read(reference.contents())


def _read(contents: bytes) -> TaskSpec:
    return msgspec.json.decode(contents, type=TaskSpec)


class Safe:
    """The driver's end, for one run of a query; a context manager. Any thread may ``keep``."""

    def __init__(self, host: str, may_write: Callable[[], bool] = lambda: True) -> None:
        """``host``: this machine's name for Spark's processes. ``may_write``: without it nothing is given to them."""
        self.may_write = may_write
        own = "127.0.0.1" if host in ("127.0.0.1", "localhost") else "0.0.0.0"
        self._listening = socket.create_server((own, 0), backlog=1024)
        self._host = host
        self._contents: dict[bytes, bytes] = {}
        self._connections: dict[socket.socket, None] = {}
        """The connections of clients that have not given a key yet."""
        self._served: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._identity = identity()

    def __enter__(self) -> Safe:
        threading.Thread(target=self._accept, name="safe", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            self._contents.clear()
            connections = [*self._connections, *self._served]
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in connections:
            _hang_up(each)

    def keep(self, contents: bytes) -> SafeReference:
        key = secrets.token_bytes(KEY_BYTES)
        self._contents[key] = contents
        return SafeReference(self._host, self._listening.getsockname()[1], self._identity.fingerprint, key)

    def forget(self, reference: SafeReference) -> None:
        """Give the contents of this reference to nobody any more."""
        self._contents.pop(reference.key, None)

    def keep_spec(self, spec: TaskSpec) -> SafeSpec:
        """Keep a spec; called in the task's thread, when its converters and transforms have been made."""
        jvm = TaskJvm.present()
        return SafeSpec(self.keep(msgspec.json.encode(spec)), jars=jvm is not None and jvm.opened)

    def _accept(self) -> None:
        while not self._closed:
            try:
                plain, _ = self._listening.accept()
            except OSError:
                time.sleep(RETRY_SECONDS)
                continue
            with self._lock:
                if len(self._connections) >= PLACES:
                    _hang_up(next(iter(self._connections)))
                self._connections[plain] = None
            threading.Thread(target=self._answer, args=(plain,), name="safe", daemon=True).start()

    def _answer(self, plain: socket.socket) -> None:
        with suppress(OSError), plain:
            try:
                plain.settimeout(SECONDS)
                _keep_alive(plain)
                with self._identity.context.wrap_socket(plain.dup(), server_side=True) as connection:
                    # The key is random, and long enough that no timing of the look-up tells it.
                    contents = self._contents.get(_exactly(connection, KEY_BYTES))
                    with self._lock:
                        if contents is None or self._closed or not self.may_write():
                            return
                        self._connections.pop(plain, None)
                        self._served.add(plain)
                    connection.sendall(len(contents).to_bytes(SIZE_BYTES) + contents)
                    connection.settimeout(None)
                    connection.recv(1)  # until it hangs up, which most do at once
            finally:
                with self._lock:
                    self._connections.pop(plain, None)
                    self._served.discard(plain)


def texts(values: list[str]) -> bytes:
    """Encode texts for Java's half: their number, and of each its size and UTF-8."""
    encoded = [value.encode() for value in values]
    return len(encoded).to_bytes(4) + b"".join(len(each).to_bytes(4) + each for each in encoded)


def _exactly(connection: ssl.SSLSocket, size: int) -> bytes:
    """Read ``size`` bytes. Raises OSError if the connection ends, or if it takes too long."""
    data, deadline = bytearray(), time.monotonic() + SECONDS
    while len(data) < size:
        connection.settimeout(max(0.01, deadline - time.monotonic()))
        part = connection.recv(min(size - len(data), 1 << 16))
        if not part:
            raise ConnectionError("the driver of this query does not know this task (any more)")
        data += part
    return bytes(data)


def _keep_alive(connection: socket.socket) -> None:
    """Let a connection end when the other machine has disappeared, which closes no connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def plugins_for(safe: SafeSpec, spec: TaskSpec) -> Iterator[tuple[TaskSpec, Resolve]]:
    """Yield the spec as it holds on this machine, and the resolver of its classes. ``spec`` is that of ``safe``.

    Inside, plugins of jars find the connector's JVM on this machine, with a session for this partition alone.
    """
    from penstock.spark.task import plugins, resolver, with_shipped_jars

    known = plugins(spec.plugin_path)
    if not safe.jars:
        yield spec, known.resolver(spec.connector_config)
        return
    here = with_shipped_jars(spec)
    with task_jvm(here, partition=True):
        yield here, resolver(here, known)

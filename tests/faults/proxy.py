"""A TCP proxy that delays, cuts and resets connections when asked to."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

_PIECE = 65536
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: closing sends a reset."""
_OF_GROUPS = frozenset({11, 12, 13, 14})
"""Kafka's keys of JoinGroup, Heartbeat, LeaveGroup and SyncGroup."""


class Proxy:
    """Listens on a port of its own, and connects to ``target``, a port of this machine. Used as a context manager.

    ``delay``, ``cut``, ``reset`` and ``hold_groups`` may be called from any thread. ``altered``: makes
    what is passed on of what a client or the server has sent at once.
    """

    def __init__(self, target: int, altered: Callable[[bytes], bytes] = lambda data: data) -> None:
        self._target, self._altered = target, altered
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._late, self._late_until, self._cut_until = 0.0, 0.0, 0.0
        self._closed = threading.Event()
        self._groups_pass = threading.Event()
        self._groups_pass.set()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._accepting = threading.Thread(target=self._accept, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._groups_pass.set()
        self._accepting.join()
        self._listener.close()
        self.reset()

    def delay(self, seconds: float, late: float) -> None:
        """Delay each piece of data, of at most 64 KiB, by ``late`` seconds for some time."""
        self._late, self._late_until = late, time.monotonic() + seconds

    def cut(self, seconds: float) -> None:
        """Let nothing pass for some seconds; connections stay open, and new ones are accepted."""
        self._cut_until = max(self._cut_until, time.monotonic() + seconds)

    def reset(self) -> int:
        """Reset all connections at both ends; return their number."""
        with self._lock:
            ends = list(self._open)
        for end in ends:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RD)  # wakes the thread that reads, which closes it
        return len(ends) // 2

    @contextmanager
    def hold_groups(self) -> Iterator[None]:
        """Meanwhile no request of a Kafka group's member passes, nor what comes after it on its connection; everything
        else does.
        """
        self._groups_pass.clear()
        try:
            yield
        finally:
            self._groups_pass.set()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                continue
            threading.Thread(target=self._connect, args=(client,), name="proxy", daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self._wait_for_passage()
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=900)
        except OSError:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            client.close()
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open |= {client, server}
        back = threading.Thread(target=self._pump, args=(server, client), name="proxy", daemon=True)
        back.start()
        self._pump(client, server)
        back.join()
        with self._lock:
            self._open -= {client, server}
        for end in (client, server):
            end.close()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_PIECE):
                if time.monotonic() < self._late_until:
                    self._closed.wait(self._late)
                self._wait_for_passage()
                if is_of_group(data):
                    self._groups_pass.wait()
                sink.sendall(self._altered(data))
        for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
            if end.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) != _RESET:
                with suppress(OSError):
                    end.shutdown(how)

    def _wait_for_passage(self) -> None:
        while (left := self._cut_until - time.monotonic()) > 0 and not self._closed.is_set():
            self._closed.wait(left)


def is_of_group(data: bytes) -> bool:
    """Whether this is a whole request of a Kafka group's member; those are short and sent one at a time."""
    return int.from_bytes(data[:4]) == len(data) - 4 and int.from_bytes(data[4:6]) in _OF_GROUPS

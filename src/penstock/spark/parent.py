"""Children that end with their parent, however it ends: the kernel sends them a signal (Linux).

The signal comes when the *thread* ends that started the child, so it has to be one that lives as long as its process.
Elsewhere than on Linux nothing happens here, and children see by their sockets and pipes that their parent is gone.

A process that Spark has forked also has to end when Spark gives up its task, of which its connection to Java tells.
"""

from __future__ import annotations

import ctypes
import functools
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

_SET_PDEATHSIG = 1
ORPHANED = 114
"""Exit code of a process whose parent had ended before it could ask for the signal."""
_java: list[socket.socket] = []
"""The connection to Java, of a process that Spark has forked."""


def end_with_parent(parent: int | None) -> None:
    """Have the kernel kill this process when its parent ends. Called first by a child.

    ``parent``: the parent's process id, or None if it is not known.
    """
    signal_from_parent(signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(ORPHANED)


def signal_from_parent(number: signal.Signals) -> None:
    """Choose the signal that this process gets when its parent ends. Called by the main thread."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, number)


def popen(command: Sequence[str], preexec_fn: Callable[[], object] = lambda: None, **options: Any) -> Any:
    """``subprocess.Popen`` of a process that gets SIGTERM when this one ends, whatever it executes by then."""
    parent = os.getpid()

    def before() -> None:
        preexec_fn()
        signal_from_parent(signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(ORPHANED)

    return subprocess.Popen(command, preexec_fn=before, **options)


def remember(java: socket.socket) -> None:
    """Remember this process's connection to Java. Called first by a process that Spark has forked."""
    _java[:] = [java]


def end_when_given_up() -> None:
    """End this process, if Spark has forked it, as soon as Java closes the connection.

    Java does so when a task is cancelled or has failed, and mostly does not kill its process, which sees it when it
    reads the next rows only: not while it waits for brokers, perhaps for ever. Rows that are on their way and find no
    place here keep Java's end from being seen: see ``ends_with``.
    """
    for java in _java:
        _watch(java)


@functools.cache
def _watch(java: socket.socket) -> None:
    threading.Thread(target=_end_with, args=(java,), name="java", daemon=True).start()


@contextmanager
def ends_with(connection: socket.socket) -> Iterator[None]:
    """While this lasts, this process ends as soon as the other side of the connection hangs up, or its process ends.

    The connection is shut down in the end.
    """
    over = threading.Event()
    watch = threading.Thread(target=_end_with, args=(connection, over), name="ends with", daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        watch.join()


def _end_with(connection: socket.socket, over: threading.Event | None = None) -> None:
    waiting = select.poll()
    # Unread data hides the end, except from Linux's RDHUP.
    waiting.register(connection, getattr(select, "POLLRDHUP", select.POLLHUP))
    waiting.poll()
    if over is None or not over.is_set():
        os._exit(0)

"""Calls between two processes, in both directions, over one connection.

A call runs on a *lane*, a thread of the other side that runs the calls of one lane in order; each call on the lane None
has a thread of its own. What is called back while a call runs is answered by the thread that waits for that call;
everything else on the lane ``background``.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from penstock.hosts.python.wire import described, read, rebuilt, write

log = logging.getLogger(__name__)

Answer = Callable[..., Any]
"""Called with the name of a method and its arguments."""
_GONE = object()
OUT_OF_MEMORY = 3
"""The exit status of a process that could not take a message."""


class Peer:
    """One end of the connection. Any thread may call."""

    def __init__(
        self,
        connection: Connection,
        answer: Answer,
        lost: Callable[[], BaseException],
        unpickle: Callable[[bytes], Any] = read,
    ) -> None:
        """``lost`` makes what is raised where the other side is gone."""
        self._connection, self._answer, self._lost, self._unpickle = connection, answer, lost, unpickle
        self._writing = threading.Lock()
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Any]] = {}
        self._lanes: dict[str, queue.SimpleQueue[Any]] = {}
        self._serving = threading.local()
        self.gone = threading.Event()

    def start(self) -> None:
        """Begin to take messages, on a thread."""
        threading.Thread(target=self.run, name="peer", daemon=True).start()

    def serve_here(self, lane: str, at_end: Callable[[int], object]) -> None:
        """Take messages on a thread, and run the calls of this lane on the present one; does not return.

        ``at_end`` is called by the other thread, with the status with which to exit, when the other side is gone, or if
        there is no memory for a message.
        """
        inbox = self._lanes[lane] = queue.SimpleQueue()

        def reading() -> None:
            try:
                self.run()
            except MemoryError:
                at_end(OUT_OF_MEMORY)
            at_end(0)

        threading.Thread(target=reading, name="peer", daemon=True).start()
        self._work(inbox, once=False)

    def call(self, method: str, *args: Any, lane: str | None = "task", timeout: float | None = None) -> Any:
        """Call a method and wait for what it returns, answering calls back meanwhile.

        Raises what it raises there, TimeoutError, and what ``lost`` makes.
        """
        number, inbox = next(self._ids), queue.SimpleQueue[Any]()
        with self._lock:
            self._waiting[number] = inbox
        if self.gone.is_set():
            inbox.put(_GONE)
        during = getattr(self._serving, "number", None)
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            self._send(("call", number, lane, during, method), write(args))
            while True:
                try:
                    found = inbox.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    raise TimeoutError(f"{method} has not returned for {timeout:g} s") from None
                if found is _GONE:
                    raise self._lost()
                head, body = found
                if head[0] == "call":
                    self._serve(head, body)
                elif head[0] == "error":
                    raise rebuilt(self._unpickle(body))
                else:
                    return self._unpickle(body)
        finally:
            with self._lock:
                self._waiting.pop(number, None)

    def tell(self, method: str, *args: Any, lane: str | None = "background") -> None:
        """Call a method without an answer."""
        self._send(("call", None, lane, None, method), write(args))

    def close(self) -> None:
        self._connection.close()

    def run(self) -> None:
        """Take messages until the other side is gone."""
        try:
            while True:
                head, body = self._unpickle(self._connection.recv_bytes()), self._connection.recv_bytes()
                self._taken(head, body)
        except (OSError, EOFError):
            pass
        finally:
            self.gone.set()
            with self._lock:
                for inbox in self._waiting.values():
                    inbox.put(_GONE)
                for lane in self._lanes.values():
                    lane.put(None)

    def _taken(self, head: tuple[Any, ...], body: bytes) -> None:
        if head[0] != "call":
            with self._lock:
                inbox = self._waiting.get(head[1])
        else:
            with self._lock:
                inbox = None if head[3] is None else self._waiting.get(head[3])
            if inbox is None:
                inbox = self._lane(head[2])
        if inbox is not None:
            inbox.put((head, body))

    def _lane(self, name: str | None) -> queue.SimpleQueue[Any]:
        if name is not None and name in self._lanes:
            return self._lanes[name]
        inbox = queue.SimpleQueue[Any]()
        if name is not None:
            with self._lock:
                self._lanes[name] = inbox
        once = name is None
        threading.Thread(target=self._work, args=(inbox, once), name=f"lane-{name or 'once'}", daemon=True).start()
        return inbox

    def _work(self, inbox: queue.SimpleQueue[Any], once: bool) -> None:
        while (found := inbox.get()) is not None:
            self._serve(*found)
            if once:
                return

    def _serve(self, head: tuple[Any, ...], body: bytes) -> None:
        _, number, _, _, method = head
        before, self._serving.number = getattr(self._serving, "number", None), number
        try:
            data, kind = write(self._answer(method, *self._unpickle(body))), "reply"
        except BaseException as error:
            if number is None:
                log.warning("%s has failed", method, exc_info=True)
            data, kind = write(described(error)), "error"
        finally:
            self._serving.number = before
        if number is not None:
            self._send((kind, number), data)

    def _send(self, head: tuple[Any, ...], body: bytes) -> None:
        try:
            with self._writing:
                self._connection.send_bytes(write(head))
                self._connection.send_bytes(body)
        except OSError:
            pass  # the reader sees it, and all who wait

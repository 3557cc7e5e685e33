"""A session with a JVM: calls to it, and its calls back, over one connection.

A call runs on a *lane*, a thread of the session in the JVM; calls of one lane run in order. What a plugin calls while
a call runs is answered by the thread that made the call and waits for it; everything else by a thread of the session.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.hosts.errors import HostLost
from penstock.hosts.frames import Bytes, Frames, Message
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.logs import relay

log = logging.getLogger(__name__)

Callback = Callable[[dict[str, Any], memoryview], Any]
"""Called with the arguments and the bytes beside them; returns a JSON value, or a tuple of one and bytes."""

CLOSE_SECONDS = 12.0
"""How long ``close`` waits for the plugin's threads to end."""
_GONE = object()


@dataclass(frozen=True, slots=True)
class Reply:
    result: Any
    payload: memoryview


class Pending:
    """A call that has been sent."""

    __slots__ = ("_inbox", "_session", "aside", "done", "id", "succeeded")

    def __init__(self, session: Session, id: int, aside: bool = False) -> None:
        self._session, self.id, self.aside = session, id, aside
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.done = threading.Event()
        """Set when there is a reply, or the JVM is gone."""
        self.succeeded = False
        """Whether that is a result."""

    def put(self, found: Any) -> None:
        self._inbox.put(found)
        if found is _GONE or "reply" in found[0]:
            self.succeeded = found is not _GONE and "error" not in found[0]
            self.done.set()

    def wait(self, seconds: float | None = None) -> Reply | None:
        """Its reply, or None if none has come within so many seconds. Answers what the plugin calls meanwhile.

        Raises the plugin's error as a Python error, HostLost.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                if deadline is None:
                    found = self._inbox.get()
                else:
                    found = self._inbox.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return None
            if found is _GONE:
                raise self._session.lost()
            message, payload = found
            if "call" in message:
                self._session.answer(message, payload)
                continue
            if (error := message.get("error")) is not None:
                raise java_error(error)
            return Reply(message["result"], payload)


class Session:
    """Any thread may make calls."""

    def __init__(
        self,
        connection: socket.socket,
        about: Mapping[str, Any],
        callbacks: Mapping[str, Callback],
        end_of: Callable[[], tuple[str, bool]],
    ) -> None:
        """``about``: ``name`` for logs, ``thread`` as the name of the lane ``task``. ``end_of`` says how the JVM has
        ended, and whether by itself. Raises HostLost if the JVM takes no sessions any more.
        """
        self._socket = connection
        self._end_of: Callable[[], tuple[str, bool]] = lambda: ("The JVM takes no new sessions", False)
        self._frames = Frames(connection)
        self._callbacks = {"log": relay, **callbacks}
        self._ids = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._lock = threading.Lock()
        self._gone = threading.Event()
        self._background: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._name = about.get("name", "session")
        opened = Pending(self, 0)
        self._pending[0] = opened
        for target in (self._read, self._answer_calls):
            threading.Thread(target=target, name=f"host-{self._name}", daemon=True).start()
        self._write({"call": "open", "id": 0, "args": dict(about)})
        reply = opened.wait()
        assert reply is not None
        self.pid: int = reply.result["pid"]
        self._end_of = end_of

    def on(self, name: str, answer: Callback) -> None:
        """Answer calls of this name from now on."""
        self._callbacks[name] = answer

    def call(
        self,
        method: str,
        args: Mapping[str, Any] | None = None,
        payload: Sequence[Bytes] = (),
        lane: str = "task",
        timeout: float | None = None,
    ) -> Reply:
        """Call a method and wait for its reply. Raises the plugin's error, HostLost, and TimeoutError."""
        reply = self.begin(method, args, payload, lane).wait(timeout)
        if reply is None:
            raise TimeoutError(f"{method} of {self._name} has not returned for {timeout:g} s")
        return reply

    def begin(
        self,
        method: str,
        args: Mapping[str, Any] | None = None,
        payload: Sequence[Bytes] = (),
        lane: str = "task",
        aside: bool = False,
    ) -> Pending:
        """Call a method without waiting for its reply.

        ``aside``: what the plugin calls meanwhile is answered by the session's thread, since nobody may be waiting.
        """
        with self._lock:
            pending = Pending(self, next(self._ids), aside)
            self._pending[pending.id] = pending
            if self.gone:
                pending.put(_GONE)
        self._write({"call": method, "id": pending.id, "lane": lane, "args": args or {}}, payload)
        return pending

    @property
    def gone(self) -> bool:
        return self._gone.is_set()

    def lost(self) -> HostLost:
        """What to raise when the JVM is gone."""
        reason, by_itself = self._end_of()
        return HostLost(reason, by_itself)

    def close(self) -> None:
        """End the session; returns when the plugin's threads have ended, or after some seconds."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        if not self._gone.wait(CLOSE_SECONDS):
            log.warning("Plugin threads of %s have not ended after %.0f s", self._name, CLOSE_SECONDS)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._gone.wait(1.0)
        self._socket.close()

    def wait_end(self) -> None:
        """Returns when the session has ended, by ``close`` or with the JVM."""
        self._gone.wait()

    # -- messages from the JVM

    def answer(self, message: Message, payload: memoryview) -> None:
        """Run a callback and send what it returns."""
        answer: Message = {"reply": message.get("id")}
        data: Bytes = b""
        try:
            name = message.get("call") or message["tell"]
            found = self._callbacks[name](message["args"], payload)
            answer["result"], data = found if isinstance(found, tuple) else (found, b"")
        except Exception as error:
            log.warning("A call by the plugin of %s has failed", self._name, exc_info=True)
            answer["error"] = str(error) or type(error).__name__
        if "id" in message:
            self._write(answer, [data])

    def _write(self, message: Message, payload: Sequence[Bytes] = ()) -> None:
        try:
            self._frames.write(message, payload)
        except OSError:
            pass  # the reader sees it, and all who wait

    def _read(self) -> None:
        try:
            while True:
                message, payload = self._frames.read()
                if "reply" in message:
                    pending = self._pending.pop(message["reply"])
                    pending.put((message, payload))
                elif (caller := self._pending.get(message.get("during", -1))) is not None and not caller.aside:
                    caller.put((message, payload))
                else:
                    self._background.put((message, payload))
        except (OSError, EOFError):
            pass
        finally:
            self._gone.set()
            self._background.put(None)
            with self._lock:
                for pending in self._pending.values():
                    pending.put(_GONE)

    def _answer_calls(self) -> None:
        while (found := self._background.get()) is not None:
            self.answer(*found)

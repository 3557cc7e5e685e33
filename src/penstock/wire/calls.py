"""Calls between two processes, in both directions, over one connection.

A call runs on a *lane*, a thread of the other side that runs the calls of one lane in order; each call on the lane None
has a thread of its own. A call that the other side makes *during* a call is answered by the thread that waits for the
reply; every other one by the thread of its lane. Calls are numbered by the side that makes them; a call without a
number has no reply.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.wire.framing import Bytes

BACKGROUND = "background"
"""The lane for calls of which nobody says on which lane they are to run."""
_LOST = object()


@dataclass(frozen=True, slots=True)
class _Envelope:
    message: Any
    """The protocol's own message, of what is to be done or was found."""
    payload: Sequence[Bytes] = ()
    """Bytes beside it: buffers to send, or one that was received."""

    @property
    def data(self) -> memoryview:
        """The payload received."""
        return memoryview(self.payload[0] if self.payload else b"")


@dataclass(frozen=True, slots=True)
class RemoteCall(_Envelope):
    """A call."""

    number: int | None = None
    """None: no reply is expected."""
    lane: str | None = BACKGROUND
    during: int | None = None
    """The number of the call of the other side in which this one is made."""


@dataclass(frozen=True, slots=True)
class RemoteReply(_Envelope):
    """The result of a call."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class RemoteFailure(_Envelope):
    """The error of a call, as the protocol describes errors."""

    number: int = 0


Envelope = RemoteCall | RemoteReply | RemoteFailure


class CallProtocol(Protocol):
    """One end of a connection, and how a protocol answers calls and describes errors."""

    def send(self, envelope: Envelope) -> None:
        """Encode and send, called by any thread. Raises OSError if the other side is gone."""

    def receive(self) -> Envelope:
        """Return the next one, called by one thread. Raises OSError or EOFError if the other side is gone."""

    def answer(self, call: RemoteCall) -> RemoteReply:
        """Run a call of the other side. May raise anything; the reply's number is set by the caller."""

    def failure(self, call: RemoteCall, error: BaseException) -> RemoteFailure:
        """Describe what ``answer`` has raised; called, and to be logged, for calls without a number as well."""

    def error(self, failure: RemoteFailure) -> BaseException:
        """Return the error to raise where the call was made."""

    def lost(self) -> BaseException:
        """Return the error to raise where the other side is gone."""


class PendingCall:
    """A call that has been sent. One thread at a time may ``wait`` for it."""

    __slots__ = ("_inbox", "_peer", "aside", "done", "number", "succeeded")

    def __init__(self, peer: CallPeer, number: int, aside: bool) -> None:
        self._peer, self.number, self.aside = peer, number, aside
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.done = threading.Event()
        """Set when there is a reply or an error, or the other side is gone."""
        self.succeeded = False
        """Whether there is a reply, once ``done`` is set."""

    def put(self, found: Any) -> None:
        """Called by the reading thread with an envelope, or that the other side is gone."""
        self._inbox.put(found)
        if not isinstance(found, RemoteCall):
            self.succeeded = isinstance(found, RemoteReply)
            self.done.set()

    def wait(self, seconds: float | None = None) -> RemoteReply | None:
        """Return the reply, or None if none has come within so many seconds; answer calls made during it meanwhile.

        Raises the protocol's errors: that of the call, or that the other side is gone.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            try:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                found = self._inbox.get(timeout=left)
            except queue.Empty:
                return None
            match found:
                case RemoteCall():
                    self._peer.serve(found)
                case RemoteReply():
                    return found
                case RemoteFailure():
                    raise self._peer.protocol.error(found)
                case _:
                    raise self._peer.protocol.lost()

    def left(self) -> list[RemoteCall]:
        """Called when nobody waits any more: the calls that are not answered yet."""
        calls = []
        with contextlib.suppress(queue.Empty):
            while True:
                if isinstance(found := self._inbox.get_nowait(), RemoteCall):
                    calls.append(found)
        return calls


class CallPeer:
    """One end of a connection. Any thread may call."""

    def __init__(self, protocol: CallProtocol, name: str = "peer") -> None:
        """``name``: of its threads."""
        self.protocol, self._name = protocol, name
        self.gone = threading.Event()
        """Set when the other side is gone."""
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._pending: dict[int, PendingCall] = {}
        self._lanes: dict[str, queue.SimpleQueue[RemoteCall | None]] = {}
        self._threads: dict[str, threading.Thread] = {}
        """The threads of lanes."""
        self._serving = threading.local()

    # -- calls to the other side

    def call(
        self,
        message: Any,
        payload: Sequence[Bytes] = (),
        lane: str | None = BACKGROUND,
        timeout: float | None = None,
        name: str = "",
    ) -> RemoteReply:
        """Make a call and wait for its reply, answering calls made during it.

        Raises the protocol's errors, and TimeoutError after ``timeout`` seconds, with the ``name`` of the call.
        """
        pending = self.begin(message, payload, lane)
        try:
            reply = pending.wait(timeout)
        finally:
            self._abandon(pending)
        if reply is None:
            raise TimeoutError(f"{name or message} has not returned for {timeout:g} s")
        return reply

    def begin(
        self, message: Any, payload: Sequence[Bytes] = (), lane: str | None = BACKGROUND, aside: bool = False
    ) -> PendingCall:
        """Make a call without waiting for its reply.

        ``aside``: calls made during it are answered on their lanes, since nobody may be waiting.
        """
        with self._lock:
            pending = PendingCall(self, next(self._numbers), aside)
            self._pending[pending.number] = pending
            if self.gone.is_set():
                pending.put(_LOST)
        try:
            self._send(RemoteCall(message, payload, pending.number, lane, self._served()))
        except BaseException:
            self._abandon(pending)
            raise
        return pending

    def tell(self, message: Any, payload: Sequence[Bytes] = (), lane: str | None = BACKGROUND) -> None:
        """Make a call that has no reply."""
        self._send(RemoteCall(message, payload, None, lane))

    def _served(self) -> int | None:
        """The number of the call that the present thread answers."""
        number: int | None = getattr(self._serving, "number", None)
        return number

    def _abandon(self, pending: PendingCall) -> None:
        with self._lock:
            self._pending.pop(pending.number, None)
        for call in pending.left():
            self._lane(call.lane).put(call)

    # -- calls of the other side

    def start(self) -> None:
        """Begin to take what the other side sends, on a thread."""
        threading.Thread(target=self.run, name=self._name, daemon=True).start()

    def run(self) -> None:
        """Take what the other side sends until it is gone."""
        try:
            while True:
                self._taken(self.protocol.receive())
        except (OSError, EOFError):
            pass
        finally:
            with self._lock:
                self.gone.set()
                for pending in self._pending.values():
                    pending.put(_LOST)
                for lane in self._lanes.values():
                    lane.put(None)

    def run_lane(self, lane: str, begin: Callable[[], object] | None = None) -> None:
        """Run the calls of a lane on the present thread, until the other side is gone. To be called before ``run``.

        ``begin`` is called once the lane takes calls, and may have another thread ``run``.
        """
        with self._lock:
            inbox = self._lanes[lane] = queue.SimpleQueue()
            if self.gone.is_set():
                inbox.put(None)
        if begin is not None:
            begin()
        self._work(inbox)

    def wait_lane(self, lane: str, seconds: float) -> None:
        """Wait until the calls of a lane are answered, for so many seconds at most.

        To be called when the other side is gone, by another thread than that of the lane.
        """
        with self._lock:
            thread = self._threads.get(lane)
        if thread is not None:
            thread.join(seconds)

    def serve(self, call: RemoteCall) -> None:
        """Run a call on the present thread, and send its reply."""
        before, self._serving.number = self._served(), call.number
        answer: RemoteReply | RemoteFailure
        try:
            answer = self.protocol.answer(call)
        except BaseException as error:
            answer = self.protocol.failure(call, error)
        finally:
            self._serving.number = before
        if call.number is not None:
            self._send(type(answer)(answer.message, answer.payload, call.number))

    def _taken(self, envelope: Envelope) -> None:
        if isinstance(envelope, RemoteCall):
            with self._lock:
                caller = None if envelope.during is None else self._pending.get(envelope.during)
                if caller is not None and not caller.aside:
                    caller.put(envelope)
                    return
            self._lane(envelope.lane).put(envelope)
            return
        with self._lock:
            waiting = self._pending.pop(envelope.number, None)
        if waiting is not None:  # else the caller has given up
            waiting.put(envelope)

    def _lane(self, name: str | None) -> queue.SimpleQueue[RemoteCall | None]:
        with self._lock:
            if name is not None and name in self._lanes:
                return self._lanes[name]
            inbox = queue.SimpleQueue[RemoteCall | None]()
            if name is not None:
                self._lanes[name] = inbox
            if self.gone.is_set():
                inbox.put(None)
            target = self._work if name is not None else self._work_once
            thread = threading.Thread(target=target, args=(inbox,), name=f"{self._name}-{name or 'once'}", daemon=True)
            if name is not None:
                self._threads[name] = thread
        thread.start()
        return inbox

    def _work(self, inbox: queue.SimpleQueue[RemoteCall | None]) -> None:
        while (call := inbox.get()) is not None:
            self.serve(call)

    def _work_once(self, inbox: queue.SimpleQueue[RemoteCall | None]) -> None:
        if (call := inbox.get()) is not None:
            self.serve(call)

    def _send(self, envelope: Envelope) -> None:
        try:
            self.protocol.send(envelope)
        except OSError:
            pass  # the reader sees it, and tells all waiting calls

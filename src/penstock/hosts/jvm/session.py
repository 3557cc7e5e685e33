"""A session with a JVM: requests to it, and its requests back, over one connection.

A request runs on a *lane*, a thread of the session in the JVM; requests of one lane run in order. What a plugin asks
while a request runs is answered by the thread that waits for that request, everything else by a thread of the session.
"""

from __future__ import annotations

import functools
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

import msgspec

from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.messages.base import JavaRequest
from penstock.hosts.jvm.messages.from_jvm import JavaLogLine, JavaLogLines, PluginMessage
from penstock.hosts.jvm.messages.protocol import (
    ENVELOPES_FROM_JVM,
    ENVELOPES_TO_JVM,
    FROM_JVM,
    CallFromJvm,
    CallToJvm,
    FailureFromJvm,
    FailureToJvm,
    ReplyFromJvm,
    ReplyToJvm,
)
from penstock.hosts.jvm.messages.worker import OpenSession
from penstock.wire.calls import BACKGROUND, CallPeer, Envelope, PendingCall, RemoteCall, RemoteFailure, RemoteReply
from penstock.wire.framing import Bytes, FrameConnection
from penstock.wire.lines import log_dropped
from penstock.wire.messages import MessageError

log = logging.getLogger(__name__)

R = TypeVar("R")

Answer = Callable[[PluginMessage, memoryview], Any]
"""Function of a plugin's message and its payload, which returns the reply's value, or a tuple of it and a payload."""

CLOSE_SECONDS = 12.0
"""Time limit of ``close`` for the end of the plugin's threads."""
_LEVELS = {
    100: logging.CRITICAL,
    200: logging.ERROR,
    300: logging.WARNING,
    400: logging.INFO,
    500: logging.DEBUG,
    600: 5,
}
"""Python's levels by those of log4j."""


@dataclass(frozen=True, slots=True)
class JavaReply(Generic[R]):
    """The reply to a request, and the bytes beside it."""

    result: R
    payload: memoryview


class JavaCall(Generic[R]):
    """A request that has been sent."""

    __slots__ = ("_pending", "_request")

    def __init__(self, request: JavaRequest[R], pending: PendingCall) -> None:
        self._request, self._pending = request, pending

    @property
    def done(self) -> threading.Event:
        """Set when there is a reply or an error, or the JVM is gone."""
        return self._pending.done

    @property
    def succeeded(self) -> bool:
        """True if there is a reply, once ``done`` is set."""
        return self._pending.succeeded

    def wait(self, seconds: float | None = None) -> JavaReply[R] | None:
        """Return the reply, or None if none has come within so many seconds; answer the plugin's requests meanwhile.

        Raises the plugin's error as a Python error, HostLost, and MessageError for a reply of another type.
        """
        found = self._pending.wait(seconds)
        return None if found is None else reply_of(self._request, found)


class JvmSession:
    """One session. Any thread may send requests."""

    def __init__(
        self, connection: socket.socket, about: OpenSession, answer: Answer, end_of: Callable[[], tuple[str, bool]]
    ) -> None:
        """``answer`` takes what the JVM sends besides log lines. ``end_of`` returns how the JVM has ended, and whether
        by itself. Raises HostLost if the JVM takes no sessions any more.
        """
        self._socket, self._name = connection, about.name
        protocol = _JvmProtocol(connection, about.name, answer)
        self._protocol, self._peer = protocol, CallPeer(protocol, f"host-{about.name}")
        self._peer.start()
        self.pid: int = self.call(about).result.pid
        protocol.end_of = end_of

    def answer_with(self, answer: Answer) -> None:
        """Answer what the JVM sends by this function from now on."""
        self._protocol.answer_message = answer

    def call(
        self,
        request: JavaRequest[R],
        payload: Sequence[Bytes] = (),
        lane: str = "task",
        timeout: float | None = None,
    ) -> JavaReply[R]:
        """Send a request and wait for its reply. Raises the plugin's error, HostLost, MessageError and TimeoutError."""
        name = f"{name_of(request)} of {self._name}"
        return reply_of(request, self._peer.call(request, payload, lane, timeout, name))

    def begin(
        self, request: JavaRequest[R], payload: Sequence[Bytes] = (), lane: str = "task", aside: bool = False
    ) -> JavaCall[R]:
        """Send a request without waiting for its reply.

        ``aside``: what the plugin asks meanwhile is answered by the session's thread, since nobody may be waiting.
        """
        return JavaCall(request, self._peer.begin(request, payload, lane, aside))

    @property
    def gone(self) -> bool:
        """True if the JVM has closed the connection."""
        return self._peer.gone.is_set()

    def close(self) -> None:
        """End the session; returns when the plugin's threads have ended, or after ``CLOSE_SECONDS``."""
        _shut(self._socket, socket.SHUT_WR)
        if not self._peer.gone.wait(CLOSE_SECONDS):
            log.warning("Plugin threads of %s have not ended after %.0f s", self._name, CLOSE_SECONDS)
        _shut(self._socket, socket.SHUT_RDWR)
        if self._peer.gone.wait(1.0):
            self._peer.wait_lane(BACKGROUND, CLOSE_SECONDS)  # the last log lines
        self._socket.close()

    def wait_end(self) -> None:
        """Return when the session has ended, by ``close`` or with the JVM."""
        self._peer.gone.wait()


class _JvmProtocol:
    """The messages of a session, for ``CallPeer``."""

    def __init__(self, connection: socket.socket, name: str, answer: Answer) -> None:
        self._frames, self._name = FrameConnection(connection), name
        self.answer_message = answer
        self.end_of: Callable[[], tuple[str, bool]] = lambda: ("The JVM takes no new sessions", False)

    def send(self, envelope: Envelope) -> None:
        """See ``CallProtocol``."""
        sent: CallToJvm | ReplyToJvm | FailureToJvm
        match envelope:
            case RemoteCall(message, payload, number, lane):
                sent = CallToJvm(message, number, lane or "task")
            case RemoteReply(message, payload, number):
                sent = ReplyToJvm(number, message)
            case RemoteFailure(message, payload, number):
                sent = FailureToJvm(number, message)
        self._frames.write(ENVELOPES_TO_JVM.encode(sent), payload)

    def receive(self) -> Envelope:
        """See ``CallProtocol``."""
        body, payload = self._frames.read()
        try:
            envelope = ENVELOPES_FROM_JVM.decode(body)
        except MessageError as error:
            log.error("The session of %s ends, since its JVM has sent an invalid message: %s", self._name, error)
            raise
        match envelope:
            case CallFromJvm(message, number, during):
                return RemoteCall(message, [payload], number, during=during)
            case ReplyFromJvm(number, result):
                return RemoteReply(result, [payload], number)
            case FailureFromJvm(number, error_of_plugin):
                return RemoteFailure(error_of_plugin, [payload], number)

    def answer(self, call: RemoteCall) -> RemoteReply:
        """See ``CallProtocol``."""
        message = FROM_JVM.decode(bytes(call.message))
        if isinstance(message, JavaLogLines):
            for line in message.lines:
                relay(line)
            if message.dropped:
                log_dropped(message.dropped, self._name)
            return RemoteReply(None)
        found = self.answer_message(message, call.data)
        return RemoteReply(found[0], [found[1]]) if isinstance(found, tuple) else RemoteReply(found)

    def failure(self, call: RemoteCall, error: BaseException) -> RemoteFailure:
        """See ``CallProtocol``."""
        log.warning("A request by the plugin of %s has failed", self._name, exc_info=error)
        return RemoteFailure(str(error) or type(error).__name__)

    def error(self, failure: RemoteFailure) -> BaseException:
        """See ``CallProtocol``."""
        return java_error(failure.message)

    def lost(self) -> HostLost:
        """See ``CallProtocol``."""
        reason, by_itself = self.end_of()
        return HostLost(reason, by_itself)


def relay(line: JavaLogLine) -> None:
    """Log what a plugin has logged by slf4j or log4j, or printed, by Python's logger of the same name."""
    logger = logging.getLogger(line.logger)
    level = _LEVELS.get(line.level, logging.INFO)
    if not logger.isEnabledFor(level):
        return
    text = line.text if line.trace is None else f"{line.text}\n{line.trace.rstrip()}"
    record = logger.makeRecord(logger.name, level, "", 0, text, (), None)
    record.created, record.msecs = line.time / 1000, line.time % 1000
    record.threadName = line.thread
    logger.handle(record)


def unanswered(message: PluginMessage, payload: memoryview) -> Any:
    """Answer of a session whose plugin has no context. Raises MessageError, which names the message."""
    raise MessageError(f"{name_of(message)} is not expected in this session")


def name_of(message: Any) -> str:
    """Return the name of a message on the wire."""
    return str(message.__struct_config__.tag)


def reply_of(request: JavaRequest[R], reply: RemoteReply) -> JavaReply[R]:
    """Decode the reply to a request. Raises MessageError for one of another type."""
    try:
        return JavaReply(_decoder(type(request)).decode(reply.message), reply.data)
    except msgspec.ValidationError as error:
        raise MessageError(f"invalid reply to {name_of(request)} of the JVM host: {error}") from None


def reply_type(request: type[JavaRequest[Any]]) -> Any:
    """Return the type of the replies to a class of requests."""
    (base,) = request.__orig_bases__  # type: ignore[attr-defined]
    return get_args(base)[0]


@functools.cache
def _decoder(request: type[JavaRequest[Any]]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(reply_type(request))


def _shut(connection: socket.socket, how: int) -> None:
    try:
        connection.shutdown(how)
    except OSError:
        pass  # it is closed already

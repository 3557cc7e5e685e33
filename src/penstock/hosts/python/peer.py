"""Calls between Penstock and the interpreter of a plugin, over one connection; see ``penstock.wire.calls``."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from typing import Any

from penstock.hosts.python.messages import CallRaised, CallReturned
from penstock.hosts.python.wire import described, read, rebuilt, write
from penstock.wire.calls import BACKGROUND, CallPeer, Envelope, RemoteCall, RemoteFailure, RemoteReply
from penstock.wire.framing import FrameConnection
from penstock.wire.messages import MessageCodec, MessageError

log = logging.getLogger(__name__)

LOG = "log"
"""The lane of log lines, and of their confirmations."""
OUT_OF_MEMORY = 3
"""Exit status of a process that could not take a message."""

Answer = Callable[[Any, tuple[Any, ...]], Any]
"""Function of a message and its other arguments, which returns the value for the other side."""


class PluginPeer:
    """One end of the connection. Any thread may call."""

    def __init__(
        self,
        connection: socket.socket,
        sent: tuple[type[Any], MessageCodec[Any]],
        received: MessageCodec[Any],
        answer: Answer,
        lost: Callable[[], BaseException],
        unpickle: Callable[[Any], Any] = read,
    ) -> None:
        """``sent``: the envelope of calls to the other side, and its codec. ``lost`` makes the error to raise where the
        other side is gone.
        """
        protocol = _PickledCalls(connection, sent, received, answer, lost, unpickle)
        self._unpickle = unpickle
        self._calls = CallPeer(protocol, "peer")
        self.gone = self._calls.gone

    def start(self) -> None:
        """Take messages on a new thread."""
        self._calls.start()

    def run(self) -> None:
        """Take messages until the other side is gone."""
        self._calls.run()

    def wait_lane(self, lane: str, seconds: float) -> None:
        """Wait until the calls of a lane are answered. Called when the other side is ``gone``."""
        self._calls.wait_lane(lane, seconds)

    def run_lane(self, lane: str, begin: Callable[[], object]) -> None:
        """Run the calls of this lane on the present thread, until the other side is gone.

        ``begin`` is called when the lane takes calls, and is to have another thread ``run``.
        """
        self._calls.run_lane(lane, begin)

    def call(self, message: Any, *args: Any, lane: str | None = "task", timeout: float | None = None) -> Any:
        """Make a call and return its value, answering calls back meanwhile.

        Raises what it raises there, TimeoutError, and what ``lost`` makes.
        """
        payload = [write(args)] if args else []
        reply = self._calls.call(message, payload, lane, timeout, type(message).__name__)
        return self._unpickle(reply.data)

    def tell(self, message: Any, *args: Any, lane: str | None = BACKGROUND) -> None:
        """Make a call without a reply."""
        self._calls.tell(message, [write(args)] if args else [], lane)


class _PickledCalls:
    """The ``CallProtocol`` of both ends: messages as JSON, other values pickled."""

    def __init__(
        self,
        connection: socket.socket,
        sent: tuple[type[Any], MessageCodec[Any]],
        received: MessageCodec[Any],
        answer: Answer,
        lost: Callable[[], BaseException],
        unpickle: Callable[[Any], Any],
    ) -> None:
        self._frames = FrameConnection(connection)
        self._call, self._sent = sent
        self._received, self._answer, self._unpickle = received, answer, unpickle
        self.lost = lost

    def send(self, envelope: Envelope) -> None:
        """See ``CallProtocol``."""
        match envelope:
            case RemoteCall(message, payload, number, lane, during):
                body = self._sent.encode(self._call(message, number, lane, during))
            case RemoteReply(_, payload, number):
                body = self._sent.encode(CallReturned(number))
            case RemoteFailure(_, payload, number):
                body = self._sent.encode(CallRaised(number))
        self._frames.write(body, payload)

    def receive(self) -> Envelope:
        """See ``CallProtocol``."""
        body, payload = self._frames.read()
        try:
            envelope = self._received.decode(body)
        except MessageError as error:
            log.error("The connection to a plugin ends, since the other side has sent an invalid message: %s", error)
            raise
        match envelope:
            case CallReturned():
                return RemoteReply(None, [payload], envelope.number)
            case CallRaised():
                return RemoteFailure(None, [payload], envelope.number)
        return RemoteCall(envelope.message, [payload], envelope.number, envelope.lane, envelope.during)

    def answer(self, call: RemoteCall) -> RemoteReply:
        """See ``CallProtocol``."""
        args = self._unpickle(call.data) if len(call.data) else ()
        return RemoteReply(None, [write(self._answer(call.message, args))])

    def failure(self, call: RemoteCall, error: BaseException) -> RemoteFailure:
        """See ``CallProtocol``."""
        if call.number is None:
            log.warning("%s has failed", type(call.message).__name__, exc_info=error)
        return RemoteFailure(None, [write(described(error))])

    def error(self, failure: RemoteFailure) -> BaseException:
        """See ``CallProtocol``."""
        return rebuilt(self._unpickle(failure.data))

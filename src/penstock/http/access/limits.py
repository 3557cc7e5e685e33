"""Limits for clients: size of bodies, time for headers and bodies, number of connections.

Connections are bounded so that slow senders and idle clients leave room for others: when there are too many, the one
that has sent nothing complete for the longest time is closed in favour of the new one, of the address that has most
connections. With TLS they count from before their handshake on, for which they have the time for headers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import h11
import orjson
from starlette.types import Message, Receive, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.core.model.messages import Refused
from penstock.http.access.listeners import RestSettingError

MAX_BODY = "penstock.rest.max.body.bytes"
HEADER_TIMEOUT = "penstock.rest.header.timeout.ms"
BODY_TIMEOUT = "penstock.rest.body.timeout.ms"
MAX_CONNECTIONS = "penstock.rest.max.connections"
DEFAULTS = {MAX_BODY: 16 * 2**20, HEADER_TIMEOUT: 30_000, BODY_TIMEOUT: 60_000, MAX_CONNECTIONS: 512}
BODIES_AT_ONCE = 16
"""Bodies of maximum size that are held in memory at a time."""
BODIES_OF_ADDRESS = 12
"""Bodies of that size for clients at one address."""
LINGER_S = 5.0
"""Seconds for which the rest of a refused body is read and dropped, so that the client reads the reply."""


@dataclass(frozen=True, slots=True)
class RestLimits:
    max_body: int = DEFAULTS[MAX_BODY]
    header_s: float = DEFAULTS[HEADER_TIMEOUT] / 1000
    body_s: float = DEFAULTS[BODY_TIMEOUT] / 1000
    connections: int = DEFAULTS[MAX_CONNECTIONS]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self:
        """Raises RestSettingError."""
        body, header_ms, body_ms, connections = (_number(config, name) for name in DEFAULTS)
        return cls(body, header_ms / 1000, body_ms / 1000, connections)


def _number(config: Mapping[str, str], name: str) -> int:
    given = config.get(name, str(DEFAULTS[name])).strip()
    if not given.isdecimal() or int(given) < 1:
        raise RestSettingError(f"`{name}={given}` must be a number, at least 1")
    return int(given)


class Bodies:
    """Bounds the bodies of a server: each one, and all that are held in memory at a time."""

    def __init__(self, limit: int) -> None:
        self._limit, self._held = limit, 0
        self._held_of: Counter[str] = Counter()
        """Bytes that are held of each address."""

    def bounded(self, scope: Scope, receive: Receive) -> BoundedBody:
        """Wrap ``receive`` for one request; the caller calls ``release`` when it has been answered."""
        return BoundedBody(self, scope, receive)

    def take(self, size: int, of_request: int, address: str = "") -> None:
        """Raises Refused: 413 for a body that is too large, 503 if too many are held, of all or of this address."""
        if of_request > self._limit:
            raise Refused(413, f"The request's body is larger than {self._limit} bytes (`{MAX_BODY}`)")
        if self._held + size > BODIES_AT_ONCE * self._limit:
            raise Refused(503, "This worker is receiving too many large requests at once; try again")
        if address and self._held_of[address] + size > BODIES_OF_ADDRESS * self._limit:
            raise Refused(503, f"{address} is sending too many large requests at once; try again")
        self._held += size
        self._held_of[address] += size

    def give_back(self, size: int, address: str = "") -> None:
        self._held -= size
        self._held_of[address] -= size
        if not self._held_of[address]:
            del self._held_of[address]


class BoundedBody:
    def __init__(self, bodies: Bodies, scope: Scope, receive: Receive) -> None:
        self._bodies, self._receive, self._taken = bodies, receive, 0
        given = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        self._said = int(given) if given.isdigit() and len(given) < 20 else 0
        self._address: str = scope["client"][0] if scope.get("client") else ""

    async def __call__(self) -> Message:
        """Raises Refused (413, 503)."""
        self._bodies.take(0, self._said)
        message = await self._receive()
        size = len(message.get("body", b""))
        self._bodies.take(size, self._taken + size, self._address)
        self._taken += size
        return message

    def release(self) -> None:
        self._bodies.give_back(self._taken, self._address)
        self._taken = 0


class BoundedProtocol(H11Protocol):
    """uvicorn's connection with deadlines for headers, bodies and the reading of answers, and a limit of their number.

    ``limits`` and ``accepted`` are set by ``protocol_of``.
    """

    limits = RestLimits()
    accepted: ClassVar[dict[BoundedProtocol, asyncio.Task[Any]]] = {}
    """Connections without a transport because of their handshake, and asyncio's tasks that wait for it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._waits_for = ""
        self._since = self.loop.time()
        self._make_room()
        if (task := asyncio.current_task()) is not None:
            self.accepted[self] = task
            task.add_done_callback(self._accepted)
            self._expect("handshake", self.limits.header_s)

    @property
    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        self._accepted()
        if (secured := transport.get_extra_info("ssl_object")) is not None:
            certificate, der = secured.getpeercert(), secured.getpeercert(True)
            self.app_state = {**self.app_state, "certificate": certificate, "certificate_der": der}
        super().connection_made(transport)
        self._watch()

    def _accepted(self, done: asyncio.Task[Any] | None = None) -> None:
        """Continue after the handshake has ended or failed."""
        self.accepted.pop(self, None)
        if self._waits_for == "handshake":
            self._expect("", 0)

    def _make_room(self) -> None:
        others = [*self.accepted, *(each for each in self.connections if isinstance(each, BoundedProtocol))]
        if len(others) < self.limits.connections:
            return
        waiting = [each for each in others if each._is_idle] or [each for each in others if each.cycle.more_body]
        of_address = Counter(each._address for each in others)
        waiting.sort(key=lambda each: (-of_address[each._address], each._since))
        for each in waiting[: len(others) - self.limits.connections + 1]:
            each._cut()

    @property
    def _address(self) -> str:
        """Address of the client; empty until the handshake has ended."""
        return str(self.client[0]) if self.client else ""

    def _cut(self) -> None:
        if (task := self.accepted.pop(self, None)) is not None:
            task.cancel()
            return
        self.connections.discard(self)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def _should_upgrade(self) -> bool:
        """Ignore proposals of other protocols, such as HTTP/2 by ``java.net.http``; uvicorn would warn of each."""
        return False

    def send_400_response(self, msg: str) -> None:
        """Reply with Connect's document to what is not HTTP or has too long a head."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE) or self.transport.is_closing():
            self.transport.close()  # an answer is on its way already
            return
        body = orjson.dumps({"error_code": 400, "message": msg})
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect("", 0)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect("answer", self.limits.body_s)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._expect("", 0)
        self._watch()

    def _watch(self) -> None:
        """Set the deadline for what the client has to send next."""
        if self.transport.is_closing() or self._waits_for == "answer":
            return
        theirs = self.conn.their_state
        if theirs is h11.SEND_BODY and self.conn.our_state is h11.DONE:
            self._expect("rest", LINGER_S)
        elif theirs is h11.SEND_BODY:
            self._expect("body", self.limits.body_s)
        elif theirs is h11.IDLE and (self.cycle is None or self.conn.trailing_data[0]):
            self._expect("headers", self.limits.header_s)
        else:
            self._expect("", 0)

    def _expect(self, what: str, seconds: float) -> None:
        if what == self._waits_for:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._waits_for = what
        self._deadline = self.loop.call_later(seconds, self._cut) if what else None


def protocol_of(limits: RestLimits) -> type[BoundedProtocol]:
    """Return the class of connections with these limits."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits, "accepted": {}})

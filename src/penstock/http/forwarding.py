"""Requests of this worker to other workers of the group.

``Forwarding`` passes a request on to the worker that must answer it, with two hops at most (Java:
HerderRequestHandler). The first worker adds ``forward=true``, the second ``forward=false``; a worker that gets false
and is not the right one either answers 409: a rebalance is in progress, the client may retry. An answer that no worker
gives, such as a page of HTML of a Java worker's Jetty, is an error of this worker (Java: RestClient). ``Peers`` asks
the other workers of the group for what each of them knows.

Credentials are sent to members of the group only, whose addresses the group's protocol has; an address in a record of
the status topic is compared with those and never called. Redirects are not followed. Replies are read as those of
strangers: limited in bytes, in time as a whole and in depth, and never decompressed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import Response

from penstock.core.model.messages import ALGORITHM_HEADER, SIGNATURE_HEADER, Refused
from penstock.http.access.authentication.forwarded import Forwarded, id_of, target_of
from penstock.http.bodies import MAX_DEPTH, SMALL, is_deeper
from penstock.http.media_types import JSON, says_json
from penstock.threads import in_thread

IO_ERROR = "IO Error trying to forward REST request"
KEPT = ("content-type", SIGNATURE_HEADER.lower(), ALGORITHM_HEADER.lower())
FORWARD_TIMEOUT_S = 95.0
MAX_REPLY_BYTES = 64 * 2**20
"""Maximum size of the reply to a forwarded request."""
PATIENCE_S = 5.0
MAX_PEER_BYTES = 8 * 2**20
"""Maximum size of what a worker says about itself, its tasks or its log."""

Members = Callable[[], Collection[str]]
"""Returns the URLs of the group's present members; may block for some seconds."""


class BadReplyError(Exception):
    """A reply is not one that a worker sends; the message says why."""


@dataclass(frozen=True, slots=True)
class PeerReply:
    status: int
    headers: httpx.Headers
    content: bytes


async def fetch(client: httpx.AsyncClient, request: httpx.Request, max_bytes: int, seconds: float) -> PeerReply:
    """Send a request to another worker and return the reply. Raises BadReplyError, TimeoutError, httpx.HTTPError."""
    request.headers["accept-encoding"] = "identity"
    async with asyncio.timeout(seconds):
        answer = await client.send(request, stream=True, follow_redirects=False)
        try:
            if (encoding := answer.headers.get("content-encoding", "identity").strip().lower()) != "identity":
                raise BadReplyError(f"it is encoded as {encoding[:20]}")
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > max_bytes:
                    raise BadReplyError(f"it has more than {max_bytes} bytes")
        finally:
            await answer.aclose()
    return PeerReply(answer.status_code, answer.headers, bytes(content))


async def parsed_reply(content: bytes) -> Any:
    """Parse the JSON of a reply, a long one on a thread of its own. Raises BadReplyError."""
    return _parsed(content) if len(content) <= SMALL else await in_thread(lambda: _parsed(content))


def _parsed(content: bytes) -> Any:
    try:
        document = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadReplyError("it is no JSON") from error
    if is_deeper(document, MAX_DEPTH):
        raise BadReplyError("it is nested too deeply")
    return document


def _no_constant(name: str) -> Any:
    raise ValueError(name)


@dataclass(frozen=True, slots=True)
class Forwarding:
    client: httpx.AsyncClient
    forwarded: Forwarded
    timeout: float = FORWARD_TIMEOUT_S

    async def to(self, url: str | None, request: Request) -> Response:
        """Forward a request and return the reply. Raises Refused with 409 if the worker is not known, or this is one
        hop too many.

        500 if it can't be reached, or its answer is not one of a worker.
        """
        forward = request.query_params.get("forward") or None
        if forward is not None and forward.lower() != "true":
            raise Refused(409, "Cannot complete request because of a conflicting operation (e.g. worker rebalance)")
        if not url:
            raise Refused(
                409,
                "Cannot complete request momentarily due to no known leader URL, "
                "likely because a rebalance was underway.",
            )
        query = [(k, v) for k, v in request.query_params.multi_items() if k != "forward"]
        query.append(("forward", "true" if forward is None else "false"))
        headers = {"accept": JSON} | {name: request.headers[name] for name in KEPT if name in request.headers}
        body = await request.body()
        request.scope.setdefault("state", {})["forwarded_to"] = url
        try:
            target = httpx.URL(url.rstrip("/") + request.scope["raw_path"].decode("latin-1"), params=query)
            signed = target_of(target.raw_path, query)
            headers |= self.forwarded.headers(request, request.method, url, signed, body)
            sent = self.client.build_request(request.method, target, content=body, headers=headers)
            answer = await fetch(self.client, sent, MAX_REPLY_BYTES, self.timeout)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            why = str(error) or type(error).__name__
            raise Refused(500, f"{IO_ERROR}: {url}: {why}") from None
        except BadReplyError as error:
            raise Refused(500, f"{IO_ERROR}: {url}: its reply is not a worker's: {error}") from None
        return await _relayed(answer, url)


async def _relayed(answer: PeerReply, url: str) -> Response:
    status, body = answer.status, answer.content
    if not (200 <= status < 300 or status >= 400):
        raise Refused(500, f"Unexpected status code when handling forwarded request: {status}")
    if (body or status >= 400) and not await _is_of_worker(body, status):
        raise Refused(500, f"{IO_ERROR}: {url}: its reply with status {status} is not a worker's")
    headers = {"location": answer.headers["location"]} if "location" in answer.headers else {}
    return Response(body, status, headers | ({"content-type": JSON} if body else {}))


async def _is_of_worker(body: bytes, status: int) -> bool:
    try:
        document = await parsed_reply(body)
    except BadReplyError:
        return False
    return status < 400 or (isinstance(document, dict) and {"error_code", "message"} <= document.keys())


@dataclass(frozen=True, slots=True)
class Peers:
    """The other workers of the group; ``url`` is this one's advertised URL."""

    url: str
    client: httpx.AsyncClient
    members: Members = tuple
    forwarded: Forwarded = field(default_factory=Forwarded)

    @property
    def id(self) -> str:
        return id_of(self.url)

    async def others(self) -> dict[str, str]:
        """Return the URLs of the other members of the group by their ids, which statuses of their tasks have."""
        members = await in_thread(self.members)
        return {id: url for url in members if url.startswith(("http://", "https://")) and (id := id_of(url)) != self.id}

    async def ask(self, url: str, path: str, params: Mapping[str, Any], request: Request) -> Any:
        """Return the JSON document at this path of a member, read in the name of the request's principal; None if none
        arrives in time.
        """
        query = [(name, str(value)) for name, value in params.items()]
        try:
            target = httpx.URL(url.rstrip("/") + path, params=query)
            signed = target_of(target.raw_path, query)
            headers = {"accept": JSON} | self.forwarded.headers(request, "GET", url, signed, b"")
            sent = self.client.build_request("GET", target, headers=headers)
            answer = await fetch(self.client, sent, MAX_PEER_BYTES, PATIENCE_S)
            if answer.status != 200 or not says_json(answer.headers.get("content-type")):
                return None
            return await parsed_reply(answer.content)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, BadReplyError, ValueError):
            return None

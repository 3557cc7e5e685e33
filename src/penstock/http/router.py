"""The router: calls the handler of a request's path, and renders every reply.

Paths are split at ``/`` before they are unescaped, so that a connector's name may hold any character. An unexpected
error becomes Connect's error document, never a page of HTML or a stack trace. Checks come in the order of Java's
server: syntax of the path, 404, 405, credentials, 415, 406.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.core.model.messages import Refused, Reply
from penstock.core.model.messages import Request as Message
from penstock.http.access import audit
from penstock.http.access.authentication.forwarded import via_of
from penstock.http.access.authentication.guard import tried
from penstock.http.access.authentication.principals import Principal, address_of, principal_of
from penstock.http.access.hosts import AllowedHosts
from penstock.http.access.limits import Bodies, RestLimits
from penstock.http.media_types import JSON, check_accept, check_content_type
from penstock.http.paths import Path, check_host, with_path
from penstock.java.parsing import whole_number
from penstock.observe import beginning

log = logging.getLogger(__name__)

Handler = Callable[["Call"], Awaitable[Reply | Response]]
Ask = Callable[["Call", Message], Awaitable[Reply | Response]]
"""Gets the reply to a request from this worker or another one."""
Guard = Callable[[Request], Reply | Awaitable[Reply | None] | None]
"""Called before a request is carried out; a Reply is returned in place of the handler's."""

BOTH_LENGTHS = "A request has Transfer-Encoding or Content-Length, not both"
MAX_MESSAGE = 2**16
"""Characters of an error's message, which may repeat what the request has; no request is answered meanwhile."""
NAMES_ONLY = (401, 403, 404, 405, 406, 409, 415)
"""Statuses of errors whose messages have names and nothing else; a secret may be a part of a name, such as ``test``."""
AUDITED = (400, 403, 413)
"""Statuses of refused changes that are written to the audit log, by whatever check they were refused."""
ALLOW_ORDER = ("HEAD", "DELETE", "POST", "GET", "OPTIONS", "PUT", "PATCH")


@dataclass(frozen=True, slots=True)
class Call:
    """A request, with the variable parts of its path unescaped."""

    request: Request
    parts: Mapping[str, str]
    ambiguous: bool = False
    """Whether the path has escapes that Java's server refuses; it is valid if there is a connector of that name."""

    @property
    def name(self) -> str:
        return self.parts["name"]

    def number(self, part: str) -> int:
        """Return a part of the path that must be a 32-bit number.

        Raises Refused (404) for any other, as for unknown paths.
        """
        text = self.parts[part]
        number = whole_number(text, 32) if text.isascii() else None
        if number is None:
            raise not_found()
        return number

    def query(self, key: str, default: str = "") -> str:
        """Return the first value of a query parameter; the default if it is missing or empty."""
        given = self.request.query_params.getlist(key)
        return given[0] or default if given else default

    def flag(self, key: str, default: bool = False) -> bool:
        """Return a boolean of the query: any spelling of ``true`` is true, all else false, as in Java."""
        return self.query(key, str(default)).lower() == "true"


@dataclass(frozen=True, slots=True)
class Route:
    handler: Handler
    consumes: bool
    """Whether bodies must be JSON; other content types are then refused, whether there is a body or not."""
    produces: str
    guarded: bool
    public: Callable[[Request], bool]
    """Returns whether a request needs no principal, although the route is guarded."""
    changes: bool
    """Whether its requests change something, if they are carried out."""


def not_found() -> Refused:
    return Refused(404, "HTTP 404 Not Found")


class Router:
    """An ASGI application: a table of methods and paths. ``{part}`` stands for any one part of a path."""

    def __init__(
        self,
        guard: Guard | None = None,
        max_body: int = RestLimits().max_body,
        clean: Callable[[str], str] = str,
        hosts: AllowedHosts | None = None,
    ) -> None:
        """``clean`` removes secrets from the messages of errors. Without ``hosts`` the header ``Host`` may have any
        name.
        """
        self._guard, self._bodies, self._clean, self._hosts = guard, Bodies(max_body), clean, hosts
        self._routes: list[tuple[tuple[str, ...], dict[str, Route]]] = []

    def add(
        self,
        method: str,
        path: str,
        handler: Handler,
        *,
        consumes: bool = True,
        produces: str = JSON,
        guarded: bool = True,
        public: Callable[[Request], bool] = lambda request: False,
    ) -> None:
        """Add a route. ``guarded``: the guard is called before the handler, but for requests that are ``public``."""
        changes = method != "GET" and not path.endswith("/validate")
        pattern, route = tuple(path[1:].split("/")), Route(handler, consumes, produces, guarded, public, changes)
        for known, methods in self._routes:
            if known == pattern:
                methods[method] = route
                return
        self._routes.append((pattern, {method: route}))

    def paths(self) -> list[tuple[str, list[str]]]:
        """Return every path and its methods."""
        return [("/" + "/".join(pattern), sorted(methods)) for pattern, methods in self._routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = with_path(scope)
        body = self._bodies.bounded(scope, receive)
        try:
            response = await self._respond(Request(scope, body))
        except ClientDisconnect:
            return  # nobody reads an answer
        finally:
            body.release()
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        if "transfer-encoding" in request.headers and "content-length" in request.headers:
            # A proxy may have taken the other one for the body's end, so what follows on the connection is not trusted.
            return render(Reply(400, Refused(400, BOTH_LENGTHS).reply().body, {"Connection": "close"}))
        raw, ambiguous = request.scope["raw_path"].decode("latin-1"), False
        try:
            check_host(request.headers.get("host"))
            if self._hosts is not None and self._hosts.without_principal:
                await self._check_name(self._hosts, request)
            path = Path.parse(raw)
            ambiguous = path.ambiguous
            answer = await self._answer(request, path)
        except Refused as refused:
            answer = refused.reply()
        except ClientDisconnect:
            raise
        except Exception as error:
            log.exception("%s %s failed", request.method, raw)
            answer = Refused(500, str(error) or repr(error)).reply()
        if ambiguous and isinstance(answer, Reply) and answer.status == 404:
            answer = Refused(400, "Ambiguous URI path: there is no connector of this name").reply()
        if isinstance(answer, Response):
            return answer
        try:
            return render(self._cleaned(answer))
        except Exception as error:
            log.exception("The reply to %s %s cannot be encoded as JSON", request.method, raw)
            return render(Refused(500, str(error) or repr(error)).reply())

    def _cleaned(self, answer: Reply) -> Reply:
        """Remove secrets from the message of an error."""
        match answer.body:
            case {"message": str(message), **others} if answer.status >= 400 and answer.status not in NAMES_ONLY:
                shown = beginning(message, MAX_MESSAGE, self._clean)
                return Reply(answer.status, {**others, "message": shown}, answer.headers)
        return answer

    async def _answer(self, request: Request, path: Path) -> Reply | Response:
        methods, parts = self._find(path)
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if request.method == "OPTIONS":
            return _options(request, methods)
        if route is None:
            refused = Refused(405, "HTTP 405 Method Not Allowed").reply()
            return Reply(405, refused.body, {"Allow": ",".join(_allowed(methods))})
        public = route.public(request)
        if self._guard is not None and route.guarded and not public:
            denied = self._guard(request)
            if isinstance(denied, Awaitable):
                denied = await denied
            if denied is not None:
                principal = Principal(address=address_of(request), via=via_of(request), tried=tried(request))
                audit.write(principal, f"{request.method} {request.url.path}", denied.status)
                return denied
        if self._hosts is not None and not public and not principal_of(request).name:
            await self._check_name(self._hosts, request)
        if route.consumes:
            check_content_type(_header(request, "content-type"))
        check_accept(_header(request, "accept"), route.produces)
        lines = audit.begin_request()
        try:
            return await route.handler(Call(request, parts, path.ambiguous))
        except Refused as refused:
            # A change whose body cannot be used is refused before the gate knows what is asked for.
            if not lines and route.changes and refused.status in AUDITED:
                audit.write(principal_of(request), f"{request.method} {request.url.path}", refused.status)
            raise

    @staticmethod
    async def _check_name(hosts: AllowedHosts, request: Request) -> None:
        try:
            await hosts.check(request.headers.get("host"))
        except Refused as refused:
            audit.write(Principal(address=address_of(request)), f"{request.method} {request.url.path}", refused.status)
            raise

    def _find(self, path: Path) -> tuple[dict[str, Route], dict[str, str]]:
        for pattern, methods in self._routes:
            parts = path.match(pattern)
            if parts is not None:
                return methods, parts
        raise not_found()


def _header(request: Request, name: str) -> str | None:
    """Join all headers of this name; None if there are none."""
    given = request.headers.getlist(name)
    return ",".join(given) if given else None


def _allowed(methods: Mapping[str, Route]) -> list[str]:
    there = {*methods, "OPTIONS"} | ({"HEAD"} if "GET" in methods else set())
    return [method for method in ALLOW_ORDER if method in there]


def _options(request: Request, methods: Mapping[str, Route]) -> Response:
    allowed = _allowed(methods)
    headers = {"Allow": ",".join(allowed)}
    try:
        check_accept(_header(request, "accept"), "text/plain")
    except Refused:
        return Response(headers=headers)
    return Response(", ".join(allowed), headers={**headers, "Content-Type": "text/plain"})


def render(reply: Reply) -> Response:
    body = b"" if reply.body is None else _encoded(reply.body)
    headers = dict(reply.headers)
    if reply.body is not None:
        headers.setdefault("Content-Type", JSON)
    return Response(body, reply.status, headers)


def _encoded(body: Any) -> bytes:
    try:
        return orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # of integers beyond 64 bits, which offsets may have, and halves of surrogate pairs
        return json.dumps(body, separators=(",", ":")).encode()

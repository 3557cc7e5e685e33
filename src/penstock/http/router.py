"""From an HTTP request to the handler of its path: the router and the form of every answer.

Paths are cut at ``/`` before they are unescaped, so that a connector's name may hold any character. What no handler
foresaw becomes Connect's error document, never a page of HTML or a stack trace.
"""

from __future__ import annotations

import logging
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from penstock.core.messages import Refused, Reply

log = logging.getLogger(__name__)

Handler = Callable[["Call"], Awaitable[Reply | Response]]
AMBIGUOUS = ("%2f", "%5c", "%25")
"""Escapes that Java's server refuses in paths; here they count where a connector of that name is found."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, its path's variable parts unescaped."""

    request: Request
    parts: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.parts["name"]

    def number(self, part: str) -> int:
        """A part of the path that must be a number. Raises Refused (404) for any other, as for an unknown path."""
        try:
            return int(self.parts[part])
        except ValueError:
            raise not_found() from None

    def flag(self, key: str) -> bool:
        """A boolean of the query: any spelling of ``true``; all else is false, as Java reads it."""
        return self.request.query_params.get(key, "").lower() == "true"


def not_found() -> Refused:
    return Refused(404, "HTTP 404 Not Found")


class Router:
    """An ASGI application: a table of methods and paths. ``{part}`` stands for any one part of a path."""

    def __init__(self) -> None:
        self._routes: list[tuple[tuple[str, ...], dict[str, Handler]]] = []

    def add(self, method: str, path: str, handler: Handler) -> None:
        pattern = tuple(path.strip("/").split("/"))
        for known, methods in self._routes:
            if known == pattern:
                methods[method] = handler
                return
        self._routes.append((pattern, {method: handler}))

    def paths(self) -> list[tuple[str, list[str]]]:
        """Every path and its methods."""
        return [("/" + "/".join(pattern), sorted(methods)) for pattern, methods in self._routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._respond(request, scope.get("raw_path", b"").decode("latin-1"))
        await response(scope, receive, send)

    async def _respond(self, request: Request, raw_path: str) -> Response:
        try:
            methods, parts = self._find(raw_path)
            handler = methods.get("GET" if request.method == "HEAD" else request.method)
            if request.method == "OPTIONS":
                return Response(status_code=200, headers={"Allow": ",".join([*sorted(methods), "HEAD", "OPTIONS"])})
            if handler is None:
                raise Refused(405, "HTTP 405 Method Not Allowed")
            await _check_content_type(request)
            answer = await handler(Call(request, parts))
        except Refused as refused:
            answer = refused.reply()
            if refused.status == 404 and any(escape in raw_path.lower() for escape in AMBIGUOUS):
                answer = Refused(400, "Ambiguous URI path: no connector has this name").reply()
        except Exception as error:
            log.exception("%s %s could not be answered", request.method, raw_path)
            answer = Refused(500, str(error) or repr(error)).reply()
        return answer if isinstance(answer, Response) else render(answer)

    def _find(self, raw_path: str) -> tuple[dict[str, Handler], dict[str, str]]:
        given = raw_path.split("?")[0].strip("/").split("/")
        for pattern, methods in self._routes:
            if len(pattern) == len(given):
                parts = {}
                for expected, part in zip(pattern, given, strict=True):
                    if expected.startswith("{") and part:
                        parts[expected[1:-1]] = urllib.parse.unquote(part)
                    elif expected != part:
                        break
                else:
                    return methods, parts
        raise not_found()


async def _check_content_type(request: Request) -> None:
    """415 for a body that is not said to be JSON."""
    if request.method not in ("POST", "PUT", "PATCH"):
        return
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json" and await request.body():
        raise Refused(415, "HTTP 415 Unsupported Media Type")


def render(reply: Reply) -> Response:
    body = b"" if reply.body is None else orjson.dumps(reply.body, option=orjson.OPT_NON_STR_KEYS)
    headers = dict(reply.headers)
    if reply.body is not None:
        headers.setdefault("Content-Type", "application/json")
    return Response(body, reply.status, headers)

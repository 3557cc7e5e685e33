"""``access.control.allow.origin`` and ``access.control.allow.methods``: which web pages may use the REST interface.

Java: Jetty's CrossOriginHandler. Origins are regular expressions, letters of either case; preflight requests go on to
the resource itself, whose answer gets the headers that the browser asked for. Requests of other origins are answered
without these headers, and it is the browser that then refuses. Ours: a change that a browser says comes from a page of
another origin is refused here, or that page could restart a connector with the password that the browser has kept.
Browsers say so in ``Sec-Fetch-Site`` to https and this machine alone; to others, in ``Origin``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.http.access import audit
from penstock.http.access.authentication.principals import Principal, address_of
from penstock.http.access.listeners import RestSettingError

DEFAULT_METHODS = ("GET", "POST", "HEAD")
ALLOWED_HEADERS = "Content-Type"
MAX_AGE_S = "60"
_READS = ("GET", "HEAD", "OPTIONS")
_STREAM = "/stream"
"""End of the paths of streams, of which a page of another origin could open as many as the browser's user may have."""
_OTHERS = ("cross-site", "same-site")
"""Values of ``Sec-Fetch-Site`` in requests by pages of other origins."""
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Origins:
    """Allowed origins; ``patterns`` is empty if every origin is allowed."""

    patterns: tuple[re.Pattern[str], ...]
    methods: tuple[str, ...]

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Self | None:
        """Return the origins that the settings allow; None for no origin. Raises RestSettingError."""
        origins = _list(config.get("access.control.allow.origin", ""))
        if not origins:
            return None
        methods = tuple(_list(config.get("access.control.allow.methods", "")))
        patterns = [] if "*" in origins else [_compiled(each) for each in origins]
        return cls(tuple(patterns), methods or DEFAULT_METHODS)

    def allow(self, header: str) -> bool:
        """Return whether one of the origins in a header ``Origin`` is allowed."""
        given = header.split()
        return bool(given) and (
            not self.patterns or any(pattern.fullmatch(each) for pattern in self.patterns for each in given)
        )


class CrossOrigin:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, origins: Origins) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope)
        origin = given.get("origin", "")
        allowed = self._origins.allow(origin)
        preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in given

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Origin")
                if allowed:
                    headers["Access-Control-Allow-Origin"] = origin
                if allowed and preflight:
                    headers["Access-Control-Allow-Methods"] = ",".join(self._origins.methods)
                    headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
                    headers["Access-Control-Max-Age"] = MAX_AGE_S
            await send(message)

        await self._app(scope, receive, send_with_headers)


class ChangesByOthers:
    """An ASGI application around another: it answers 403 to changes by pages of origins that are not allowed."""

    def __init__(self, app: ASGIApp, origins: Origins | None) -> None:
        self._app, self._origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope)
        origin = given.get("origin", "")
        changes = scope["method"] not in _READS or scope["path"].endswith(_STREAM)
        refused = changes and _by_another(given)
        if not refused or (self._origins is not None and self._origins.allow(origin)):
            await self._app(scope, receive, send)
            return
        page = "another origin" if origin in ("", "null") else origin
        message = (
            f"A page of {page} may not change anything here. `access.control.allow.origin` names the origins whose "
            "pages may"
        )
        request = Request(scope)
        audit.write(Principal(address=address_of(request)), f"{request.method} {request.url.path}", 403)
        await JSONResponse({"error_code": 403, "message": message}, 403)(scope, receive, send)


def _by_another(given: Headers) -> bool:
    """Return whether a page of another origin sent the request. Only browsers say so."""
    if (site := given.get("sec-fetch-site")) is not None:
        return site in _OTHERS
    if not (origin := given.get("origin", "")):
        return False
    scheme, separator, host = origin.lower().partition("://")
    port = _PORTS.get(scheme, "")
    return not separator or _with_port(host, port) != _with_port(given.get("host", "").lower(), port)


def _with_port(host: str, default: str) -> str:
    return host if re.search(r":\d+$", host) else f"{host}:{default}"


def _compiled(origin: str) -> re.Pattern[str]:
    try:
        return re.compile(origin, re.IGNORECASE)
    except re.error as error:
        raise RestSettingError(
            f"`access.control.allow.origin` has {origin}, which is no regular expression: {error}"
        ) from None


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]

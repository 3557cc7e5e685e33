"""Paths of requests: which are refused, and which that Java's server refuses are accepted; the header ``Host``.

Java's server (Jetty 12) answers 400 to paths in which ``/``, ``%``, ``\\``, a control character or a whole ``..`` are
escaped, so that connectors of such names can't be reached there. Here such a path is ``ambiguous``: it is
accepted if there is a connector of that name, and refused otherwise.

What follows an unescaped ``;`` in a segment is a parameter that counts for nothing, in names, too.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote, unquote_to_bytes

from starlette.types import Scope

from penstock.core.model.messages import Refused

_LEGAL = re.compile(r"/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*")
_ABSOLUTE = re.compile(rb"https?://[^/?#@]+")
_PARAMETERS = re.compile(r";[^/]*")
_DOTS_WITH_PARAMETERS = re.compile(r"/\.\.?;")
_AMBIGUOUS = re.compile(r"%(?:2f|5c|25|[01][0-9a-f]|7f)|/(?:%2e|\.%2e|%2e\.|%2e%2e)(?=/|$)", re.IGNORECASE)


def with_path(scope: Scope) -> Scope:
    """Return the request with its path alone, also if its first line has a whole URL, as in a request to a proxy."""
    absolute = _ABSOLUTE.match(scope["raw_path"])
    if absolute is None:
        return scope
    path = scope["raw_path"][absolute.end() :] or b"/"
    return {**scope, "raw_path": path, "path": unquote(path.decode("latin-1"))}


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path. ``segments`` are still escaped. One slash at the end does not count."""

    segments: tuple[str, ...]
    ambiguous: bool

    @classmethod
    def parse(cls, raw: str) -> Self:
        """Parse a path. Raises Refused (400) for a malformed one."""
        whole = raw.partition("?")[0]
        if _DOTS_WITH_PARAMETERS.search(whole):
            raise Refused(400, "Ambiguous URI path parameter")
        path = _PARAMETERS.sub("", whole)
        if not _LEGAL.fullmatch(path):
            raise Refused(400, "Illegal Path Character")
        if "//" in path:
            raise Refused(400, "Ambiguous URI empty segment")
        if "%00" in path:
            raise Refused(400, "HTTP 400 Bad Request")
        return cls(tuple(path[1:].removesuffix("/").split("/")), _AMBIGUOUS.search(path) is not None)

    def match(self, pattern: tuple[str, ...]) -> dict[str, str] | None:
        """Return the parts in place of the pattern's ``{part}``, unescaped; None if the path does not match.

        Raises Refused (400) for escapes that are no UTF-8.
        """
        if len(pattern) != len(self.segments):
            return None
        parts = {}
        for expected, segment in zip(pattern, self.segments, strict=True):
            if expected.startswith("{") and segment:
                parts[expected[1:-1]] = segment
            elif expected != segment:
                return None
        return {name: _unescaped(segment) for name, segment in parts.items()}


def _unescaped(segment: str) -> str:
    if "%" not in segment:
        return segment
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        raise Refused(400, "Bad UTF-8 encoding") from None


_HOST = re.compile(
    r"(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+|\[(?P<address>[0-9A-Fa-f:.]*)\])(?::(?P<port>[0-9]{1,10}))?"
)


def check_host(header: str | None) -> None:
    """Check the header ``Host``: a name or an address with or without a port (RFC 9110, 7.2).

    The header ``Location`` of a reply begins with it. Raises Refused (400). HTTP/1.0 has no such header.
    """
    if header is None or _is_address(header):
        return
    given = _HOST.fullmatch(header)
    if given is None or not 0 < int(given["port"] or 80) < 65536:
        raise Refused(400, "Bad HostPort")
    if given["address"] is not None and not _is_address(given["address"]):
        raise Refused(400, "Bad HostPort")


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text

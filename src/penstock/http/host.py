"""The header ``Host``: a name or an address with or without a port (RFC 9110, 7.2). ``Location`` begins with it."""

from __future__ import annotations

import ipaddress
import re

from penstock.core.model.messages import Refused

_HOST = re.compile(
    r"(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+|\[(?P<address>[0-9A-Fa-f:.]*)\])(?::(?P<port>[0-9]{1,10}))?"
)


def check_host(header: str | None) -> None:
    """Raises Refused (400). HTTP/1.0 has no such header."""
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

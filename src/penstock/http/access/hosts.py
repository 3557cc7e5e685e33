"""Names by which clients may call a worker that asks for no credentials: ``penstock.rest.allowed.hosts``.

A web page of any domain can point its own name at this worker (DNS rebinding); the browser then lets it read and
change everything, since page and worker have one origin. The header ``Host`` has that name. Addresses are accepted: a
page's name is never one. So are the names of this machine, of ``listeners`` and of ``rest.advertised.host.name``.
Requests whose principal was authenticated are not checked: a browser has no credentials for the page's name.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from penstock.core.model.messages import Refused
from penstock.http.access.listeners import Listener, RestSettingError
from penstock.threads import in_thread

ALLOWED_HOSTS = "penstock.rest.allowed.hosts"
LOOPBACK = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
MAX_SHOWN = 100
_PORT = re.compile(r":[0-9]*$")
_ENTRY = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?", re.IGNORECASE)


def machine_names() -> set[str]:
    """Return the names of this machine that its resolver knows. Blocks."""
    own = socket.gethostname()
    names = {own, f"{own.partition('.')[0]}.local"}
    try:
        name, aliases, _ = socket.gethostbyname_ex(own)
        return names | {name, *aliases, socket.getfqdn()}
    except (OSError, UnicodeError):  # the resolver does not know it, or it is no name of DNS
        return names


@dataclass(slots=True)
class AllowedHosts:
    """Names that a header ``Host`` may have."""

    names: frozenset[str]
    """In lower case, without a dot at their end; ``*`` allows all, ``*.domain`` all names below a domain."""
    without_principal: bool = True
    """Whether clients need no credentials: then every request is checked, whatever its path."""
    more: Callable[[], Iterable[str]] = machine_names
    """Returns further names; called once, on a thread, for the first name that is not known. May block."""
    _more: asyncio.Future[frozenset[str]] | None = field(default=None, init=False)

    @classmethod
    def of(
        cls, config: Mapping[str, str], bound: Sequence[Listener], advertised_url: str, *, authenticated: bool
    ) -> Self:
        """``authenticated``: whether clients need credentials. Raises RestSettingError."""
        given = [each.strip() for each in config.get(ALLOWED_HOSTS, "").split(",") if each.strip()]
        for each in given:
            if not (_ENTRY.fullmatch(each) or _is_address(each)):
                raise RestSettingError(
                    f"`{ALLOWED_HOSTS}` has {each}, which is no host name; expected names without scheme and port such "
                    "as `connect.example.com`, `*.example.com` for all below a domain, or `*` for all"
                )
        own = [each.host for each in bound] + [host_of(advertised_url.partition("://")[2].rstrip("/"))]
        names = frozenset(_plain(each) for each in (*LOOPBACK, *own, *given) if each)
        return cls(names, without_principal=not authenticated)

    async def check(self, header: str | None) -> None:
        """Raises Refused (403) for a header ``Host`` with another name. HTTP/1.0 has no such header."""
        if header is None or await self._allow(host_of(header)):
            return
        raise Refused(
            403,
            f"The header Host has {header[:MAX_SHOWN]}, and this worker is known by other names. Without credentials "
            f"it can be called by its addresses and its own names, and by those that `{ALLOWED_HOSTS}` has",
        )

    async def _allow(self, host: str) -> bool:
        name = _plain(host)
        if "*" in self.names or name in self.names or _is_address(name):
            return True
        domains = name.split(".")
        if any(".".join(("*", *domains[at:])) in self.names for at in range(1, len(domains))):
            return True
        if self._more is None:
            self._more = asyncio.ensure_future(self._further())
        return name in await asyncio.shield(self._more)

    async def _further(self) -> frozenset[str]:
        return frozenset(_plain(each) for each in await in_thread(self.more) if each)


def host_of(authority: str) -> str:
    """Return the host of a ``host:port``, without the brackets of an address of IPv6."""
    if _is_address(authority):
        return authority
    return _PORT.sub("", authority).removeprefix("[").removesuffix("]")


def _plain(host: str) -> str:
    return host.lower().removesuffix(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True

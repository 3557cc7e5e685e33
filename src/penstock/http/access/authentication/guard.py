"""The guard of a router: authenticates by Basic authentication, bearer token, client certificate, or another worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from starlette.requests import Request

from penstock.core.model.messages import Refused, Reply
from penstock.http.access.authentication.basic_auth import DENIED, BasicAuth, credentials
from penstock.http.access.authentication.forwarded import VIA, Forwarded, claimed_name, via_of
from penstock.http.access.authentication.principals import Principal, address_of

MAX_NAME_LENGTH = 100


class Passwords(Protocol):
    async def knows(self, name: str, password: str, address: str = "") -> bool: ...


class Tokens(Protocol):
    async def principal(self, token: str) -> tuple[str, frozenset[str]] | None: ...


@dataclass(frozen=True, slots=True)
class Authentication:
    """Guard of a router: authenticates the principal, and refuses the request if a way to authenticate is configured
    and none succeeds.
    """

    basic: BasicAuth | None = None
    passwords: Passwords | None = None
    tokens: Tokens | None = None
    certificates: bool = False
    forwarded: Forwarded = field(default_factory=Forwarded)

    @property
    def is_required(self) -> bool:
        return bool(self.basic or self.passwords or self.tokens or self.certificates)

    @property
    def accepts_anybody(self) -> bool:
        """Whether requests without right credentials are accepted, as with an empty file of users in Java's format."""
        return not self.is_required or (self.basic is not None and not all(self.basic.users))

    async def __call__(self, request: Request) -> Reply | None:
        try:
            found = await self.forwarded.principal(request) or await self._found(request)
        except Refused as refused:
            return refused.reply()
        if found is None and self.is_required:
            return DENIED
        found = found or Principal(address=address_of(request))
        request.scope.setdefault("state", {})["principal"] = found if found.via else replace(found, via=via_of(request))
        return None

    async def _found(self, request: Request) -> Principal | None:
        header, address = request.headers.get("authorization"), address_of(request)
        scheme, _, token = (header or "").partition(" ")
        if self.tokens is not None and scheme.lower() == "bearer":
            known = await self.tokens.principal(token.strip())
            if known is not None:
                return Principal(*known, how="token", address=address)
        name, password = credentials(header)
        given = name is not None and password is not None
        if given and self.passwords is not None and await self.passwords.knows(name or "", password or "", address):
            return Principal(name, how="basic", address=address)
        if self.basic is not None and self.basic(request) is None:
            return Principal(name, how="basic" if name else "none", address=address)
        if self.certificates and VIA not in request.headers and (subject := subject_of(request)):
            return Principal(subject, how="certificate", address=address)
        return None


def tried(request: Request) -> str | None:
    """Return the user name that a client gave, known or not; never more than a line of it."""
    name = credentials(request.headers.get("authorization"))[0] or claimed_name(request)
    return name[:MAX_NAME_LENGTH] if name else None


def subject_of(request: Request) -> str | None:
    """Return the common name of the client's certificate, which TLS has verified."""
    certificate: Mapping[str, Any] | None = request.scope.get("state", {}).get("certificate")
    for part in (certificate or {}).get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value)
    return None

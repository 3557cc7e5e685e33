"""The principal of a request, by Basic authentication, bearer token, client certificate or another worker.

A request that one worker forwards to another carries who asked, and from where, in a header that is signed with the
cluster's session key (KIP-507): a client certificate can't be forwarded otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from starlette.requests import Request

from penstock.core.model.messages import Reply
from penstock.http.access.authentication.basic_auth import DENIED, BasicAuth, credentials

HEADER = "X-Penstock-Principal"
FORWARDED_S = 300.0
"""Maximum age of the header of a forwarded request, in seconds; clocks of workers differ."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A user, or a service. ``name`` is None if nobody was authenticated."""

    name: str | None = None
    groups: frozenset[str] = frozenset()
    how: str = "none"
    """``basic``, ``token``, ``certificate`` or ``none``."""
    address: str = ""
    forwarded: bool = field(default=False, compare=False)
    """Whether another worker authenticated the principal; that worker writes the audit line too."""
    tried: str | None = field(default=None, compare=False)
    """The user name that was given with a wrong password."""


ANYBODY = Principal()
MAX_NAME_LENGTH = 100


class Passwords(Protocol):
    async def knows(self, name: str, password: str) -> bool: ...


class Tokens(Protocol):
    async def principal(self, token: str) -> tuple[str, frozenset[str]] | None: ...


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Signs and checks the header. ``key`` is the present session key, None if there is none."""

    key: Callable[[], bytes | None] = lambda: None

    def header(self, principal: Principal, method: str, target: bytes, body: bytes) -> dict[str, str]:
        key = self.key()
        if key is None:
            return {}
        said = {
            "name": principal.name,
            "groups": sorted(principal.groups),
            "how": principal.how,
            "address": principal.address,
            "time": time.time(),
        }
        text = json.dumps(said).encode()
        signed = _signature(key, text, method, target, body)
        return {HEADER: f"{base64.b64encode(text).decode()}.{signed}"}

    async def principal(self, request: Request) -> Principal | None:
        """Return the principal in the header; None if it is missing, or not signed by a worker of this cluster for this
        request.
        """
        given, key = request.headers.get(HEADER), self.key()
        if given is None or key is None:
            return None
        encoded, _, signature = given.partition(".")
        try:
            text = base64.b64decode(encoded, validate=True)
        except ValueError:
            return None
        target = target_of(request.scope["raw_path"], request.query_params.multi_items())
        expected = _signature(key, text, request.method, target, await request.body())
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return None
        said = json.loads(text)
        if abs(time.time() - said["time"]) > FORWARDED_S:
            return None
        return Principal(said["name"], frozenset(said["groups"]), said["how"], said["address"], forwarded=True)


def target_of(raw_path: bytes, query: Iterable[tuple[str, str]]) -> bytes:
    """Return the signed part of a request's target: its path, and its query in one spelling."""
    path, text = raw_path.partition(b"?")[0], urlencode(list(query))
    return path + b"?" + text.encode() if text else path


def _signature(key: bytes, text: bytes, method: str, target: bytes, body: bytes) -> str:
    parts = (b"penstock principal", text, method.encode(), target, hashlib.sha256(body).digest())
    return hmac.new(key, b"\n".join(parts), "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Authentication:
    """Guard of a router: authenticates the principal, and refuses the request if a way to authenticate is configured
    and none succeeds.
    """

    basic: BasicAuth | None = None
    passwords: Passwords | None = None
    tokens: Tokens | None = None
    certificates: bool = False
    forwarded: Forwarded = Forwarded()

    @property
    def is_required(self) -> bool:
        return bool(self.basic or self.passwords or self.tokens or self.certificates)

    @property
    def accepts_anybody(self) -> bool:
        """Whether requests without right credentials are accepted, as with an empty file of users in Java's format."""
        return not self.is_required or (self.basic is not None and not all(self.basic.users))

    async def __call__(self, request: Request) -> Reply | None:
        found = await self.forwarded.principal(request) or await self._found(request)
        if found is None and self.is_required:
            return DENIED
        request.scope.setdefault("state", {})["principal"] = found or Principal(address=address_of(request))
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
        if given and self.passwords is not None and await self.passwords.knows(name or "", password or ""):
            return Principal(name, how="basic", address=address)
        if self.basic is not None and self.basic(request) is None:
            return Principal(name, how="basic" if name else "none", address=address)
        if self.certificates and (subject := subject_of(request)):
            return Principal(subject, how="certificate", address=address)
        return None


def principal_of(request: Request) -> Principal:
    found = request.scope.get("state", {}).get("principal", ANYBODY)
    return found if isinstance(found, Principal) else ANYBODY


def tried(request: Request) -> str | None:
    """Return the user name that a client gave, known or not; never more than a line of it."""
    name = credentials(request.headers.get("authorization"))[0]
    return name[:MAX_NAME_LENGTH] if name else None


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def subject_of(request: Request) -> str | None:
    """Return the common name of the client's certificate, which TLS has verified."""
    certificate: Mapping[str, Any] | None = request.scope.get("state", {}).get("certificate")
    for part in (certificate or {}).get("subject", ()):
        for name, value in part:
            if name == "commonName":
                return str(value)
    return None

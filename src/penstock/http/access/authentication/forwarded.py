"""The client of a request that one worker forwards to another.

Credentials travel as they are: the header ``Authorization`` is sent on, as by Java, and the worker that acts checks it.
A client's certificate can't travel, so who it was is in ``X-Penstock-Principal``, with a proof that a worker of this
cluster says so: a signature with a key of ``penstock.rest.forwarding.key``, or the connection's own certificate, if it
is that of the worker that receives the request. The session key (KIP-507) proves nothing here: it is in the config
topic. See docs/decisions/forwarding-proof.md.

A signature holds for one request to one worker, once, and for ``MAX_AGE_S``. ``X-Penstock-Via`` names the worker that
has sent the request; without a proof it is a claim, for the audit log only. The certificate of such a request's
connection is that worker's, never the client's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from penstock.core.model.messages import Refused
from penstock.http.access.authentication.principals import Principal, principal_of
from penstock.http.access.listeners import RestSettingError

HEADER, VIA = "X-Penstock-Principal", "X-Penstock-Via"
KEY = "penstock.rest.forwarding.key"
MIN_KEY_LENGTH = 32
MAX_AGE_S = 120.0
"""Maximum age of a signature in seconds; clocks of workers differ."""
MAX_HEADER_LENGTH, MAX_SHOWN = 16_384, 200
MAX_SEEN = 100_000
"""Signatures that are remembered; only those that a worker has made count."""
_PURPOSE = b"penstock forwarded request 1"


def keys_of(config: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the keys of the setting: the first one signs, all are accepted. Raises RestSettingError."""
    given = [each.strip() for each in config.get(KEY, "").split(",") if each.strip()]
    if any(len(each) < MIN_KEY_LENGTH for each in given):
        raise RestSettingError(
            f"`{KEY}` has a key of less than {MIN_KEY_LENGTH} characters; use random ones, such as those of "
            "`openssl rand -hex 32`"
        )
    return tuple(each.encode() for each in given)


def id_of(url: str) -> str:
    """Return the id of the worker with this URL, ``host:port``."""
    return url.partition("://")[2].rstrip("/")


@dataclass(slots=True)
class Forwarded:
    """Makes and checks the headers. ``own`` is this worker's id; ``certificates`` are its own ones, as DER."""

    keys: Sequence[bytes] = ()
    own: str = ""
    certificates: frozenset[bytes] = frozenset()
    clock: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    """A clock that nobody sets."""
    _since: float = 0.0
    """Time by ``steady`` at which this worker began to remember signatures."""
    _seen: dict[str, float] = field(default_factory=dict)
    """Expiry of signatures that were accepted, in the order in which they were."""

    def __post_init__(self) -> None:
        self._since = self.steady()

    def headers(self, request: Request, method: str, url: str, target: bytes, body: bytes) -> dict[str, str]:
        """Return the headers of a request to the worker at ``url`` in the name of this request's principal."""
        principal = principal_of(request)
        sent = {"authorization": request.headers["authorization"]} if "authorization" in request.headers else {}
        sent[VIA] = self.own
        if principal.how != "certificate":
            return sent
        said = {
            "name": principal.name,
            "groups": sorted(principal.groups),
            "how": principal.how,
            "address": principal.address,
            "via": ", ".join(filter(None, (principal.via, self.own))),
            "time": self.clock(),
            "nonce": secrets.token_hex(16),
        }
        text = json.dumps(said).encode()
        proof = _signature(self.keys[0], text, method, id_of(url), target, body) if self.keys else ""
        sent[HEADER] = f"{base64.b64encode(text).decode()}.{proof}"
        return sent

    async def principal(self, request: Request) -> Principal | None:
        """Return the principal that another worker has authenticated; None if the request does not name one.

        Raises Refused (403) if it names one without a proof: it is no request of this cluster's workers.
        """
        given = request.headers.getlist(HEADER)
        if not given:
            return None
        encoded, _, proof = given[0].partition(".")
        text = _decoded(encoded) if len(given) == 1 and len(given[0]) <= MAX_HEADER_LENGTH else None
        if text is None:
            raise _refused("is not of the form that workers send")
        if not self._is_own_certificate(request):
            await self._check(request, text, proof)
        return _principal(text)

    def _is_own_certificate(self, request: Request) -> bool:
        certificate = request.scope.get("state", {}).get("certificate_der")
        return certificate is not None and certificate in self.certificates

    async def _check(self, request: Request, text: bytes, proof: str) -> None:
        if not self.keys:
            raise _refused(f"has no proof that this worker accepts: it has no `{KEY}`")
        target = target_of(request.scope["raw_path"], request.query_params.multi_items())
        body = await request.body()
        expected = [_signature(key, text, request.method, self.own, target, body) for key in self.keys]
        if not any(hmac.compare_digest(proof.encode(), each.encode()) for each in expected):
            raise _refused(f"is not signed with a key of `{KEY}` for this request to {self.own}")
        now, sent = self.clock(), _time(text)
        if abs(now - sent) > MAX_AGE_S or now - sent > self.steady() - self._since:
            raise _refused(f"was signed {now - sent:.0f} s ago by this worker's clock, or before it started")
        self._forget(now)
        if proof in self._seen:
            raise _refused("was used before")
        if len(self._seen) >= MAX_SEEN:
            raise Refused(503, "Too many forwarded requests at once; try again")
        self._seen[proof] = now + 2 * MAX_AGE_S

    def _forget(self, now: float) -> None:
        while self._seen and next(iter(self._seen.values())) < now:
            del self._seen[next(iter(self._seen))]


def via_of(request: Request) -> str:
    """Return the worker that says that it has forwarded a request; empty if none does."""
    given = request.headers.get(VIA, "")[:MAX_SHOWN]
    return given if given.isprintable() else ""


def claimed_name(request: Request) -> str | None:
    """Return the name that a request claims for its client, proven or not, for the audit log."""
    given = request.headers.get(HEADER, "")
    text = _decoded(given.partition(".")[0]) if len(given) <= MAX_HEADER_LENGTH else None
    try:
        name = json.loads(text or b"null")["name"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return name[:MAX_SHOWN] if isinstance(name, str) else None


def target_of(raw_path: bytes, query: Iterable[tuple[str, str]]) -> bytes:
    """Return the signed part of a request's target: its path, and its query in one spelling."""
    path, text = raw_path.partition(b"?")[0], urlencode(list(query))
    return path + b"?" + text.encode() if text else path


def _signature(key: bytes, text: bytes, method: str, to: str, target: bytes, body: bytes) -> str:
    parts = (_PURPOSE, text, method.encode(), to.encode(), target, hashlib.sha256(body).digest())
    return hmac.new(key, b"".join(len(part).to_bytes(8) + part for part in parts), "sha256").hexdigest()


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None


def _time(text: bytes) -> float:
    said = _said(text).get("time")
    if not isinstance(said, int | float) or isinstance(said, bool):
        raise _refused("has no time")
    return said


def _principal(text: bytes) -> Principal:
    match _said(text):
        case {
            "name": str(name),
            "groups": list(groups),
            "how": "certificate",
            "address": str(address),
            "via": str(via),
        }:
            if name and all(isinstance(group, str) for group in groups):
                return Principal(name, frozenset(groups), "certificate", address[:MAX_SHOWN], via=via[:MAX_SHOWN])
    raise _refused("names no principal")


def _said(text: bytes) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise _refused("is not of the form that workers send")
    return said


def _refused(why: str) -> Refused:
    return Refused(
        403,
        f"The header {HEADER} {why}. A worker can pass on who a client with a certificate is if all workers have the "
        f"same `{KEY}`, or one certificate for all; or send the request to the leader",
    )

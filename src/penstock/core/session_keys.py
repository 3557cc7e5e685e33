"""Session keys, with which workers of a cluster sign their requests to one another (KIP-507).

The leader makes a key and writes it to the config topic, which only members of the cluster can read; it replaces a key
that is older than ``inter.worker.key.ttl.ms``. Only requests between workers are signed (``PutTaskConfigs``,
``FenceTasks``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.core.group.leadership import RETRY_MS, Leadership
from penstock.core.model import actions
from penstock.core.model.flow import FOREVER, Flow, Until
from penstock.core.model.messages import ALGORITHM_HEADER, SIGNATURE_HEADER, Refused, Signature
from penstock.core.model.records import SessionKey
from penstock.core.model.settings import HerderSettings

DIGESTS = {
    "HmacMD5": "md5",
    "HmacSHA1": "sha1",
    "HmacSHA224": "sha224",
    "HmacSHA256": "sha256",
    "HmacSHA384": "sha384",
    "HmacSHA512": "sha512",
}
"""Python's names of the supported algorithms, by Java's."""

DEFAULT_KEY_SIZES = {
    "HmacMD5": 64,
    "HmacSHA1": 64,
    "HmacSHA224": 28,
    "HmacSHA256": 32,
    "HmacSHA384": 48,
    "HmacSHA512": 64,
}
"""Bytes of a key where ``inter.worker.key.size`` is not set."""


def key_bytes(algorithm: str, size: int | None) -> int:
    """Return the length of a key; ``size`` is ``inter.worker.key.size``, in bits."""
    return DEFAULT_KEY_SIZES[algorithm] if size is None else (size + 7) // 8


def sign(key: bytes, algorithm: str, body: bytes) -> bytes:
    return hmac.new(key, body, getattr(hashlib, DIGESTS[algorithm])).digest()


def signature_headers(key: bytes, algorithm: str, body: bytes) -> dict[str, str]:
    """Return the headers to send with this body."""
    signature = base64.b64encode(sign(key, algorithm, body)).decode()
    return {SIGNATURE_HEADER: signature, ALGORITHM_HEADER: algorithm}


def check_signature(signature: Signature, key: SessionKey | None, allowed: tuple[str, ...]) -> None:
    """Raises Refused with Java's status.

    400 for a request without a signature or with an algorithm that is not allowed, 403 for a wrong signature, 503 where
    this worker has not read the key yet: the sender retries.
    """
    if signature.signature is None or signature.algorithm is None:
        raise Refused(400, "Internal request missing required signature")
    if signature.algorithm not in allowed:
        raise Refused(
            400,
            f"This worker does not support the '{signature.algorithm}' key signing algorithm used by other workers. "
            f"This worker is currently configured to use: [{', '.join(allowed)}]. Check that all workers' "
            "configuration files permit the same set of signature algorithms, and correct any misconfigured worker "
            "and restart it.",
        )
    if key is None:
        raise Refused(
            503,
            "This worker is still starting up and has not been able to read a session key from the config topic yet",
        )
    if not hmac.compare_digest(signature.signature, sign(key.key, signature.algorithm, signature.body)):
        raise Refused(403, "Internal request contained invalid signature.")


@dataclass(slots=True)
class SessionKeys:
    """This worker's use of the key; as leader, its replacement (a ``leadership.Duty``)."""

    settings: HerderSettings
    leadership: Leadership

    # -- every worker

    @property
    def are_used(self) -> bool:
        """Whether requests between workers are signed at present."""
        return self.settings.distributed and self.leadership.membership.requests_are_signed

    @property
    def present(self) -> SessionKey | None:
        return self.leadership.state.session_key

    def is_urgent(self) -> bool:
        """Whether requests are to be signed, and the leader has written no key yet."""
        return self.are_used and self.present is None

    def key_known(self) -> Flow:
        """Continue once there is a key, if one is needed."""
        what = "The leader has not written a session key."
        yield Until(lambda: not self.is_urgent(), self.settings.request_timeout_ms, what)

    def call_leader(self, method: str, path: tuple[str, ...], body: Any) -> actions.CallLeader:
        """Return a request to the leader, signed if requests are signed and there is a key."""
        key = self.present
        return actions.CallLeader(
            method,
            self.leadership.membership.leader_url or "",
            path,
            body,
            key.key if key is not None and self.are_used else None,
            self.settings.signature_algorithm,
        )

    def check_request(self, signature: Signature, what: str) -> None:
        """Raise Refused if this worker is the only one, or if the request is not signed as it must be."""
        if not self.settings.distributed:
            raise Refused(500, f"Kafka Connect in standalone mode does not support {what}.")
        if self.are_used:
            check_signature(signature, self.present, self.settings.verification_algorithms)

    # -- the leader

    def due_in_ms(self) -> int:
        """Return the time until the key expires; a key whose time to live is 0 never does."""
        ttl_ms = self.settings.key_ttl_ms
        if ttl_ms == 0:
            return FOREVER
        return ttl_ms if self.present is None else max(self.present.created_ms + ttl_ms - self._now, RETRY_MS)

    def perform(self, over: Callable[[], bool]) -> Flow:
        if not self.are_used or not self._is_due():
            return
        settings = self.settings
        material = yield actions.MakeSessionKey(settings.key_algorithm, settings.key_size)
        if not over():
            yield from self.leadership.append(SessionKey(material, settings.key_algorithm, self._now))

    def _is_due(self) -> bool:
        key, settings = self.present, self.settings
        if key is None or key.algorithm != settings.key_algorithm:
            return True
        if len(key.key) != key_bytes(settings.key_algorithm, settings.key_size):
            return True
        return settings.key_ttl_ms > 0 and self._now >= key.created_ms + settings.key_ttl_ms

    @property
    def _now(self) -> int:
        return self.leadership.output.now

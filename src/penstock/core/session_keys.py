"""The key that workers of a cluster sign their requests to one another with (KIP-507).

The leader makes a key and writes it to the config topic, which only members of the cluster can read; it makes another
when the key is older than ``inter.worker.key.ttl.ms``. Only the requests of workers among themselves are signed
(``PutTaskConfigs``, ``FenceTasks``).
"""

from __future__ import annotations

import base64
import hashlib
import hmac

from penstock.core.model.messages import ALGORITHM_HEADER, SIGNATURE_HEADER, Refused, Signature
from penstock.core.model.records import SessionKey

DIGESTS = {
    "HmacMD5": "md5",
    "HmacSHA1": "sha1",
    "HmacSHA224": "sha224",
    "HmacSHA256": "sha256",
    "HmacSHA384": "sha384",
    "HmacSHA512": "sha512",
}
"""Java's names of the algorithms that can be used, and Python's."""

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
    """How long a key is; ``size`` is ``inter.worker.key.size``, in bits."""
    return DEFAULT_KEY_SIZES[algorithm] if size is None else size // 8


def sign(key: bytes, algorithm: str, body: bytes) -> bytes:
    return hmac.new(key, body, getattr(hashlib, DIGESTS[algorithm])).digest()


def signature_headers(key: bytes, algorithm: str, body: bytes) -> dict[str, str]:
    """The headers to send along with this body."""
    signature = base64.b64encode(sign(key, algorithm, body)).decode()
    return {SIGNATURE_HEADER: signature, ALGORITHM_HEADER: algorithm}


def check_signature(signature: Signature, key: SessionKey | None, allowed: tuple[str, ...]) -> None:
    """Raises Refused with Java's status: 400 for a request without or with a strange signature, 403 for a wrong one.

    503 where this worker has not read the key yet: the sender tries again.
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

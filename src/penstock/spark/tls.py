"""TLS between Spark's machines: a process makes a key and a certificate of its own, and the other end pins them.

There is no authority to trust and no file to distribute: the certificate's fingerprint travels with what Spark brings
to its processes anyway. The key is never on a disk in clear.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import secrets
import socket
import ssl
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Identity:
    """The listening end."""

    context: ssl.SSLContext
    fingerprint: str
    """SHA-256 of the certificate, in hexadecimal."""


def identity() -> Identity:
    """Return the identity of this process, made at the first call. Any thread may call it."""
    with _MAKING:
        return _identity()


_MAKING = threading.Lock()


@functools.cache
def _identity() -> Identity:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "penstock")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # It is known by its fingerprint: the dates mean nothing to either end.
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    password = secrets.token_bytes(32)
    sealed = serialization.BestAvailableEncryption(password)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, sealed)
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # OpenSSL reads keys from files only
        file.write(pem + certificate.public_bytes(serialization.Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name, password=password)
    return Identity(context, certificate.fingerprint(hashes.SHA256()).hex())


@functools.cache
def _client() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the fingerprint is compared instead
    return context


def prepare() -> None:
    """Have OpenSSL load what a client needs, by starting a handshake without a peer."""
    with contextlib.suppress(ssl.SSLWantReadError):
        _client().wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO()).do_handshake()


def wrapped(connection: socket.socket, fingerprint: str) -> ssl.SSLSocket:
    """The connecting end, for one thread. Raises OSError if the other end is not the one with this certificate."""
    secured = _client().wrap_socket(connection)
    try:
        _compare(secured.getpeercert(binary_form=True), fingerprint)
    except OSError:
        secured.close()
        raise
    return secured


class SecuredConnection:
    """The connecting end, of which one thread reads while another writes: ``ssl.SSLSocket`` is not made for that.

    Reading never waits for the rest of a record of TLS, so that a timeout of the caller's holds.
    """

    def __init__(self, connection: socket.socket, fingerprint: str) -> None:
        """Do the handshake. Raises OSError if the other end does not have this certificate."""
        self._socket = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _client().wrap_bio(self._incoming, self._outgoing)
        self._lock = threading.Lock()
        """Held while the state of TLS changes, never while the network is waited for."""
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                data = connection.recv(CHUNK)
                if not data:
                    raise ConnectionError("the connection was closed before TLS was agreed on") from None
                self._incoming.write(data)
        _compare(self._tls.getpeercert(binary_form=True), fingerprint)
        self._flush()

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def buffered(self) -> bool:
        """Whether there is something to read that ``select`` does not report."""
        with self._lock:
            return bool(self._incoming.pending or self._tls.pending())

    def sendall(self, data: bytes) -> None:
        """Send data; block while the other end does not read. Called by one thread at a time."""
        with self._lock:
            self._tls.write(data)
            sealed = self._outgoing.read()
        self._socket.sendall(sealed)

    def recv(self, size: int) -> bytes:
        """Return received data, blocking until there is some; empty at the end, as for a socket."""
        while (data := self._read(size)) is None:
            if not self._take(0):
                return b""
        return data

    def recv_now(self, size: int) -> bytes | None:
        """Return what has arrived so far, perhaps nothing; None at the end."""
        data = self._read(size)
        if data is None:
            try:
                if not self._take(socket.MSG_DONTWAIT):
                    return None
            except BlockingIOError:
                return b""
            data = self._read(size)
        return b"" if data is None else data or None

    def settimeout(self, seconds: float | None) -> None:
        self._socket.settimeout(seconds)

    def shutdown(self, how: int) -> None:
        self._socket.shutdown(how)

    def close(self) -> None:
        self._socket.close()

    def _read(self, size: int) -> bytes | None:
        """Return decrypted data, or None if more has to arrive first."""
        with self._lock:
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                return None

    def _take(self, flags: int) -> bool:
        data = self._socket.recv(CHUNK, flags)
        with self._lock:
            self._incoming.write(data)
        return bool(data)

    def _flush(self) -> None:
        self._socket.sendall(self._outgoing.read())


def _compare(certificate: bytes | None, fingerprint: str) -> None:
    found = hashlib.sha256(certificate or b"").hexdigest()
    if not hmac.compare_digest(found, fingerprint):
        raise ConnectionError("the other end of the connection has another certificate than the expected one")

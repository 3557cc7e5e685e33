"""Java's key stores as PEM: PKCS12, and the older JKS, whichever the file turns out to be.

Java's ``JKS`` reads both since 9, so the type that a configuration names says little. JKS is a list of entries:
certificates in the clear, private keys under an XOR stream of SHA-1. Java: ``sun.security.provider.JavaKeyStore``,
``KeyProtector``. PKCS12 is read by ``cryptography``; no maintained library reads JKS.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_der_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from penstock.java.errors import KeyStoreError

_JKS = b"\xfe\xed\xfe\xed"


@dataclass(slots=True)
class _Store:
    key: bytes | None = None
    """The private key in PEM."""
    chain: list[bytes] = field(default_factory=list)
    trusted: list[bytes] = field(default_factory=list)
    """Certificates in PEM."""


def own_key(store: bytes, password: str | None, key_password: str | None) -> tuple[str, str]:
    """Private key and certificate chain, in PEM; raises KeyStoreError if the store has none or can't be opened."""
    opened = _open(store, password, key_password)
    if opened.key is None:
        raise KeyStoreError("holds no private key")
    return opened.key.decode(), b"".join(opened.chain).decode()


def trusted(store: bytes, password: str | None) -> str:
    """All certificates of the store, in PEM; raises KeyStoreError if it can't be opened."""
    opened = _open(store, password, None)
    return b"".join([*opened.trusted, *opened.chain]).decode()


def _open(store: bytes, password: str | None, key_password: str | None) -> _Store:
    try:
        if store.startswith(_JKS):
            return _open_jks(store, password, key_password)
        return _open_pkcs12(store, password)
    except (ValueError, struct.error, IndexError) as e:
        problem = "its password is wrong, or it is neither PKCS12 nor JKS"
        raise KeyStoreError(f"can't be opened: {problem} ({e})") from e


def _open_pkcs12(store: bytes, password: str | None) -> _Store:
    content = load_pkcs12(store, None if password is None else password.encode())
    others = [entry.certificate.public_bytes(Encoding.PEM) for entry in content.additional_certs]
    if content.key is None:
        first = [] if content.cert is None else [content.cert.certificate.public_bytes(Encoding.PEM)]
        return _Store(trusted=first + others)
    key = content.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    own = [] if content.cert is None else [content.cert.certificate.public_bytes(Encoding.PEM)]
    return _Store(key, own + others)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, length: int) -> bytes:
        self.at += length
        if self.at > len(self.data):
            raise ValueError("it ends too early")
        return self.data[self.at - length : self.at]

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self.take(size), "big")

    def text(self) -> str:
        return self.take(self.number(2)).decode()

    def certificate(self, version: int) -> bytes:
        if version == 2:
            self.text()
        return x509.load_der_x509_certificate(self.take(self.number())).public_bytes(Encoding.PEM)


def _open_jks(store: bytes, password: str | None, key_password: str | None) -> _Store:
    body, digest = store[:-20], store[-20:]
    if password is not None:
        seal = hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body)
        if seal.digest() != digest:
            raise ValueError("its digest does not match the password")
    read, opened = _Reader(body), _Store()
    read.take(4)
    version, entries = read.number(), read.number()
    for _ in range(entries):
        tag = read.number()
        read.text()
        read.take(8)
        if tag == 1:
            protected = read.take(read.number())
            chain = [read.certificate(version) for _ in range(read.number())]
            if opened.key is None:
                secret = key_password or password or ""
                opened.key, opened.chain = _recover(protected, secret), chain
        elif tag == 2:
            opened.trusted.append(read.certificate(version))
        else:
            raise ValueError(f"it has an entry of kind {tag}")
    return opened


def _recover(protected: bytes, password: str) -> bytes:
    """The key in PEM. ``protected`` is an EncryptedPrivateKeyInfo whose octets are salt, XORed key and checksum."""
    data = _octets(protected)
    salt, hidden, checksum = data[:20], data[20:-20], data[-20:]
    secret, stream, last = password.encode("utf-16-be"), b"", salt
    while len(stream) < len(hidden):
        last = hashlib.sha1(secret + last).digest()
        stream += last
    key = bytes(a ^ b for a, b in zip(hidden, stream, strict=False))
    if hashlib.sha1(secret + key).digest() != checksum:
        raise ValueError("the password of the key is wrong")
    return load_der_private_key(key, None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _octets(der: bytes) -> bytes:
    """The content of the second element of an ASN.1 sequence: the octet string after the algorithm."""
    inner, _ = _element(der)
    _, rest = _element(inner)
    octets, _ = _element(rest)
    return octets


def _element(der: bytes) -> tuple[bytes, bytes]:
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start], "big")
    return der[start : start + length], der[start + length :]

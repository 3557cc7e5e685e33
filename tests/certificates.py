"""Certificates for tests, made when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificate:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    issuer: Certificate | None

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        hidden: KeySerializationEncryption = NoEncryption()
        if password is not None:
            hidden = BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden).decode()

    def write(self, path: Path, password: str | None = None) -> Path:
        """Key and certificate in one PEM file."""
        path.write_text(self.key_pem(password) + self.pem)
        return path

    def write_store(self, path: Path, password: str) -> Path:
        """As PKCS12."""
        others = [] if self.issuer is None else [self.issuer.certificate]
        hidden = BestAvailableEncryption(password.encode())
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"x", self.key, self.certificate, others, hidden))
        return path


def authority() -> Certificate:
    return _made("authority", None)


def issued(by: Certificate, name: str = "localhost") -> Certificate:
    """For localhost and 127.0.0.1."""
    return _made(name, by)


def _made(name: str, issuer: Certificate | None) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer is not None:
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(signer, critical=False)
    else:
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    return Certificate(key, builder.sign((issuer.key if issuer else key), hashes.SHA256()), issuer)

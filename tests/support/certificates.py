"""An authority made up for tests, and certificates that it signs, as PEM and as Java's key stores."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from struct import pack

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12

PASSWORD = "storepass"
_PEM, _PKCS8 = Encoding.PEM, PrivateFormat.PKCS8


@dataclass(frozen=True)
class Identity:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(_PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        protection = serialization.BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(_PEM, _PKCS8, protection).decode()


@dataclass(frozen=True)
class Authority(Identity):
    """Signs for an hour."""

    @classmethod
    def make(cls, name: str = "Test authority") -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(_signed(name, key, name, key, ca=True), key)

    def identity(self, name: str, host: str = "localhost") -> Identity:
        """Return a certificate for ``host``, and for 127.0.0.1 too if that is ``localhost``."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value
        return Identity(_signed(name, key, str(issuer), self.key, ca=False, host=host), key)


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    ca: bool,
    host: str = "localhost",
) -> x509.Certificate:
    def named(common: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])

    now = datetime.datetime.now(datetime.UTC)
    hosts: list[x509.GeneralName] = [x509.DNSName(host)]
    if host == "localhost":
        hosts.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    return (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        # Python 3.13 insists on these three.
        .add_extension(_usage(ca), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _usage(ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=not ca,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


def pkcs12_key_store(path: Path, identity: Identity, authority: Identity) -> Path:
    protection = serialization.BestAvailableEncryption(PASSWORD.encode())
    path.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"own", identity.key, identity.certificate, [authority.certificate], protection
        )
    )
    return path


def pkcs12_trust_store(path: Path, authority: Identity) -> Path:
    protection = serialization.BestAvailableEncryption(PASSWORD.encode())
    entry = pkcs12.PKCS12Certificate(authority.certificate, b"authority")
    path.write_bytes(pkcs12.serialize_java_truststore([entry], protection))
    return path


def jks_trust_store(path: Path, authority: Identity) -> Path:
    """Version 2: one entry of kind 2, sealed with the password."""

    def text(value: str) -> bytes:
        return pack(">H", len(value)) + value.encode()

    der = authority.certificate.public_bytes(Encoding.DER)
    body = b"\xfe\xed\xfe\xed" + pack(">II", 2, 1)
    body += pack(">I", 2) + text("authority") + pack(">Q", 0) + text("X.509") + pack(">I", len(der)) + der
    seal = hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
    path.write_bytes(body + seal)
    return path

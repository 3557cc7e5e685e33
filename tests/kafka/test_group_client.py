"""Java's client settings, as kafka-python takes them."""

from __future__ import annotations

import datetime
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.kafka.group_client import client_arguments, security_arguments, ssl_context

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username=\'alice\' password="s\\"e=c;ret";'


def pem() -> tuple[str, str]:
    """A certificate and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "broker")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private = key.private_bytes(encoding, form, serialization.NoEncryption())
    return certificate.public_bytes(encoding).decode(), private.decode()


def test_numbers_have_connects_defaults() -> None:
    arguments = client_arguments({"bootstrap.servers": "a:1, b:2", "session.timeout.ms": "7000"}, "w")
    assert arguments["bootstrap_servers"] == ["a:1", "b:2"]
    assert arguments["client_id"] == "w"
    assert arguments["session_timeout_ms"] == 7000
    assert arguments["heartbeat_interval_ms"] == 3000
    assert arguments["max_poll_interval_ms"] == 60_000
    assert arguments["request_timeout_ms"] == 40_000
    assert arguments["security_protocol"] == "PLAINTEXT"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_user_and_password_come_from_the_jaas_configuration(mechanism: str) -> None:
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": PLAIN}
    assert security_arguments(settings) == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": 's"e=c;ret',
    }


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI is not supported"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config must give username"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/no/such.jks"},
            "ssl.truststore.type=JKS is not supported",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_refused(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        security_arguments(settings)


def test_certificates_and_keys_may_be_in_the_settings() -> None:
    certificate, key = pem()
    settings = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": certificate,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": certificate,
        "ssl.keystore.key": key,
        "ssl.endpoint.identification.algorithm": "",
    }
    context = ssl_context(settings)
    assert [dict(pair[0] for pair in ca["subject"]) for ca in context.get_ca_certs()] == [{"commonName": "broker"}]
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert isinstance(security_arguments(settings)["ssl_context"], ssl.SSLContext)

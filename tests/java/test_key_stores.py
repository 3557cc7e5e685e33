"""The stores under ``golden/stores`` were made by Java's keytool: a key pair or a certificate each, ``CN=client``."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from penstock.java.errors import KeyStoreError
from penstock.java.key_stores import own_key, trusted

STORES = Path(__file__).parent / "golden" / "stores"


@pytest.mark.parametrize(("store", "key_password"), [("key.jks", "secret-key"), ("key.p12", None)])
def test_an_own_key_and_its_certificate(store: str, key_password: str | None):
    pem, chain = own_key((STORES / store).read_bytes(), "changeit", key_password)
    key, certificate = load_pem_private_key(pem.encode(), None), x509.load_pem_x509_certificate(chain.encode())
    assert isinstance(key, EllipticCurvePrivateKey)
    assert certificate.subject.rfc4514_string() == "CN=client"
    assert key.public_key() == certificate.public_key()


@pytest.mark.parametrize("store", ["trust.jks", "trust.p12"])
def test_trusted_certificates(store: str):
    found = x509.load_pem_x509_certificates(trusted((STORES / store).read_bytes(), "changeit").encode())
    assert [c.subject.rfc4514_string() for c in found] == ["CN=client"]


def test_a_trust_store_of_type_jks_needs_no_password():
    assert "BEGIN CERTIFICATE" in trusted((STORES / "trust.jks").read_bytes(), None)


@pytest.mark.parametrize("store", ["key.jks", "key.p12"])
def test_a_wrong_password(store: str):
    with pytest.raises(KeyStoreError, match="can't be opened"):
        own_key((STORES / store).read_bytes(), "wrong", None)


def test_a_wrong_password_of_only_the_key():
    with pytest.raises(KeyStoreError, match="the password of the key is wrong"):
        own_key((STORES / "key.jks").read_bytes(), "changeit", None)


@pytest.mark.parametrize("store", ["trust.jks", "trust.p12"])
def test_a_store_without_a_key(store: str):
    with pytest.raises(KeyStoreError, match="holds no private key"):
        own_key((STORES / store).read_bytes(), "changeit", None)


@pytest.mark.parametrize("length", [4, 20, 300])
def test_a_store_that_is_cut_off(length: int):
    with pytest.raises(KeyStoreError, match="can't be opened"):
        trusted((STORES / "trust.jks").read_bytes()[:length], None)

"""Certificates that settings name, and when they expire."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cryptography.x509 import Certificate, load_pem_x509_certificates

from penstock.files import read_file
from penstock.java import key_stores
from penstock.java.errors import KeyStoreError
from penstock.java.pem import in_lines
from penstock.kafka.security.settings import texts

log = logging.getLogger(__name__)

LOCATIONS = ("ssl.keystore.location", "ssl.truststore.location")
_TEXTS = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time at which the certificates of a setting stop being useful."""

    setting: str
    subject: str
    time_ms: int


def expiries(config: Mapping[str, str]) -> Iterator[Expiry]:
    """Yield the expiry of each key store and trust store that settings name, whatever prefix they have.

    A key store is useful until the first certificate of its chain expires, a trust store until the last one does.
    Stores that cannot be read are left out: who uses them says why.
    """
    settings = texts(config)
    for name in settings:
        found = next((end for end in (*LOCATIONS, *_TEXTS) if name == end or name.endswith(f".{end}")), None)
        if found is None:
            continue
        prefix = name.removesuffix(found)
        try:
            certificates = _certificates(settings, prefix, found)
        except (OSError, KeyStoreError, ValueError) as error:
            log.debug("The certificates of %s can't be read: %s", name, error)
            continue
        if certificates:
            choose = min if "keystore" in found else max
            one = choose(certificates, key=lambda each: each.not_valid_after_utc)
            yield Expiry(name, one.subject.rfc4514_string(), int(one.not_valid_after_utc.timestamp() * 1000))


def _certificates(settings: Mapping[str, str], prefix: str, found: str) -> list[Certificate]:
    pem = settings[prefix + found]
    if found in LOCATIONS:
        store = read_file(pem)
        password = settings.get(prefix + found.replace("location", "password"))
        if b"-----BEGIN " in store:
            pem = store.decode()
        elif "keystore" in found:
            pem = key_stores.own_key(store, password, settings.get(f"{prefix}ssl.key.password"))[1]
        else:
            pem = key_stores.trusted(store, password)
    return load_pem_x509_certificates(in_lines(pem).encode())

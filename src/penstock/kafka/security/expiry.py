"""Certificates that settings name, and when they expire."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cryptography.x509 import Certificate, load_pem_x509_certificates

from penstock.files import read_file
from penstock.java import key_stores
from penstock.java.errors import KeyStoreError
from penstock.java.pem import in_lines
from penstock.kafka.security.settings import texts

log = logging.getLogger(__name__)

_SETTING = re.compile(
    r"(?P<prefix>(?:[\w-]+\.)*)ssl\.(?P<store>keystore|truststore)"
    r"\.(?:(?P<location>location)|(?<=keystore\.)certificate\.chain|(?<=truststore\.)certificates)"
)


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time at which the certificates of a setting stop being useful."""

    setting: str
    time_ms: int


def is_location(name: str) -> bool:
    """Return whether a setting is the path of a key store or trust store, whatever its prefix."""
    found = _SETTING.fullmatch(name)
    return found is not None and found["location"] is not None


def expiries(config: Mapping[str, str | None]) -> Iterator[Expiry]:
    """Yield the expiry of each key store and trust store that settings name, whatever prefix they have.

    A key store is useful until the first certificate of its chain expires, a trust store until the last one does.
    Stores that cannot be read are left out: who uses them says why.
    """
    settings = texts({name: value for name, value in config.items() if value is not None})
    for name in settings:
        if (found := _SETTING.fullmatch(name)) is None:
            continue
        try:
            ends = [each.not_valid_after_utc.timestamp() for each in _certificates(settings, found)]
        except (OSError, KeyStoreError, ValueError, TypeError) as error:
            log.debug("The certificates of %s can't be read: %s", name, error)
            continue
        if ends:
            yield Expiry(name, int((min if found["store"] == "keystore" else max)(ends) * 1000))


def _certificates(settings: Mapping[str, str], found: re.Match[str]) -> list[Certificate]:
    pem, prefix = settings[found[0]], found["prefix"]
    if found["location"]:
        store = read_file(pem)
        password = settings.get(f"{prefix}ssl.{found['store']}.password")
        if b"-----BEGIN " in store:
            pem = store.decode()
        elif found["store"] == "keystore":
            pem = key_stores.own_key(store, password, settings.get(f"{prefix}ssl.key.password"))[1]
        else:
            pem = key_stores.trusted(store, password)
    return load_pem_x509_certificates(in_lines(pem).encode())

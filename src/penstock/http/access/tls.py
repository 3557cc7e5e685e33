"""HTTPS from Java's settings: ``listeners.https.ssl.*``, or ``ssl.*`` if none of those is given.

Keys and certificates are PEM (``ssl.keystore.type=PEM``: a file at ``ssl.keystore.location``, or the texts of
``ssl.keystore.key`` and ``ssl.keystore.certificate.chain``); Java's own formats are read by ``KeyStores``, which the
worker passes in. Java: SSLUtils.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from penstock.http.access.listeners import RestSettingError
from penstock.java.errors import KeyStoreError
from penstock.java.parsing import BLANKS
from penstock.java.pem import in_lines

Config = Mapping[str, str]

LISTENERS, ADMIN = "listeners.https.", "admin.listeners.https."
VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class KeyStores(Protocol):
    """Reads PKCS12 and JKS; the results are PEM. ``penstock.java.key_stores`` is one."""

    def own_key(self, store: bytes, password: str | None, key_password: str | None) -> tuple[str, str]: ...
    def trusted(self, store: bytes, password: str | None) -> str: ...


def tls_settings(config: Config, prefix: str = LISTENERS) -> dict[str, str]:
    """The ``ssl.*`` settings of listeners with this prefix, without it: all from the prefix or none."""
    specific = {k.removeprefix(prefix): v for k, v in config.items() if k.startswith(prefix)}
    given = specific or {k: v for k, v in config.items() if k.startswith("ssl.")}
    return {name: value.strip(BLANKS) for name, value in given.items()}


def server_context(settings: Config, stores: KeyStores | None) -> ssl.SSLContext:
    """For listeners of scheme https. Raises RestSettingError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if not _load_own_key(context, settings, stores):
        raise RestSettingError("A listener is https, but neither `ssl.keystore.location` nor `ssl.keystore.key` is set")
    _load_trusted(context, settings, stores)
    _choose(context, settings)
    wanted = settings.get("ssl.client.auth", "none")
    if wanted not in CLIENT_AUTH:
        raise RestSettingError(f"`ssl.client.auth={wanted}` must be one of {', '.join(CLIENT_AUTH)}")
    context.verify_mode = CLIENT_AUTH[wanted]
    return context


def client_context(config: Config, stores: KeyStores | None) -> ssl.SSLContext:
    """For requests to other workers; by the settings of their listeners. Raises RestSettingError.

    A trust store that is given is all that is trusted; without one it is what the system trusts.
    """
    settings = tls_settings(config)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _load_own_key(context, settings, stores)
    if not _load_trusted(context, settings, stores):
        context.load_default_certs()
    _choose(context, settings)
    # Only an empty one switches it off: with another one than https, such as a misspelt one, Java refuses all servers.
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https").strip() != ""
    return context


def _load_own_key(context: ssl.SSLContext, settings: Config, stores: KeyStores | None) -> bool:
    """Whether there is a key."""
    password, key_password = settings.get("ssl.keystore.password"), settings.get("ssl.key.password")
    if "ssl.keystore.key" in settings:
        pem = settings["ssl.keystore.key"] + "\n" + settings.get("ssl.keystore.certificate.chain", "")
    elif "ssl.keystore.location" in settings:
        store = _read("ssl.keystore.location", settings["ssl.keystore.location"])
        if _is_pem(settings, "ssl.keystore.type", store):
            pem = store.decode()
        else:
            try:
                pem = "".join(_stores(stores, "ssl.keystore.type").own_key(store, password, key_password))
            except KeyStoreError as error:
                raise RestSettingError(f"The key store of `ssl.keystore.location` {error}") from error
    else:
        return False
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # OpenSSL reads keys from files only
        file.write(in_lines(pem))
        file.flush()
        try:
            context.load_cert_chain(file.name, password=key_password or password or "")
        except (ssl.SSLError, ValueError) as error:
            raise RestSettingError(
                f"The key or certificate of `{_given(settings, 'ssl.keystore')}` can't be used: {error}"
            ) from None
    return True


def _load_trusted(context: ssl.SSLContext, settings: Config, stores: KeyStores | None) -> bool:
    """Whether there is a trust store."""
    pem = settings.get("ssl.truststore.certificates")
    if pem is None and "ssl.truststore.location" in settings:
        store = _read("ssl.truststore.location", settings["ssl.truststore.location"])
        if _is_pem(settings, "ssl.truststore.type", store):
            pem = store.decode()
        else:
            password = settings.get("ssl.truststore.password")
            try:
                pem = _stores(stores, "ssl.truststore.type").trusted(store, password)
            except KeyStoreError as error:
                raise RestSettingError(f"The key store of `ssl.truststore.location` {error}") from error
    if pem is None:
        return False
    try:
        context.load_verify_locations(cadata=in_lines(pem))
    except (ssl.SSLError, ValueError) as error:
        raise RestSettingError(
            f"The certificates of `{_given(settings, 'ssl.truststore')}` can't be used: {error}"
        ) from None
    return True


def _choose(context: ssl.SSLContext, settings: Config) -> None:
    """Protocol versions and ciphers."""
    names = [name.strip() for name in settings.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").split(",")]
    for name in names:
        if name not in VERSIONS:
            raise RestSettingError(f"`ssl.enabled.protocols` has {name}; it may have {', '.join(VERSIONS)}")
    versions = [VERSIONS[name] for name in names]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    ciphers = settings.get("ssl.cipher.suites", "").replace(",", ":").replace(" ", "")
    if ciphers:
        try:
            context.set_ciphers(ciphers)
        except ssl.SSLError:
            raise RestSettingError(f"`ssl.cipher.suites={ciphers}` has none that this OpenSSL knows") from None


def _is_pem(settings: Config, key: str, store: bytes) -> bool:
    return settings.get(key, "JKS").upper() == "PEM" or b"-----BEGIN " in store


def _stores(stores: KeyStores | None, key: str) -> KeyStores:
    if stores is None:
        raise RestSettingError(f"Only PEM can be read here: `{key}=PEM`")
    return stores


def _read(key: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise RestSettingError(f"The file of `{key}={path}` can't be read: {error.strerror}") from None


def _given(settings: Config, prefix: str) -> str:
    return next((key for key in (f"{prefix}.key", f"{prefix}.certificates") if key in settings), f"{prefix}.location")

"""HTTPS from Java's settings: ``listeners.https.ssl.*``, or ``ssl.*`` if none of those is given.

Keys and certificates are PEM (``ssl.keystore.type=PEM``: a file at ``ssl.keystore.location``, or the texts of
``ssl.keystore.key`` and ``ssl.keystore.certificate.chain``); Java's own formats are read by ``KeyStores``, which the
worker passes in. Java: SSLUtils.
"""

from __future__ import annotations

import re
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
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_NEWEST = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Cipher suites of TLS 1.3 that OpenSSL offers."""
CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class KeyStores(Protocol):
    """Reads PKCS12 and JKS; the results are PEM. ``penstock.java.key_stores`` is one."""

    def own_key(self, store: bytes, password: str | None, key_password: str | None) -> tuple[str, str]: ...
    def trusted(self, store: bytes, password: str | None) -> str: ...


def tls_settings(config: Config, prefix: str = LISTENERS) -> dict[str, str]:
    """Return the ``ssl.*`` settings of listeners with this prefix, without it: either all with the prefix or all
    without.
    """
    specific = {k.removeprefix(prefix): v for k, v in config.items() if k.startswith(prefix)}
    given = specific or {k: v for k, v in config.items() if k.startswith("ssl.")}
    return {name: value.strip(BLANKS) for name, value in given.items()}


def server_context(settings: Config, stores: KeyStores | None) -> ssl.SSLContext:
    """Return the TLS context of listeners with the scheme https. Raises RestSettingError."""
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
    """Return the TLS context of requests to other workers, from the settings of the listeners. Raises RestSettingError.

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


def own_certificate(config: Config, stores: KeyStores | None) -> bytes | None:
    """Return the certificate that requests to other workers have, as DER; None if they have none.

    Raises RestSettingError.
    """
    found = _CERTIFICATE.search(in_lines(_own_pem(tls_settings(config), stores) or ""))
    return None if found is None else ssl.PEM_cert_to_DER_cert(found[0])


def _load_own_key(context: ssl.SSLContext, settings: Config, stores: KeyStores | None) -> bool:
    """Load the key and certificate; return whether there is a key."""
    password, key_password = settings.get("ssl.keystore.password"), settings.get("ssl.key.password")
    pem = _own_pem(settings, stores)
    if pem is None:
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


def _own_pem(settings: Config, stores: KeyStores | None) -> str | None:
    """Return the key and its certificates; None if there is no key."""
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
        return None
    return pem


def _load_trusted(context: ssl.SSLContext, settings: Config, stores: KeyStores | None) -> bool:
    """Load the trusted certificates; return whether there is a trust store."""
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
    """Set protocol versions and cipher suites."""
    names = [name.strip() for name in settings.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").split(",")]
    for name in names:
        if name not in VERSIONS:
            raise RestSettingError(f"`ssl.enabled.protocols` has {name}; it may have {', '.join(VERSIONS)}")
    versions = [VERSIONS[name] for name in names]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if suites := [name for each in settings.get("ssl.cipher.suites", "").split(",") if (name := each.strip())]:
        _choose_suites(context, suites)


def _choose_suites(context: ssl.SSLContext, suites: list[str]) -> None:
    """Set cipher suites by Java's names or OpenSSL's. Python cannot choose among the suites of TLS 1.3: if Java's names
    are given, all or none of them are offered.
    """
    newest, older = [name for name in suites if name in _NEWEST], [name for name in suites if name not in _NEWEST]
    given = f"`ssl.cipher.suites={','.join(suites)}`"
    latest = ssl.TLSVersion.TLSv1_3
    if newest and not older:
        if context.maximum_version < latest:
            raise RestSettingError(f"{given} has suites of TLS 1.3 only, which `ssl.enabled.protocols` lacks")
        context.minimum_version = latest
        return
    try:
        context.set_ciphers(":".join(map(_openssl_name, older)))
    except ssl.SSLError:
        raise RestSettingError(f"{given} has none that this OpenSSL knows") from None
    if not newest and any("_WITH_" in name for name in older):
        if context.minimum_version == latest:
            raise RestSettingError(f"{given} has no suite of TLS 1.3, the only one of `ssl.enabled.protocols`")
        context.maximum_version = min(context.maximum_version, ssl.TLSVersion.TLSv1_2)


def _openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a suite before TLS 1.3 that has Java's name, as in the standards; other names are
    returned as they are.
    """
    exchange, of_java, cipher = suite.partition("_WITH_")
    if not of_java:
        return suite
    exchange = exchange.removeprefix("TLS_").removeprefix("SSL_")
    cipher = cipher.replace("3DES_EDE_CBC", "DES_CBC3").replace("POLY1305_SHA256", "POLY1305")
    cipher = re.sub(r"AES_(\d+)(_CBC)?", r"AES\1", cipher)
    return ("" if exchange == "RSA" else f"{exchange}_").replace("_", "-") + cipher.replace("_", "-")


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

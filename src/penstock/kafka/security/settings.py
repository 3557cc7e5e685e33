"""Reads Java's security settings: the login, the client's own key and certificates, and the trusted certificates.

Two client libraries are used here, librdkafka and kafka-python; both get what is read here (``security.clients``), so
that settings which work for tasks work for the worker's group too. Java: ``SaslConfigs``, ``SslConfigs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.x509 import load_pem_x509_certificate

from penstock.api.config_types import Password
from penstock.api.errors import ConfigError
from penstock.api.kafka_security import (
    AWS,
    CLIENT_HANDLER,
    IAM_LOGIN,
    INSTEAD,
    JWT_RETRIEVERS,
    LOGIN_HANDLER,
    LOGIN_HANDLERS,
    MSK_IAM,
    OTHER_RETRIEVERS,
    SECURITY_CHECKS,
    has_counterpart,
)
from penstock.files import read_file
from penstock.java import key_stores
from penstock.java.errors import JaasError, KeyStoreError
from penstock.java.jaas import login_module
from penstock.java.parsing import BLANKS
from penstock.java.pem import in_lines
from penstock.kafka.librdkafka_config import IGNORED, NO_EFFECT, Counterpart, refused, same
from penstock.kafka.security.clouds import CloudLogin
from penstock.kafka.security.kerberos import Kerberos

_PROTOCOL = SECURITY_CHECKS["security.protocol"]
_RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
_NO_CLASSES = "This is a Java class, which can't be run here; leave this setting out"

# Read as a whole below, so without a counterpart each.
_STORES_AND_LOGINS = (
    "sasl.jaas.config",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.key.password",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "ssl.truststore.certificates",
)
_SAME_TEXT = (
    "sasl.mechanism",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
)
# Each client library decides itself when it renews tokens and logins, and how it checks them.
_UNUSED = (
    "sasl.kerberos.service.name",  # with GSSAPI, see ``security.clients``
    "sasl.login.class",
    "sasl.login.connect.timeout.ms",
    "sasl.login.read.timeout.ms",
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
)
_OF_TICKETS = (
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
)
_OF_ASSERTIONS = (
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.template.file",
)
# A user who sets these wants something that does not happen.
_IGNORED = (
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.header.urlencode",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.scope.claim.name",
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.keymanager.algorithm",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
)

_NOT_HERE = f"This is a Java class, which can't be run here; {INSTEAD}"
_OWN_HANDLERS = ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler")
"""Java's callback handlers whose work the clients do here themselves."""


def _login_handler(given: str) -> None:
    name = given.strip()
    if name and name.rpartition(".")[2] not in _OWN_HANDLERS and not has_counterpart(LOGIN_HANDLER, name):
        raise ConfigError(LOGIN_HANDLER, given, _NOT_HERE)


def _client_handler(given: str) -> None:
    if given.strip() and not has_counterpart(CLIENT_HANDLER, given):
        raise ConfigError(CLIENT_HANDLER, given, _NOT_HERE)


def _retriever(given: str) -> None:
    if given.strip() and given.strip() not in JWT_RETRIEVERS:
        raise ConfigError(_RETRIEVER, given, OTHER_RETRIEVERS)


SECURITY: dict[str, Counterpart] = {
    **dict.fromkeys((*_STORES_AND_LOGINS, *_UNUSED), NO_EFFECT),
    **dict.fromkeys(_IGNORED, IGNORED),
    **dict.fromkeys(_OF_TICKETS, Counterpart(ignored="libkrb5 renews tickets by itself")),
    **dict.fromkeys(
        _OF_ASSERTIONS, Counterpart(ignored="tokens are requested with the client's name and secret, not by assertions")
    ),
    **{name: same(name, convert=lambda value: value or None) for name in _SAME_TEXT},
    "security.protocol": same("security.protocol", check=_PROTOCOL, convert=str.lower),
    "security.providers": refused("security.providers", _NO_CLASSES),
    CLIENT_HANDLER: Counterpart((CLIENT_HANDLER,), convert=_client_handler),
    LOGIN_HANDLER: Counterpart((LOGIN_HANDLER,), convert=_login_handler),
    _RETRIEVER: Counterpart((_RETRIEVER,), convert=_retriever),
    "sasl.oauthbearer.jwt.validator.class": Counterpart(ignored="tokens are checked by brokers"),
    "ssl.engine.factory.class": refused("ssl.engine.factory.class", _NO_CLASSES),
    "ssl.endpoint.identification.algorithm": same(
        "ssl.endpoint.identification.algorithm", convert=lambda value: value.lower() or "none"
    ),
}

MECHANISMS = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    MSK_IAM: IAM_LOGIN.rpartition(".")[2],
    "GSSAPI": "Krb5LoginModule",
}


@dataclass(frozen=True, slots=True)
class Login:
    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of the login module."""
    cloud: CloudLogin | None = None
    """The cloud whose tokens are used, if any."""
    kerberos: Kerberos | None = None


@dataclass(frozen=True, slots=True)
class Tls:
    """All of it PEM."""

    trusted: str | None
    """None: the certificates that this machine trusts."""
    key: str | None = field(repr=False)
    key_password: str | None = field(repr=False)
    chain: str | None
    check_host: bool


@dataclass(frozen=True, slots=True)
class Security:
    """``of`` reads the settings of a client; files are read then, so that keys may be replaced for later clients."""

    protocol: str
    login: Login | None
    tls: Tls | None

    @classmethod
    def of(cls, java: Mapping[str, Any]) -> Security:
        """Raises ConfigError for what can't be used."""
        settings = texts(java)
        protocol = settings.get("security.protocol", "PLAINTEXT").upper()
        _PROTOCOL("security.protocol", protocol)
        return cls(
            protocol,
            _login(settings) if protocol.startswith("SASL_") else None,
            _tls(settings) if protocol.endswith("SSL") else None,
        )

    @property
    def principal(self) -> str:
        """The name of this client in access control lists, unless the brokers are configured to map names."""
        if self.login is not None:
            unknown = "the owner of the tickets" if self.login.kerberos else "the bearer of the token"
            return f"User:{self.login.username or unknown}"
        if self.tls is not None and self.tls.chain is not None:
            return f"User:{load_pem_x509_certificate(self.tls.chain.encode()).subject.rfc4514_string()}"
        return "User:ANONYMOUS"


def texts(java: Mapping[str, Any]) -> dict[str, str]:
    """The values without the blanks around them, such as the line end of a file that holds a password."""
    return {name: (v.value if isinstance(v, Password) else str(v)).strip(BLANKS) for name, v in java.items()}


def _login(settings: Mapping[str, str]) -> Login:
    mechanism = settings.get("sasl.mechanism", "GSSAPI")
    module = MECHANISMS.get(mechanism)
    if module is None:
        raise ConfigError("sasl.mechanism", mechanism, f"Only these can be used here: {', '.join(MECHANISMS)}")
    try:
        class_name, options = login_module(settings.get("sasl.jaas.config", ""))
    except JaasError as error:
        raise ConfigError("sasl.jaas.config", "[hidden]", str(error)) from error
    given = class_name.rpartition(".")[2]
    if given != module:
        raise ConfigError("sasl.jaas.config", given, f"The login module of sasl.mechanism={mechanism} is {module}")
    if mechanism == "GSSAPI":
        kerberos = Kerberos.of(settings, options)
        return Login(mechanism, kerberos.short_name, options=options, kerberos=kerberos)
    if mechanism in ("OAUTHBEARER", MSK_IAM):
        cloud = _cloud(settings, mechanism, options)
        return Login("OAUTHBEARER", options.get("unsecuredLoginStringClaim_sub", ""), options=options, cloud=cloud)
    if not {"username", "password"} <= options.keys():
        raise ConfigError("sasl.jaas.config", "[hidden]", f"It must give username and password for {mechanism}")
    if options.get("tokenauth", "").lower() == "true":
        raise ConfigError("sasl.jaas.config", "[hidden]", "Delegation tokens (tokenauth=true) can't be used here")
    return Login(mechanism, options["username"], options["password"], options)


def _cloud(settings: Mapping[str, str], mechanism: str, options: Mapping[str, str]) -> CloudLogin | None:
    """Raises ConfigError if the login can't be done here."""
    name = AWS if mechanism == MSK_IAM else LOGIN_HANDLERS.get(settings.get(LOGIN_HANDLER, "").strip())
    if name is None:
        return None
    login = CloudLogin(name, settings.get("bootstrap.servers", ""), options)
    login.check()
    return login


def _tls(settings: Mapping[str, str]) -> Tls:
    key, key_password, chain = _own_key(settings)
    check_host = settings.get("ssl.endpoint.identification.algorithm", "https").strip() != ""
    return Tls(_trusted(settings), key, key_password, chain, check_host)


def _own_key(settings: Mapping[str, str]) -> tuple[str | None, str | None, str | None]:
    """Key, its password and certificates."""
    key_password = settings.get("ssl.key.password")
    chain, key = settings.get("ssl.keystore.certificate.chain"), settings.get("ssl.keystore.key")
    if chain and key:
        return in_lines(key), key_password, in_lines(chain)
    if chain or key:
        given, other = ("certificate.chain", "key") if chain else ("key", "certificate.chain")
        raise ConfigError(f"ssl.keystore.{given} can't be used without ssl.keystore.{other}")
    if location := settings.get("ssl.keystore.location"):
        store = _read("ssl.keystore.location", location)
        if pem := _pem(settings, "keystore", store):
            return pem, key_password, pem
        try:
            key, chain = key_stores.own_key(store, settings.get("ssl.keystore.password"), key_password)
        except KeyStoreError as error:
            raise ConfigError(f"The key store of `ssl.keystore.location` {error}") from error
        return key, None, chain
    return None, None, None


def _trusted(settings: Mapping[str, str]) -> str | None:
    if certificates := settings.get("ssl.truststore.certificates"):
        return in_lines(certificates)
    if location := settings.get("ssl.truststore.location"):
        store = _read("ssl.truststore.location", location)
        password = settings.get("ssl.truststore.password")
        try:
            return _pem(settings, "truststore", store) or key_stores.trusted(store, password)
        except KeyStoreError as error:
            raise ConfigError(f"The key store of `ssl.truststore.location` {error}") from error
    return None


def _pem(settings: Mapping[str, str], which: str, store: bytes) -> str | None:
    """The text of the store if it is PEM, whatever its type is said to be."""
    if b"-----BEGIN " in store:
        return in_lines(store.decode(errors="replace"))
    if settings.get(f"ssl.{which}.type", "").upper() == "PEM":
        location = settings[f"ssl.{which}.location"]
        raise ConfigError(f"ssl.{which}.location", location, f"It holds no PEM, as ssl.{which}.type says")
    return None


def _read(name: str, location: str) -> bytes:
    try:
        return read_file(location)
    except OSError as e:
        raise ConfigError(name, location, f"The file can't be read: {e.strerror}") from e

"""Java's security settings, as librdkafka wants them: SASL logins and TLS keys.

PEM is passed on as it is. Java's key stores (PKCS12, and trust stores of type JKS) are read here, since librdkafka
reads PKCS12 for the client's own key only. Java: ``SaslConfigs``, ``SslConfigs``, ``JaasConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.api.config_types import Password, Type
from penstock.api.errors import ConfigError
from penstock.api.validators import CaseInsensitiveValidString
from penstock.kafka import key_stores
from penstock.kafka.settings_map import NO_EFFECT, Setting, flag, number, refused, text

_PROTOCOL = CaseInsensitiveValidString("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_NO_CLASSES = "This is a Java class, which can't be run here; leave this setting out"

# Read by `translate_security` as a whole, so without a counterpart each.
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
    "sasl.login.callback.handler.class",
)

_SAME_TEXT = (
    "sasl.mechanism",
    "sasl.kerberos.service.name",
    "sasl.kerberos.kinit.cmd",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
)

# Java's tuning of logins and TLS, and settings of which only one value is possible here.
_UNUSED = (
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
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
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.header.urlencode",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope.claim.name",
    "ssl.cipher.suites",
    "ssl.enabled.protocols",
    "ssl.keymanager.algorithm",
    "ssl.protocol",
    "ssl.provider",
    "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm",
)

SECURITY: dict[str, Setting] = {
    **dict.fromkeys((*_STORES_AND_LOGINS, *_UNUSED), NO_EFFECT),
    **{name: text(name, convert=lambda value: value or None) for name in _SAME_TEXT},
    "security.protocol": text("security.protocol", check=_PROTOCOL, convert=str.lower),
    "security.providers": refused("security.providers", _NO_CLASSES),
    "sasl.client.callback.handler.class": refused("sasl.client.callback.handler.class", _NO_CLASSES),
    "ssl.engine.factory.class": refused("ssl.engine.factory.class", _NO_CLASSES),
    "ssl.endpoint.identification.algorithm": text(
        "ssl.endpoint.identification.algorithm", convert=lambda value: value.lower() or "none"
    ),
    "sasl.kerberos.min.time.before.relogin": number(
        Type.LONG, "sasl.kerberos.min.time.before.relogin", least=None, high=86_400_000
    ),
    "sasl.oauthbearer.assertion.claim.exp.seconds": number(Type.INT, "sasl.oauthbearer.assertion.claim.exp.seconds"),
    "sasl.oauthbearer.assertion.claim.nbf.seconds": number(Type.INT, "sasl.oauthbearer.assertion.claim.nbf.seconds"),
    "sasl.oauthbearer.assertion.claim.jti.include": flag("sasl.oauthbearer.assertion.claim.jti.include"),
}


def translate_security(java: Mapping[str, Any]) -> dict[str, Any]:
    """librdkafka's settings for a login and for keys and certificates; raises ConfigError for what can't be used."""
    settings = {name: _plain(value) for name, value in java.items() if name.startswith(("ssl.", "sasl."))}
    return {**_login(settings), **_own_key(settings), **_trusted(settings)}


def _plain(value: Any) -> str:
    return value.value if isinstance(value, Password) else str(value)


# -- SASL


def _login(settings: Mapping[str, str]) -> dict[str, Any]:
    jaas = settings.get("sasl.jaas.config")
    if not jaas:
        return {}
    module, options = parse_jaas(jaas)
    match module.rpartition(".")[2]:
        case "PlainLoginModule" | "ScramLoginModule":
            return {"sasl.username": options.get("username", ""), "sasl.password": options.get("password", "")}
        case "OAuthBearerLoginModule":
            return _oauthbearer(options, settings)
        case "Krb5LoginModule":
            native = {
                "sasl.kerberos.keytab": options.get("keyTab"),
                "sasl.kerberos.principal": options.get("principal"),
            }
            return {name: value for name, value in native.items() if value}
    why = "The login module should be that of Kafka's PLAIN, SCRAM or OAUTHBEARER, or Krb5LoginModule"
    raise ConfigError("sasl.jaas.config", module, why)


def _oauthbearer(options: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, Any]:
    if not settings.get("sasl.oauthbearer.token.endpoint.url"):
        subject = options.get("unsecuredLoginStringClaim_sub", "")
        return {"enable.sasl.oauthbearer.unsecure.jwt": True, "sasl.oauthbearer.config": f"principal={subject}"}
    extensions = [f"{k[10:]}={v}" for k, v in options.items() if k.startswith("extension_")]
    native = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": options.get("clientId"),
        "sasl.oauthbearer.client.secret": options.get("clientSecret"),
        "sasl.oauthbearer.scope": options.get("scope"),
        "sasl.oauthbearer.extensions": ",".join(extensions),
    }
    return {name: value for name, value in native.items() if value}


_OPTION = re.compile(r"""\s*([\w.\-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


def parse_jaas(text: str) -> tuple[str, dict[str, str]]:
    """Class and options of ``<class> required name="value" ...;``, of which there must be exactly one."""
    found = re.match(r"\s*([\w.$]+)\s+(required|requisite|sufficient|optional)\b", text, re.IGNORECASE)
    if not found:
        raise ConfigError("sasl.jaas.config", "[hidden]", 'It should be `<login module> required name="value" ...;`')
    options: dict[str, str] = {}
    at = found.end()
    while option := _OPTION.match(text, at):
        name, *values = option.groups()
        options[name] = re.sub(r"\\(.)", r"\1", next(value for value in values if value is not None))
        at = option.end()
    if text[at:].strip() != ";":
        raise ConfigError("sasl.jaas.config", "[hidden]", "It should end with a semicolon behind its last option")
    return found[1], options


# -- TLS


def _own_key(settings: Mapping[str, str]) -> dict[str, Any]:
    location, password = settings.get("ssl.keystore.location"), settings.get("ssl.keystore.password")
    key_password = settings.get("ssl.key.password")
    native: dict[str, Any] = {}
    if chain := settings.get("ssl.keystore.certificate.chain"):
        native = {"ssl.certificate.pem": chain, "ssl.key.pem": settings.get("ssl.keystore.key", "")}
    elif location and settings.get("ssl.keystore.type", "").upper() == "PEM":
        native = {"ssl.certificate.location": location, "ssl.key.location": location}
    elif location:
        key, certificates = key_stores.own_key(_read("ssl.keystore.location", location), password, key_password)
        return {"ssl.key.pem": key, "ssl.certificate.pem": certificates}
    if native and key_password:
        native["ssl.key.password"] = key_password
    return native


def _trusted(settings: Mapping[str, str]) -> dict[str, Any]:
    location = settings.get("ssl.truststore.location")
    if certificates := settings.get("ssl.truststore.certificates"):
        return {"ssl.ca.pem": certificates}
    if not location:
        return {}
    if settings.get("ssl.truststore.type", "").upper() == "PEM":
        return {"ssl.ca.location": location}
    store = _read("ssl.truststore.location", location)
    return {"ssl.ca.pem": key_stores.trusted(store, settings.get("ssl.truststore.password"))}


def _read(name: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as e:
        raise ConfigError(name, location, f"The file can't be read: {e.strerror}") from e

"""The security settings of a client for each of the two client libraries: librdkafka, and kafka-python."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from penstock.api.errors import ConfigError
from penstock.kafka.security.settings import Login, Security, Tls

# -- librdkafka


def for_librdkafka(java: Mapping[str, Any]) -> dict[str, Any]:
    """Translate login, key and certificates, which ``librdkafka_config`` does not translate one by one. Raises
    ConfigError.
    """
    security = Security.of(java)
    return {**_login(security.login, java), **_tls(security.tls)}


def _login(login: Login | None, java: Mapping[str, Any]) -> dict[str, Any]:
    if login is None:
        return {}
    if login.kerberos is not None:
        # Tickets are this process's own (``tickets``): librdkafka is to start no `kinit` of its own every minute.
        return {
            "sasl.mechanism": "GSSAPI",  # Java's default, not librdkafka's
            "sasl.kerberos.service.name": login.kerberos.service,
            "sasl.kerberos.min.time.before.relogin": 0,
        }
    if login.mechanism != "OAUTHBEARER":
        return {"sasl.username": login.username, "sasl.password": login.password}
    if login.cloud is not None:
        return {"sasl.mechanism": login.mechanism, "oauth_cb": login.cloud.for_librdkafka}
    options = login.options
    if not java.get("sasl.oauthbearer.token.endpoint.url"):
        return {"enable.sasl.oauthbearer.unsecure.jwt": True, "sasl.oauthbearer.config": f"principal={login.username}"}
    extensions = [f"{name[10:]}={value}" for name, value in options.items() if name.startswith("extension_")]
    native = {
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": options.get("clientId"),
        "sasl.oauthbearer.client.secret": options.get("clientSecret"),
        "sasl.oauthbearer.scope": options.get("scope"),
        "sasl.oauthbearer.extensions": ",".join(extensions),
    }
    return {name: value for name, value in native.items() if value}


def _tls(tls: Tls | None) -> dict[str, Any]:
    if tls is None:
        return {}
    native = {
        "ssl.ca.pem": tls.trusted,
        "ssl.certificate.pem": tls.chain,
        "ssl.key.pem": tls.key,
        "ssl.key.password": tls.key_password,
    }
    return {name: value for name, value in native.items() if value is not None}


@contextmanager
def chain_in_file(native: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings while a client is being created, a chain of certificates in a file.

    Of ``ssl.certificate.pem`` librdkafka sends the first certificate only, of a file the intermediate ones as well.
    """
    chain = str(native.get("ssl.certificate.pem", ""))
    if chain.count("-----BEGIN CERTIFICATE-----") < 2:
        yield dict(native)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(chain)
        file.flush()
        rest = {name: value for name, value in native.items() if name != "ssl.certificate.pem"}
        yield {**rest, "ssl.certificate.location": file.name}


# -- kafka-python


def for_kafka_python(java: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of its clients. Raises ConfigError."""
    security = Security.of(java)
    arguments: dict[str, Any] = {"security_protocol": security.protocol}
    if (login := security.login) is not None:
        arguments["sasl_mechanism"] = login.mechanism
        if login.kerberos is not None:
            arguments["sasl_kerberos_service_name"] = login.kerberos.service
        elif login.mechanism == "OAUTHBEARER":
            from penstock.kafka.security.oauth import OAuthTokens  # loads all of kafka-python, which tasks do without

            arguments["sasl_oauth_token_provider"] = OAuthTokens(java, login)
        else:
            arguments |= {"sasl_plain_username": _user(login), "sasl_plain_password": login.password}
    if security.tls is not None:
        arguments["ssl_context"] = ssl_context(security.tls)
    return arguments


def _user(login: Login) -> str:
    """The name as kafka-python sends it, which does not escape it for SCRAM (RFC 5802)."""
    scram = login.mechanism.startswith("SCRAM-")
    return login.username.replace("=", "=3D").replace(",", "=2C") if scram else login.username


def ssl_context(tls: Tls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = tls.check_host
    try:
        if tls.trusted is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cadata=tls.trusted)
    except (ssl.SSLError, ValueError) as e:
        raise ConfigError(f"The certificates of `ssl.truststore` can't be used: {e}") from e
    if tls.chain is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # OpenSSL reads chains from files only
            file.write(tls.chain if tls.key in (None, tls.chain) else f"{tls.key}\n{tls.chain}")
            file.flush()
            try:
                context.load_cert_chain(file.name, password=tls.key_password or "")
            except (ssl.SSLError, ValueError) as e:
                raise ConfigError(f"The key or certificate of `ssl.keystore` can't be used: {e}") from e
    return context

"""Confluent's client from Java's settings: addresses, credentials, certificates, proxy, times.

Java: ``SchemaRegistryClientConfig``, ``BasicAuthCredentialProvider``, ``BearerAuthCredentialProvider``.
"""

from __future__ import annotations

import random
import re
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from penstock.api.errors import ConfigError
from penstock.java.errors import JaasError
from penstock.java.jaas import login_module
from penstock.java.parsing import BLANKS
from penstock.kafka.security.settings import Security, Tls
from penstock.pipeline.converters.registry.access.client import Registry
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.settings import PREFIX, REQUEST_HEADER, revealed

_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


def connect(settings: Mapping[str, Any], raw: Mapping[str, str], extra: str) -> Registry:
    """The registry of a converter with these settings; ``raw`` are the texts they were parsed from.

    Makes no request. Raises ConfigError for settings that contradict each other, or a library that is missing.
    """
    client_module = load("confluent_kafka.schema_registry", extra)
    connecting, reading = settings["http.connect.timeout.ms"] / 1000, settings["http.read.timeout.ms"] / 1000
    config: dict[str, Any] = {
        "timeout": (connecting, reading, reading, connecting),
        "max.retries": settings["max.retries"],
        "retries.wait.ms": settings["retries.wait.ms"],
        "retries.max.wait.ms": settings["retries.max.wait.ms"],
        "cache.capacity": settings["latest.cache.size"],
        **_addresses(settings),
        **_bearer(settings),
    }
    if settings["latest.cache.ttl.sec"] >= 0:
        config["cache.latest.ttl.sec"] = settings["latest.cache.ttl.sec"]
    if settings["proxy.host"]:
        if settings["proxy.port"] <= 0:
            raise ConfigError("proxy.port", settings["proxy.port"], "It must be given with proxy.host")
        config["proxy"] = f"http://{settings['proxy.host']}:{settings['proxy.port']}"
    tls = _tls(settings)
    plain = _all_plain(settings) and tls is not None and not (tls.trusted or tls.chain)
    if plain:
        config["ssl.ca.location"] = False  # else it reads the certificates of all authorities, which takes time
    with tempfile.TemporaryDirectory(prefix="penstock-registry-") as folder:
        if tls is not None:
            config.update(_certificates(tls, Path(folder)))
        try:
            client = client_module.SchemaRegistryClient(config)
        except (ValueError, TypeError, OSError) as error:
            raise ConfigError(f"The client of the schema registry can't be made of its settings: {error}") from error
    if plain:  # and should TLS be used after all, no certificate is believed
        client._rest_client.verify.verify_mode = ssl.CERT_REQUIRED
        client._rest_client.verify.check_hostname = True
    _adjust(client, tls, _headers(raw))
    return Registry(client, settings["retries.wait.ms"] / 1000, _context(settings["schema.registry.url"][0]))


def _context(url: str) -> str:
    """``:.NAME:`` if the address ends with ``/contexts/NAME``. Java: ``QualifiedSubject.normalizeContext``."""
    parent, _, last = urlsplit(url).path.rstrip("/").rpartition("/")
    name = unquote(last).strip(":").removeprefix(".")
    return f":.{name}:" if name and parent.endswith("/contexts") else ""


def _all_plain(settings: Mapping[str, Any]) -> bool:
    """Whether no server is asked over TLS, neither a registry nor one for tokens."""
    urls = [*settings["schema.registry.url"], settings["bearer.auth.issuer.endpoint.url"] or ""]
    return not any(url.lower().startswith("https:") for url in urls)


def _addresses(settings: Mapping[str, Any]) -> dict[str, str]:
    urls = [urlsplit(url) for url in settings["schema.registry.url"]]
    if settings["schema.registry.url.randomize"]:
        start = random.randrange(len(urls))
        urls = urls[start:] + urls[:start]
    plain = [urlunsplit(url._replace(netloc=url.netloc.rpartition("@")[2])) for url in urls]
    found = {"url": ",".join(plain)}
    match settings["basic.auth.credentials.source"]:
        case "URL":
            given = next((url for url in urls if url.username), None)
            if given is not None:
                found["basic.auth.user.info"] = f"{unquote(given.username or '')}:{unquote(given.password or '')}"
        case "USER_INFO":
            user = revealed(settings["basic.auth.user.info"] or settings["schema.registry.basic.auth.user.info"])
            if ":" not in user:
                raise ConfigError("basic.auth.user.info", "[hidden]", "With USER_INFO it must be user:password")
            found["basic.auth.user.info"] = user
        case "SASL_INHERIT":
            options = _login(revealed(settings["sasl.jaas.config"] or ""))
            if not {"username", "password"} <= options.keys():
                raise ConfigError("sasl.jaas.config", "[hidden]", "With SASL_INHERIT it must have user and password")
            found["basic.auth.user.info"] = f"{options['username']}:{options['password']}"
    return found


def _login(text: str) -> Mapping[str, str]:
    try:
        return login_module(text).options
    except JaasError as error:
        raise ConfigError("sasl.jaas.config", "[hidden]", str(error)) from error


def _bearer(settings: Mapping[str, Any]) -> dict[str, str]:
    source = settings["bearer.auth.credentials.source"]
    if not source:
        return {}
    if settings["basic.auth.credentials.source"]:
        raise ConfigError(
            "bearer.auth.credentials.source", source, "Only one of it and basic.auth.credentials.source may be given"
        )
    names = {
        "STATIC_TOKEN": ("bearer.auth.token",),
        "OAUTHBEARER": (
            "bearer.auth.issuer.endpoint.url",
            "bearer.auth.client.id",
            "bearer.auth.client.secret",
        ),
    }[source]
    found = {"bearer.auth.credentials.source": source}
    for name in names:
        value = revealed(settings[name])
        if not value:
            raise ConfigError(name, value, f"It must be given with bearer.auth.credentials.source={source}")
        found[name] = _sendable(name, value) if name == "bearer.auth.token" else value
    # The client insists on these, Java does not; empty ones are not sent.
    if source == "OAUTHBEARER":
        found["bearer.auth.scope"] = settings["bearer.auth.scope"] or ""
    found["bearer.auth.logical.cluster"] = ""
    for name in ("bearer.auth.logical.cluster", "bearer.auth.identity.pool.id"):
        if settings[name]:
            found[name] = _sendable(name, settings[name])
    return found


def _tls(settings: Mapping[str, Any]) -> Tls | None:
    own = {
        name.removeprefix(PREFIX): revealed(value)
        for name, value in settings.items()
        if name.startswith(PREFIX + "ssl.") and value is not None
    }
    if own["ssl.endpoint.identification.algorithm"] == "none":
        own["ssl.endpoint.identification.algorithm"] = ""
    return Security.of({**own, "security.protocol": "SSL"}).tls


def _certificates(tls: Tls, folder: Path) -> dict[str, str]:
    """Files for the client, which reads them when it is made."""
    found = {}
    for name, text in (("ssl.ca.location", tls.trusted), ("ssl.certificate.location", tls.chain),
                       ("ssl.key.location", tls.key)):  # fmt: skip
        if text:
            file = folder / name
            file.touch(0o600)
            file.write_text(text)
            found[name] = str(file)
    if tls.key_password and "ssl.key.location" in found:
        found["ssl.key.password"] = tls.key_password
    return found


def _headers(raw: Mapping[str, str]) -> dict[str, str]:
    given = {name: value for name, value in raw.items() if name.startswith(REQUEST_HEADER)}
    for name in given:
        if not _NAME.fullmatch(name.removeprefix(REQUEST_HEADER)):
            raise ConfigError(f"{name} does not name a header: letters, digits and !#$%&'*+-.^_`|~ are possible")
    return {name.removeprefix(REQUEST_HEADER): _sendable(name, value) for name, value in given.items()}


def _sendable(name: str, value: str) -> str:
    """The value of a header without the blanks around it, such as the end of the line that a secret was read from.

    The client would refuse any other value at each request, and show it.
    """
    found = value.strip(BLANKS)
    if not found.isascii() or not found.replace("\t", " ").isprintable():
        raise ConfigError(name, "[hidden]", "It is sent as a header, so it must be of printable ASCII characters")
    return found


def _adjust(client: Any, tls: Tls | None, headers: dict[str, str]) -> None:
    """Apply settings of Java's client that this client has no setting for: unverified host names, certificates for the
    token server too, headers, and no proxy but the configured one, whatever HTTP_PROXY says, since requests contain
    passwords.
    """
    rest = client._rest_client
    if tls is not None and not tls.check_host:
        rest.verify.check_hostname = False
    rest.session.close()
    rest.session = session = type(rest.session)(
        verify=rest.verify, auth=rest.auth, proxy=rest.proxy, timeout=rest.timeout, trust_env=False
    )
    provider = rest.bearer_field_provider
    if (tokens := getattr(provider, "client", None)) is not None:
        tokens.close()
        provider.client = type(tokens)(
            client_id=tokens.client_id,
            client_secret=tokens.client_secret,
            scope=tokens.scope,
            verify=rest.verify,
            trust_env=False,
        )
    session.headers.update(headers)

    def drop_empty(request: Any) -> None:
        if request.headers.get("target-sr-cluster") == "":
            del request.headers["target-sr-cluster"]

    session.event_hooks = {**session.event_hooks, "request": [*session.event_hooks.get("request", ()), drop_empty]}

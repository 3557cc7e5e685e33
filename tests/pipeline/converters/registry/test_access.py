"""Access of converters to a registry: TLS, credentials, tokens and proxies, each with a server that requires it."""

from __future__ import annotations

import base64
import ssl
import uuid
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConfigError, DataError, RetriableError
from penstock.api.schema import INT64, STRING, struct
from penstock.pipeline.converters import AvroConverter
from support.certificates import PASSWORD, Authority, jks_trust_store, pkcs12_key_store, pkcs12_trust_store
from support.registry_front import RegistryFront, running_front

pytest.importorskip("fastavro")
pytestmark = pytest.mark.integration

SCHEMA = struct(("id", INT64), ("name", STRING), name="org.example.User")
VALUE = {"id": 1, "name": "a"}
SSL = "schema.registry.ssl."


def round_trip(url: str, config: dict[str, str]) -> None:
    """Register a schema of a new topic, and read the written bytes with another converter."""
    topic = f"users-{uuid.uuid4().hex[:8]}"
    data = converter(url, config).from_connect(topic, (), SCHEMA, VALUE)
    assert converter(url, config).to_connect(topic, (), data)[1] == VALUE


def converter(url: str, config: dict[str, str]) -> Any:
    made = AvroConverter()
    made.configure({"schema.registry.url": url, "max.retries": "0", "retries.wait.ms": "1", **config}, False)
    return made


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.make()


def server_context(folder: Path, authority: Authority, host: str = "localhost", client: bool = False) -> ssl.SSLContext:
    """Return the TLS context of a server. ``client``: whether clients must have certificates too."""
    identity = authority.identity("registry", host)
    (folder / "server.pem").write_text(identity.certificate_pem + identity.key_pem())
    (folder / "ca.pem").write_text(authority.certificate_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    if client:
        context.load_verify_locations(folder / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def stores(kind: str, folder: Path, authority: Authority) -> tuple[dict[str, str], dict[str, str]]:
    """Return the settings that trust the authority, and those of a client certificate signed by it."""
    client = authority.identity("client")
    match kind:
        case "PEM":
            (folder / "trust.pem").write_text(authority.certificate_pem)
            (folder / "client.pem").write_text(client.key_pem("secret") + client.certificate_pem)
            return (
                {SSL + "truststore.type": "PEM", SSL + "truststore.location": str(folder / "trust.pem")},
                {SSL + "keystore.type": "PEM", SSL + "keystore.location": str(folder / "client.pem"),
                 SSL + "key.password": "secret"},
            )  # fmt: skip
        case "PEM in the settings":
            return (
                {SSL + "truststore.type": "PEM", SSL + "truststore.certificates": authority.certificate_pem},
                {SSL + "keystore.type": "PEM", SSL + "keystore.certificate.chain": client.certificate_pem,
                 SSL + "keystore.key": client.key_pem()},
            )  # fmt: skip
    trust = (jks_trust_store if kind == "JKS" else pkcs12_trust_store)(folder / "trust", authority)
    key = pkcs12_key_store(folder / "key.p12", client, authority)
    return (
        {SSL + "truststore.type": kind, SSL + "truststore.location": str(trust), SSL + "truststore.password": PASSWORD},
        {SSL + "keystore.type": "PKCS12", SSL + "keystore.location": str(key), SSL + "keystore.password": PASSWORD,
         SSL + "key.password": PASSWORD},
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["PEM", "PEM in the settings", "PKCS12", "JKS"])
def test_mutual_tls(registry_url: str, tmp_path: Path, authority: Authority, kind: str) -> None:
    trust, key = stores(kind, tmp_path, authority)
    with running_front(registry_url, context=server_context(tmp_path, authority, client=True)) as front:
        round_trip(front.url, {**trust, **key})
        seen = len(front.requests)
        assert seen
        for refused in (trust, key, {}):
            with pytest.raises(RetriableError):
                round_trip(front.url, refused)
        assert len(front.requests) == seen


def test_the_host_of_a_certificate_is_checked_unless_the_settings_say_otherwise(
    registry_url: str, tmp_path: Path, authority: Authority
) -> None:
    trust, _ = stores("PEM", tmp_path, authority)
    context = server_context(tmp_path, authority, host="registry.example")
    with running_front(registry_url, context=context) as front:
        with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
            round_trip(front.url, trust)
        round_trip(front.url, {**trust, SSL + "endpoint.identification.algorithm": ""})


def basic(user: str) -> str:
    return "Basic " + base64.b64encode(user.encode()).decode()


JAAS = 'a.PlainLoginModule required username="me" password="secret";'


@pytest.mark.parametrize(
    "config",
    [
        {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:secret"},
        {"basic.auth.credentials.source": "SASL_INHERIT", "sasl.jaas.config": JAAS},
        {"basic.auth.credentials.source": "URL"},
    ],
    ids=["user info", "login", "address"],
)
def test_a_user_and_a_password(registry_url: str, config: dict[str, str]) -> None:
    with running_front(registry_url, authorization=basic("me:secret")) as front:
        url = front.url
        if config["basic.auth.credentials.source"] == "URL":
            url = url.replace("http://", "http://me:secret@")
        round_trip(url, config)
        wrong = {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:wrong"}
        for refused in ({}, wrong):
            with pytest.raises(DataError, match="Unauthorized; error code: 40101"):
                round_trip(front.url, refused)


def test_a_static_token(registry_url: str) -> None:
    with running_front(registry_url, authorization="Bearer abc") as front:
        config = {"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "abc"}
        round_trip(front.url, config)
        with pytest.raises(DataError, match="Unauthorized"):
            round_trip(front.url, {**config, "bearer.auth.token": "abd"})


def oauth(front: RegistryFront, secret: str = "s3cret") -> dict[str, str]:
    return {
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": f"{front.origin}/token",
        "bearer.auth.client.id": "connect",
        "bearer.auth.client.secret": secret,
        "bearer.auth.scope": "schemas",
        "bearer.auth.logical.cluster": "lsrc-1",
        "bearer.auth.identity.pool.id": "pool-1",
    }


def test_a_token_of_an_oauth_server(registry_url: str) -> None:
    with running_front(registry_url, authorization="Bearer fresh", tokens={"connect:s3cret": "fresh"}) as front:
        round_trip(front.url, oauth(front))
        asked = [headers for _, target, headers in front.requests if target != "/token"]
        assert {headers["target-sr-cluster"] for headers in asked} == {"lsrc-1"}
        assert {headers["confluent-identity-pool-id"] for headers in asked} == {"pool-1"}
        # Each of the two converters has requested one token.
        assert sum(target == "/token" for _, target, _ in front.requests) == 2


def test_a_client_that_the_oauth_server_does_not_know(registry_url: str) -> None:
    with running_front(registry_url, authorization="Bearer fresh", tokens={"connect:s3cret": "fresh"}) as front:
        with pytest.raises(DataError) as caught:
            round_trip(front.url, oauth(front, "wrong"))
        assert "invalid_client" in str(caught.value)
        assert "wrong" not in str(caught.value)
        with pytest.raises(ConfigError, match=r"bearer\.auth\.client\.secret"):
            round_trip(front.url, {**oauth(front), "bearer.auth.client.secret": ""})


def test_a_proxy_to_a_registry_without_tls(registry_url: str) -> None:
    with running_front(registry_url) as proxy:
        # The proxy connects to the registry, whatever name the request has.
        path = registry_url.partition("://")[2].partition("/")[2]
        config = {"proxy.host": "localhost", "proxy.port": str(proxy.port)}
        round_trip(f"http://registry.invalid/{path}", config)
        assert all(target.startswith("http://registry.invalid/") for _, target, _ in proxy.requests)


def test_a_proxy_to_a_registry_with_tls(registry_url: str, tmp_path: Path, authority: Authority) -> None:
    trust, _ = stores("PEM", tmp_path, authority)
    context = server_context(tmp_path, authority)
    with running_front(registry_url, context=context) as front, running_front(registry_url) as proxy:
        round_trip(front.url, {**trust, "proxy.host": "localhost", "proxy.port": str(proxy.port)})
        assert {(method, target) for method, target, _ in proxy.requests} == {("CONNECT", f"localhost:{front.port}")}
        assert front.requests

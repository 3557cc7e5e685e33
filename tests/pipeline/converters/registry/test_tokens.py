"""Tokens of an OAuth server, which is the double's front; with a real registry they are in ``test_access.py``."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import INT64
from penstock.pipeline.converters import AvroConverter
from pipeline.converters.registry.registry_double import RegistryDouble, running_double
from support.certificates import Authority
from support.registry_front import RegistryFront, running_front

pytest.importorskip("fastavro")

TOKENS = {"connect:s3cret": "fresh"}


def write(front: RegistryFront, **more: str) -> None:
    converter = AvroConverter()
    config = {
        "schema.registry.url": front.url,
        "max.retries": "0",
        "bearer.auth.credentials.source": "OAUTHBEARER",
        "bearer.auth.issuer.endpoint.url": f"{front.origin}/token",
        "bearer.auth.client.id": "connect",
        "bearer.auth.client.secret": "s3cret",
    }
    converter.configure({**config, **{name.replace("_", "."): value for name, value in more.items()}}, False)
    converter.from_connect("t", (), INT64, 5)


def test_a_scope_may_be_left_out(double: RegistryDouble) -> None:
    with running_front(double.url, authorization="Bearer fresh", tokens=TOKENS) as front:
        write(front)
    assert list(double.subjects) == ["t-value"]


def test_the_server_of_tokens_is_asked_by_no_proxy_of_the_environment(
    double: RegistryDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_double() as proxy, running_front(double.url, authorization="Bearer fresh", tokens=TOKENS) as front:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        write(front)
        assert proxy.requests == []
    assert list(double.subjects) == ["t-value"]


def test_the_registrys_trust_store_counts_for_the_server_of_tokens_too(double: RegistryDouble, tmp_path: Path) -> None:
    authority = Authority.make()
    identity = authority.identity("registry", "localhost")
    (tmp_path / "server.pem").write_text(identity.certificate_pem + identity.key_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    prefix = "schema_registry_ssl_truststore_"
    trust = {f"{prefix}type": "PEM", f"{prefix}certificates": authority.certificate_pem}
    with running_front(double.url, context=context, authorization="Bearer fresh", tokens=TOKENS) as front:
        with pytest.raises(DataError, match="CERTIFICATE_VERIFY_FAILED"):
            write(front)
        write(front, **trust)
    assert list(double.subjects) == ["t-value"]

"""Tokens of an OAuth server, which is the double's front; with a real registry they are in ``test_access.py``."""

from __future__ import annotations

import pytest

from penstock.api.schema import INT64
from penstock.pipeline.converters import AvroConverter
from pipeline.converters.registry.registry_double import RegistryDouble
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

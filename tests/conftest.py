"""The broker that integration tests share: one per run, or the one that PENSTOCK_TEST_BOOTSTRAP names."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from support import Kafka


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what comes of the scenarios today into their files")


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """``host:port`` of a running broker. Other tests use it too: make up names, expect foreign topics."""
    if running := os.environ.get("PENSTOCK_TEST_BOOTSTRAP"):
        yield running
        return
    from penstock.embedded import Broker

    with Broker() as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def kafka(bootstrap: str) -> Kafka:
    return Kafka(bootstrap)

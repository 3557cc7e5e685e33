"""The registries of these tests: one in this process, and a real one that is shared by a whole run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pipeline.converters.registry.registry_double import RegistryDouble, running_double
from support.machine import missing


@pytest.fixture
def double() -> Iterator[RegistryDouble]:
    with running_double() as double:
        yield double


@pytest.fixture(scope="session")
def registry_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real registry: the one that PENSTOCK_TEST_REGISTRY names, or one of this run.

    Subjects of other tests are there too: make up names.
    """
    if running := os.environ.get("PENSTOCK_TEST_REGISTRY"):
        yield running
        return
    from penstock.embedded import registry
    from penstock.embedded.home import EmbeddedError

    directory = tmp_path_factory.mktemp("registry")
    try:
        registry.installed()
    except EmbeddedError as error:
        missing(f"A schema registry can't be had here: {error}")
    running_registry = registry.up(directory, 0, keep=False)
    try:
        yield running_registry.url
    finally:
        registry.down(directory)

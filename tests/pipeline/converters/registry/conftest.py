"""A registry in this process that can be told to fail; a real one is ``registry_url`` of ``tests/conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline.converters.registry.registry_double import RegistryDouble, running_double


@pytest.fixture
def double() -> Iterator[RegistryDouble]:
    with running_double() as double:
        yield double

"""A registry in this process that can be told to fail; a real one is ``registry_url`` of ``tests/conftest.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.pipeline.converters import AvroConverter, JsonConverter, JsonSchemaConverter, ProtobufConverter
from pipeline.converters.registry.registry_double import RegistryDouble, running_double


@pytest.fixture
def double() -> Iterator[RegistryDouble]:
    with running_double() as double:
        yield double


@pytest.fixture(scope="module")
def shared() -> Iterator[RegistryDouble]:
    """A registry for all tests of a module."""
    with running_double() as double:
        yield double


@pytest.fixture(params=[AvroConverter, JsonConverter, JsonSchemaConverter, ProtobufConverter])
def converter(request: pytest.FixtureRequest, shared: RegistryDouble) -> Any:
    """A converter of values of each kind, for schemas and values of Connect."""
    made = request.param()
    made.configure({"schema.registry.url": shared.url}, False)
    return made

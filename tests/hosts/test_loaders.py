"""Class loaders of plugins from jars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.hosts.jvm.messages.base import PluginReference
from penstock.hosts.jvm.messages.worker import (
    CreateJavaConnector,
    MakeJavaTaskConfigs,
    StartJavaConnector,
    ValidateJavaConnector,
)
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.process import JvmSpec
from penstock.hosts.jvm.session import JvmSession

pytestmark = pytest.mark.integration


def test_a_connector_is_initialized_and_called_with_its_own_loader(
    open_sessions: Callable[..., JvmSession], jvm_spec: JvmSpec, conduct: str, tmp_path: Path
) -> None:
    """The class path has a resource of the same name; threads may load classes of one location at once."""
    catalogue = find((conduct,), None)
    assert catalogue is not None
    spec = replace(jvm_spec, settings={"catalogue": str(catalogue.file), "linger.ms": 1000})
    session = open_sessions(spec=spec)
    session.call(CreateJavaConnector(PluginReference("penstock.tests.ConductSource")))
    config = {"topic": "t", "journal": str(tmp_path / "journal"), "loaders": "true"}
    session.call(ValidateJavaConnector(config))
    session.call(StartJavaConnector("n", config))
    session.call(MakeJavaTaskConfigs(1))
    noted = [line for line in (tmp_path / "journal").read_text().splitlines() if line.startswith("loaders ")]
    right = "true first true parallel true resource true"
    assert noted == [f"loaders {method} {right}" for method in ("validate", "start", "taskConfigs")]

"""The demo runs from the wheel, too."""

from __future__ import annotations

import pytest

from installed.conftest import Dist, Installed, dist, install

__all__ = ["dist"]


@pytest.fixture(scope="session")
def installed(dist: Dist, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(dist, tmp_path_factory.mktemp("installed"), "demo")

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.python.plugins import sink_wheel, source_wheel
from penstock.hosts.python.install import install
from penstock.hosts.python.process import close_all
from penstock.plugins import Plugins


@pytest.fixture(scope="package")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for ``plugin.path`` with both plugins; nothing is installed or removed there."""
    folder = tmp_path_factory.mktemp("environments")
    install(source_wheel(folder / "wheels-of-source"), folder / "plugins")
    install(sink_wheel(folder / "wheels-of-sink"), folder / "plugins")
    return folder / "plugins"


@pytest.fixture
def plugins(installed: Path) -> Iterator[Plugins]:
    found = Plugins.discover([str(installed)])
    yield found
    found.close()
    close_all()

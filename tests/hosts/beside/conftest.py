from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from hosts.plugins import plugin_path
from support.jars import require
from support.java_worker import JARS, JavaWorker
from support.worker_process import PLAIN, WorkerProcess


@dataclass(frozen=True, slots=True)
class Pair:
    """A worker of Penstock and one of Java Connect, with the same plugins."""

    ours: WorkerProcess
    java: JavaWorker

    @property
    def both(self) -> tuple[WorkerProcess, WorkerProcess]:
        return self.java, self.ours


@pytest.fixture(scope="module")
def pair(bootstrap: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both workers, with the plugins that the module names in ``PLUGINS``."""
    require(JARS)
    folder = tmp_path_factory.mktemp("beside")
    settings = {**PLAIN, "plugin.path": plugin_path(folder / "plugins", *request.module.PLUGINS)}
    # One JVM for all connectors, as Java Connect has it, starts once.
    ours = WorkerProcess(bootstrap, folder, **settings, **{"penstock.java.process": "worker"})
    with ours as here, JavaWorker(bootstrap, folder, **settings) as java:
        yield Pair(here, java)

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hosts.chains.running import Run
from hosts.plugins import plugin_path
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm, task_jvm
from support.worker_process import QUICK_JAVA


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskJvm]:
    path = plugin_path(tmp_path_factory.mktemp("plugins"), "chain")
    with task_jvm(Run((path,), worker_config={"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"})) as jvm:
        yield jvm

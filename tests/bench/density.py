"""Cost of idle tasks: proportional memory (shared pages are divided among the processes that share them) and
processor time.
"""

from __future__ import annotations

import time
from functools import partial

from bench.connect import CaseError, Connect
from bench.processes import busy, megabytes
from bench.setting import Setting

_TASKS = 20
_SECONDS = 10
SHARED = {"penstock.tasks.per.process": "8"}
"""Java's connectors do not have this setting, and ignore it."""


def density(more: dict[str, str], cluster: Connect, setting: Setting) -> dict[str, float]:
    if cluster.pid is None:
        raise CaseError(f"density: the process of the worker at {cluster.url} can't be seen from here")
    names = [setting.create_topic(setting.name("density")) for _ in range(_TASKS)]
    _start(cluster, setting, names[:1], more)  # starts Spark, if the worker has one
    time.sleep(_SECONDS)
    base = megabytes(cluster.pid)
    _start(cluster, setting, names[1:], more)
    time.sleep(_SECONDS)
    memory = megabytes(cluster.pid)
    idle = busy(cluster.pid, _SECONDS)
    for name in names:
        cluster.delete(name)
    setting.delete_topics(*names)
    return {"worker and one task MB": base, "MB a task": (memory - base) / (_TASKS - 1), "idle CPU %": idle}


def _start(cluster: Connect, setting: Setting, names: list[str], more: dict[str, str]) -> None:
    for name in names:
        file = setting.folder / f"{name}.txt"
        file.write_text("one\n")
        config = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": name, "file": str(file)}
        cluster.put(name, {**config, **more})
    for name in names:
        cluster.running(name, time.perf_counter())


CASES = {"density": partial(density, {}), "density-shared": partial(density, SHARED)}

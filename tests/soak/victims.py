"""Who is killed: a worker, a process of the Spark below it, or a task's process; any of those that are there."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import psutil

from soak.cluster import Cluster
from soak.cluster import kill as kill_process
from support.process_tree import command
from support.waiting import until
from support.worker_process import WorkerProcess

TO_APPEAR = 180.0
"""Seconds to wait for a process to kill, while all of its kind are being restarted."""


def kill_many(cluster: Cluster, number: int, between: float, say: Callable[[str], None]) -> str:
    """So many in turn, each after between none and twice ``between`` seconds; the answer counts them."""
    killed: Counter[str] = Counter()
    for each in range(1, number + 1):
        time.sleep(random.uniform(0, 2 * between))
        kind = KINDS[each % len(KINDS)]
        cluster.watch_doomed()
        say(f"kill {each}: {kill(cluster, kind)}")
        killed[kind] += 1
    return ", ".join(f"{count} of a {kind}" for kind, count in sorted(killed.items()))


def kill(cluster: Cluster, kind: str) -> str:
    """SIGKILL to one of these, see KINDS; the answer tells which it was."""
    return _KILLS[kind](cluster)


def _kill_worker(cluster: Cluster) -> str:
    """And start it again at once."""
    victim = random.choice(cluster.workers)
    cluster.kill(victim)
    victim.start()
    return f"worker {victim.name}"


def _kill_spark(cluster: Cluster) -> str:
    """The Python that drives it, its Java, or the daemon that tasks are forked from."""
    return _kill_one(cluster, "driver", "java", "daemon")


def _kill_task(cluster: Cluster) -> str:
    return _kill_one(cluster, "task")


_KILLS: dict[str, Callable[[Cluster], str]] = {"worker": _kill_worker, "Spark": _kill_spark, "task": _kill_task}
KINDS = tuple(_KILLS)


def _kill_one(cluster: Cluster, *kinds: str) -> str:
    """Wait for processes of these kinds, and kill one of them."""
    found = until(lambda: below(cluster, kinds), f"a process to kill, {' or '.join(kinds)}", TO_APPEAR)
    worker, process, kind = random.choice(found)
    kill_process(process)
    return f"{kind}, process {process.pid}, of worker {worker.name}"


def below(cluster: Cluster, kinds: tuple[str, ...]) -> list[tuple[WorkerProcess, psutil.Process, str]]:
    """The processes of these kinds below the workers: ``java``, ``driver``, ``daemon``, ``task``."""
    every = [(worker, process) for worker in cluster.workers for process in worker.descendants()]
    return [(worker, process, kind) for worker, process in every if (kind := _kind(process)) in kinds]


def _kind(process: psutil.Process) -> str:
    said = command(process)
    if "org.apache.spark.deploy.SparkSubmit" in said:
        return "java"
    if "-m penstock.spark.driver" in said:
        return "driver"
    if "-m penstock.spark.daemon" in said:
        # A task is forked from it and shows its command.
        with suppress(psutil.NoSuchProcess):
            parent = process.parent()
            return "task" if parent is not None and "-m penstock.spark.daemon" in command(parent) else "daemon"
    return ""

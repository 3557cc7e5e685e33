"""Who is killed: a worker, a process of the Spark below it, or a task's process; any of those that are there."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from soak.cluster import Cluster, command
from waiting import until
from workers import WorkerProcess

TO_APPEAR = 180.0
"""Seconds to wait for somebody to kill, while all of a kind are being started anew."""


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
    found = until(lambda: _below(cluster, kinds), f"a process to kill, {' or '.join(kinds)}", TO_APPEAR)
    worker, pid, kind = random.choice(found)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return f"{kind}, process {pid}, of worker {worker.name}"


def _below(cluster: Cluster, kinds: tuple[str, ...]) -> list[tuple[WorkerProcess, int, str]]:
    every = [(worker, pid) for worker in cluster.workers for pid in worker.descendants()]
    return [(worker, pid, kind) for worker, pid in every if (kind := _kind(pid)) in kinds]


def _kind(pid: int) -> str:
    said = command(pid)
    if "org.apache.spark.deploy.SparkSubmit" in said:
        return "java"
    if "-m penstock.spark.driver" in said:
        return "driver"
    if "-m penstock.spark.daemon" in said:
        # A task is forked from it and shows its command.
        return "task" if "-m penstock.spark.daemon" in command(_parent(pid)) else "daemon"
    return ""


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0

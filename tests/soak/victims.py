"""The processes of a cluster's workers, by what they are; a fault hits one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import psutil

from soak.cluster import Cluster
from support.process_tree import command
from support.worker_process import WorkerProcess


def processes(cluster: Cluster, kind: str) -> list[tuple[WorkerProcess, psutil.Process]]:
    """Those of this kind: ``worker``, below one ``driver``, ``java``, ``daemon``, ``task``, by worker and pid; or
    ``jvm``, of plugins, which belong to the machine.
    """
    if kind == "worker":
        return [(worker, found) for worker in cluster.workers for found in _itself(worker)]
    if kind == "jvm":
        return [(cluster.workers[0], found) for found in plugin_jvms(cluster.mark)]
    every = [(worker, process) for worker in cluster.workers for process in worker.descendants()]
    return sorted(
        ((worker, process) for worker, process in every if kind_of(process) == kind),
        key=lambda found: (cluster.workers.index(found[0]), found[1].pid),
    )


def family(worker: WorkerProcess) -> Iterator[tuple[str, psutil.Process]]:
    """The worker's process and all below it, with what each is."""
    for process in _itself(worker):
        yield "worker", process
    for process in worker.descendants():
        if kind := kind_of(process):
            yield kind, process


def _itself(worker: WorkerProcess) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        if worker.process is not None and worker.process.poll() is None:
            return [psutil.Process(worker.process.pid)]
    return []


def plugin_jvms(mark: str) -> list[psutil.Process]:
    """Those that were given this option; they outlive who started them."""
    every = psutil.process_iter(["cmdline"])
    return [each for each in every if mark in (each.info["cmdline"] or []) and each.info["cmdline"][0].endswith("java")]


def kind_of(process: psutil.Process) -> str:
    """``driver``, ``java``, ``daemon``, ``task``, or an empty string."""
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

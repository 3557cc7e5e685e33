"""The processes of a cluster's workers, by kind; a fault hits one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import psutil

from soak.cluster import Cluster
from support.process_tree import command
from support.worker_process import WorkerProcess


def processes(cluster: Cluster, kind: str) -> list[tuple[WorkerProcess, psutil.Process]]:
    """Return the processes of a kind: ``worker`` and its descendants ``driver``, ``java``, ``daemon``, ``task``, by
    worker and PID; or ``jvm``, JVMs of plugins, which are found by their mark on the whole machine.
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
    """Yield the worker's process and its descendants, with their kinds."""
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
    """Return the JVMs that were started with this option; they may outlive the process that started them."""
    every = psutil.process_iter(["cmdline"])
    return [each for each in every if mark in (each.info["cmdline"] or []) and each.info["cmdline"][0].endswith("java")]


def kind_of(process: psutil.Process) -> str:
    """Return the kind of a process: ``driver``, ``java``, ``daemon``, ``task``, or an empty string."""
    said = command(process)
    if "org.apache.spark.deploy.SparkSubmit" in said:
        return "java"
    if "-m penstock.spark.driver" in said:
        return "driver"
    if "-m penstock.spark.daemon" in said:
        # A task is forked from the daemon and shows its command line.
        with suppress(psutil.NoSuchProcess):
            parent = process.parent()
            return "task" if parent is not None and "-m penstock.spark.daemon" in command(parent) else "daemon"
    return ""

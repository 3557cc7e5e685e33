"""Long-term use of memory, file descriptors and threads by workers' processes.

A process that replaces a dead one counts as a new one: its growth is measured from its own start.
"""

from __future__ import annotations

import json
import os
import statistics
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from faults.plan import PROCESSES
from soak.victims import family
from support.worker_process import WorkerProcess

OFTEN = 5.0
"""Seconds between two samples."""
NOISE = {"MB of memory": 16.0, "file descriptors": 12.0, "threads": 8.0}
"""Growth of each resource that is always allowed."""
LEAST = 24
"""Minimum number of samples of a process for a judgement."""
MOST = 1.25
"""Maximum factor of growth from the second to the last third of a process's life; in the first it is still warming
up.
"""
OF_SPARKS_CLEANER = "block-manager-"
"""Prefix of Spark's threads that remove a job's data: two pools of at most 100, which keep each for a minute. They
fill up when Java collects garbage, so that a JVM that lives for some minutes seems to grow.
"""
KEPT = 12
"""Number of samples for which a pool keeps idle threads: a minute."""


class Sample(NamedTuple):
    """Use of resources at one time, in the order of NOISE."""

    memory: int
    file_descriptors: int
    threads: int
    tasks: int = 0
    """Number of its worker's task processes."""


@dataclass(slots=True)
class Life:
    """A process from its first sample to its last."""

    kind: str
    name: str
    samples: list[Sample] = field(default_factory=list)

    def thirds(self, of: Callable[[list[float]], float] = statistics.median) -> dict[str, tuple[float, float, float]]:
        """Return the use of each resource in the first, second and last third of the time, adjusted to a constant
        number of tasks: each task has a connection to the worker, and threads in Java.
        """
        size = len(self.samples) // 3
        found = {}
        for i, resource in enumerate(NOISE):
            taken = self._without_tasks([sample[i] for sample in self.samples])
            found[resource] = (of(taken[:size]), of(taken[size : 2 * size]), of(taken[-size:]))
        return found

    def _without_tasks(self, taken: list[int]) -> list[float]:
        """Adjust the use to the usual number of tasks, by a least-squares fit that also has a term in proportion to the
        time.
        """
        tasks = [max(each.tasks for each in self.samples[max(i - KEPT, 0) : i + 1]) for i in range(len(taken))]
        if len(set(tasks)) < 2:
            return [float(each) for each in taken]
        columns = np.array([[1.0, at, count] for at, count in enumerate(tasks)])
        for_each = max(float(np.linalg.lstsq(columns, np.array(taken), rcond=None)[0][2]), 0.0)
        usual = statistics.median(tasks)
        return [each - for_each * (count - usual) for each, count in zip(taken, tasks, strict=True)]


class Resources:
    """Watches all processes of workers from ``start`` to ``stop``.

    Each sample is a line of JSON in the file ``looks``, with the targets of file descriptors, the ports of connections,
    and the names of threads.
    """

    def __init__(self, workers: Sequence[WorkerProcess], looks: Path) -> None:
        self._workers = workers
        self._file = looks
        self._looks = 0
        self._lives: dict[psutil.Process, Life] = {}
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="resources")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> list[Life]:
        """Stop the watch, and return the processes; raises the exception that ended the watch early, if any."""
        self._ended.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self.lives

    @property
    def lives(self) -> list[Life]:
        return list(self._lives.values())

    def _watch(self) -> None:
        try:
            while not self._ended.wait(OFTEN):
                self.look()
        except BaseException as error:
            self._error = error

    def look(self) -> None:
        """Take samples. Called by the watch, every few seconds."""
        self._looks += 1
        with self._file.open("a") as file:
            for worker in self._workers:
                every = list(family(worker))
                tasks = sum(kind == "task" for kind, _ in every)
                for kind, process in every:
                    name = f"process {process.pid} of worker {worker.name}"
                    with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                        taken = _taken(process)
                        sample = _sample(process, taken["names"], tasks)
                        self._lives.setdefault(process, Life(kind, name)).samples.append(sample)
                        line = {"look": self._looks, "name": name, "kind": kind, **sample._asdict()}
                        file.write(json.dumps({**line, **taken}) + "\n")


def _sample(process: psutil.Process, threads: Mapping[str, int], tasks: int) -> Sample:
    """Sample a process, without the ``threads`` of Spark's cleaner pools."""
    counted = sum(count for name, count in threads.items() if not name.startswith(OF_SPARKS_CLEANER))
    with process.oneshot():
        return Sample(process.memory_info().rss >> 20, process.num_fds(), counted, tasks)


def _taken(process: psutil.Process) -> dict[str, Counter[str]]:
    """Count a process's file descriptors by target, connections by port, and threads by name."""
    folder = Path(f"/proc/{process.pid}")
    leads, names = [], []
    for descriptor in (folder / "fd").iterdir():
        with suppress(FileNotFoundError):
            leads.append(os.readlink(descriptor).partition(":[")[0])
    for thread in (folder / "task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            names.append((thread / "comm").read_text().strip())
    ports = [str(each.raddr.port) for each in process.net_connections("tcp") if each.raddr]
    return {"leads": Counter(leads), "ports": Counter(ports), "names": Counter(names)}


def growth(lives: list[Life], most: float) -> list[str]:
    """Describe each kind of process and resource whose use keeps growing; ``most`` is as MOST."""
    sentences = []
    for kind, found in by_kind(lives).items():
        for resource in NOISE:
            if growing := [life for life in found if _grows(life, resource, most)]:
                worst = max(growing, key=lambda life: _step(life, resource))
                _, second, last = worst.thirds()[resource]
                sentences.append(
                    f"the {resource} of {len(growing)} {kind} processes grew by more than {most - 1:.0%}, "
                    f"of {worst.name}, watched for {len(worst.samples) * OFTEN:g} s, from {second:.4g} to {last:.4g}"
                )
    return sentences


def _grows(life: Life, resource: str, most: float) -> bool:
    """Return whether both median and minimum have grown: use that a pool gives back, like Spark's threads, is no
    growth.
    """
    thirds = (life.thirds()[resource], life.thirds(min)[resource])
    return all(last > second * most and last > second + NOISE[resource] for _, second, last in thirds)


def described(lives: list[Life]) -> dict[str, object]:
    """Return lines for a report: for each kind of process and resource, the process that has grown most."""
    lines: dict[str, object] = {}
    for kind, found in by_kind(lives).items():
        every = sum(life.kind == kind for life in lives)
        lines[f"{kind} processes"] = f"{every}, {len(found)} of them watched for {LEAST * OFTEN:g} s or longer"
        for resource in NOISE if found else ():
            most = max(found, key=lambda life: _step(life, resource))
            lines[f"{resource} of a {kind}"] = " → ".join(f"{each:.4g}" for each in most.thirds()[resource])
    return lines


def by_kind(lives: list[Life]) -> Mapping[str, list[Life]]:
    """Return for each kind that occurred the processes that were watched for long enough."""
    return {
        kind: [life for life in lives if life.kind == kind and len(life.samples) >= LEAST]
        for kind in PROCESSES
        if any(life.kind == kind for life in lives)
    }


def _step(life: Life, resource: str) -> float:
    _, second, last = life.thirds()[resource]
    return last - second

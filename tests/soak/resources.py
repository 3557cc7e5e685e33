"""What the processes of workers take over a long time: their memory, file descriptors and threads.

A process that takes the place of one that has died is another one: it grows from its own start.
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
"""Seconds from one look to the next."""
NOISE = {"MB of memory": 16.0, "file descriptors": 12.0, "threads": 8.0}
"""What a process may take more in any case, of each resource."""
LEAST = 24
"""Looks at a process, without which nothing can be said of it."""
MOST = 1.25
"""How much more, as a factor, a process may take in the last third of its time than in the second; in the first it is
still warming up.
"""
OF_SPARKS_CLEANER = "block-manager-"
"""What Spark calls the threads that forget a job's data: two pools of at most 100, which keep each for a minute. They
fill up when Java collects garbage, so that a Java which lives for some minutes seems to grow.
"""
KEPT = 12
"""Looks for which a pool of threads keeps what it does not need: a minute."""


class Sample(NamedTuple):
    """In the order of NOISE."""

    memory: int
    file_descriptors: int
    threads: int
    tasks: int = 0
    """Processes of tasks that its worker had."""


@dataclass(slots=True)
class Life:
    """A process from the first look at it to the last."""

    kind: str
    name: str
    samples: list[Sample] = field(default_factory=list)

    def thirds(self, of: Callable[[list[float]], float] = statistics.median) -> dict[str, tuple[float, float, float]]:
        """Of each resource, what was taken in the first, the second and the last third of the time, if the worker had
        had the same number of tasks all the time: each has a connection to it, and threads of Java.
        """
        size = len(self.samples) // 3
        found = {}
        for i, resource in enumerate(NOISE):
            taken = self._without_tasks([sample[i] for sample in self.samples])
            found[resource] = (of(taken[:size]), of(taken[size : 2 * size]), of(taken[-size:]))
        return found

    def _without_tasks(self, taken: list[int]) -> list[float]:
        """What was taken, as it would have been with the usual number of tasks; by least squares, beside what grows in
        proportion to the time.
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

    Each look is a line of JSON in the file ``looks``, with what the file descriptors lead to, the ports of
    connections, and the names of threads.
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
        """Raises what has ended the watch early."""
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
        """Called by the watch, every few seconds."""
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
    """Without the ``threads`` of Spark's pools for its cleaner."""
    counted = sum(count for name, count in threads.items() if not name.startswith(OF_SPARKS_CLEANER))
    with process.oneshot():
        return Sample(process.memory_info().rss >> 20, process.num_fds(), counted, tasks)


def _taken(process: psutil.Process) -> dict[str, Counter[str]]:
    """How many file descriptors lead to what, connections to which port there are, and threads of which name."""
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
    """A sentence for each kind of process and each resource of which one takes more and more; ``most`` as MOST."""
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
    """The usual and the least that it takes: what a pool takes and gives back, as Spark's threads, is no growth."""
    thirds = (life.thirds()[resource], life.thirds(min)[resource])
    return all(last > second * most and last > second + NOISE[resource] for _, second, last in thirds)


def described(lives: list[Life]) -> dict[str, object]:
    """Lines for a report: of each kind of process and each resource, that which has grown most."""
    lines: dict[str, object] = {}
    for kind, found in by_kind(lives).items():
        every = sum(life.kind == kind for life in lives)
        lines[f"{kind} processes"] = f"{every}, {len(found)} of them watched for {LEAST * OFTEN:g} s or longer"
        for resource in NOISE if found else ():
            most = max(found, key=lambda life: _step(life, resource))
            lines[f"{resource} of a {kind}"] = " → ".join(f"{each:.4g}" for each in most.thirds()[resource])
    return lines


def by_kind(lives: list[Life]) -> Mapping[str, list[Life]]:
    """Of each kind that there is, those that were watched for long enough."""
    return {
        kind: [life for life in lives if life.kind == kind and len(life.samples) >= LEAST]
        for kind in PROCESSES
        if any(life.kind == kind for life in lives)
    }


def _step(life: Life, resource: str) -> float:
    _, second, last = life.thirds()[resource]
    return last - second

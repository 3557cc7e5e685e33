"""Tasks on a real Spark, for tests: ``Hosted`` keeps the events that it gets; the loops are in ``spark/loops.py``."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.core.model.tasks import SparkDied, SparkReady, TaskEnded, TaskEvent, TaskId, TaskWaiting
from penstock.kafka.group.member_log import MemberMemory
from penstock.pipeline.task import CommittedOffsets, TaskSpec
from penstock.spark.hosted import HostedTasks
from penstock.spark.settings import HostSettings
from support.waiting import received

Spec = Callable[..., TaskSpec]

ENDED_SECONDS = 300.0
LOOPS = str(Path(__file__).parents[2] / "spark")


class Events:
    """Events that were delivered; tests take those that they wait for and leave the rest."""

    def __init__(self) -> None:
        self._queue: queue.Queue[TaskEvent | SparkReady | SparkDied] = queue.Queue()
        self._seen: list[TaskEvent | SparkReady | SparkDied] = []

    def put(self, event: TaskEvent | SparkReady | SparkDied) -> None:
        self._queue.put(event)

    def until(self, kind: type | tuple[type, ...], id: TaskId | None = None, timeout: float = 900.0) -> list[Any]:
        """Take this task's events up to and including the first of this kind; without a task, only that event. Fails
        after ``timeout`` seconds, or if the task has ended and no other run of it has sent events for ENDED_SECONDS.
        """
        deadline = time.monotonic() + timeout
        taken: list[Any] = []
        while True:
            for event in self._seen[:]:
                if isinstance(event, kind) if id is None else getattr(event, "id", None) == id:
                    self._seen.remove(event)
                    taken.append(event)
                    if isinstance(event, kind):
                        return taken
            left = deadline - time.monotonic()
            if taken and isinstance(taken[-1], TaskEnded):
                left = min(left, ENDED_SECONDS)
            try:
                self._seen.append(received(self._queue, max(0.01, left)))
            except queue.Empty:
                pytest.fail(f"{kind} of {id} did not come in time, but {taken}")

    def so_far(self, id: TaskId) -> list[Any]:
        """Return this task's events that have not been taken yet."""
        while not self._queue.empty():
            self._seen.append(self._queue.get())
        return [event for event in self._seen if getattr(event, "id", None) == id]


class Hosted(HostedTasks):
    def __init__(self, settings: HostSettings) -> None:
        self.events = Events()
        self.members = MemberMemory()
        # The folder in which the tasks' processes find ``loops.py``.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (LOOPS, os.environ.get("PYTHONPATH"))))
        super().__init__(settings, self.events.put, self.members)


@contextmanager
def started(settings: HostSettings) -> Iterator[Hosted]:
    """Start a Spark with these settings, and wait until it is ready."""
    hosted = Hosted(settings)
    hosted.start()
    try:
        hosted.events.until(SparkReady)
        yield hosted
    finally:
        hosted.close(20.0)


@dataclass
class Gate:
    """The worker's answers when the process is ready, and when its producer is."""

    admission: Future[TaskSpec] = field(default_factory=Future)
    offsets: Future[CommittedOffsets] = field(default_factory=Future)
    asked: list[str] = field(default_factory=list)

    def admit(self) -> Future[TaskSpec]:
        self.asked.append("admit")
        return self.admission

    def committed_offsets(self) -> Future[CommittedOffsets]:
        self.asked.append("committed offsets")
        return self.offsets


_numbers = count()


def make_spec(loop: str = "tick", *, run: int = 1, paused: bool = False, **config: str) -> TaskSpec:
    """Return the specification of a new task whose loop is a function of ``loops.py``."""
    return TaskSpec(
        connector=f"c{next(_numbers)}",
        task=0,
        run=run,
        kind=f"loops:{loop}",
        task_class="loops:Ticker",
        config=config,
        connector_config={},
        worker_config={},
        paused=paused,
    )


def id_of(spec: TaskSpec) -> TaskId:
    return TaskId(spec.connector, spec.task)


def process_of(hosted: Any, spec: TaskSpec) -> int:
    """Return the process ID of an admitted task."""
    pid = hosted.runs[id_of(spec)].process_id
    assert isinstance(pid, int)
    return pid


def files_of_spark(java: int) -> Path:
    """Return the folder of temporary files of the Spark with this Java process."""
    return Path(psutil.Process(java).environ()["SPARK_LOCAL_DIRS"])


def without_waiting(events: list[Any]) -> list[Any]:
    """Return a task's events without ``TaskWaiting``, which occurs on a busy machine."""
    return [event for event in events if not isinstance(event, TaskWaiting)]

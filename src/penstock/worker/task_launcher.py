"""Starts tasks: from the herder's ``StartTask`` to a run on Spark.

Before a task can run, references to config providers are resolved; a task that is stopped during that never starts.
Then Spark starts its process, and when that is ready the run is confirmed by the herder (``m.ConfirmTask``) and a
source's committed offsets are read up to the end of their topic. All of it may block, so it is done on threads of the
connector: config providers are plugins, and have threads of their own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from penstock.core.model.actions import StartTask
from penstock.core.model.messages import ConfirmTask, Elsewhere, Reply
from penstock.core.model.tasks import TaskChange, TaskEnded, TaskFailed, TaskId, TaskLost, TaskWaiting
from penstock.kafka.admin import NoAnswerError
from penstock.pipeline.task import CommittedOffsets, TaskSpec
from penstock.pipeline.trace import stack, trace
from penstock.spark.run.gate import NotConfirmedError, RunGate
from penstock.threads import ConnectorThreads
from penstock.worker.specs import Specs

log = logging.getLogger(__name__)

T = TypeVar("T")

LONG_S, LOOK_S = 10.0, 1.0
"""Seconds of preparation after which the task's status says where it is, and seconds between two checks."""
THREADS = 4
"""Threads that prepare the tasks of one connector. A preparation that hangs delays no task of another connector, and no
task of its own once it is stopped.
"""


class Hosts(Protocol):
    """Host of the tasks: ``spark.hosted.HostedTasks``."""

    def run(self, spec: TaskSpec, gate: RunGate) -> None: ...
    def pause(self, id: TaskId) -> None: ...
    def resume(self, id: TaskId) -> None: ...
    def stop(self, id: TaskId) -> None: ...
    def reset_topics(self, id: TaskId) -> None: ...


class TaskLauncher:
    """Methods are called by the worker's loop and return at once."""

    def __init__(
        self,
        hosts: Hosts,
        specs: Specs,
        submit: Callable[[ConfirmTask], Future[Reply | Elsewhere]],
        deliver: Callable[[TaskChange], None],
    ) -> None:
        """``submit`` asks the herder."""
        self._hosts, self._specs, self._submit, self._deliver = hosts, specs, submit, deliver
        self._threads, self._confirming = ConnectorThreads(THREADS), ConnectorThreads(THREADS)
        """For what calls plugins, and for what does not: confirmations and reads of offsets."""
        self._preparing: dict[TaskId, _Start] = {}
        self._lock = threading.Lock()
        self._watched = False

    def start(self, action: StartTask) -> None:
        with self._lock:
            start = self._preparing[action.id] = _Start(action)
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="preparations", daemon=True).start()
        start.call = self._threads.submit(action.id.connector, lambda: self._prepare(start))

    def _prepare(self, start: _Start) -> None:
        action = start.action
        if not self._is_wanted(start):
            return
        start.thread = threading.get_ident()
        try:
            spec = self._specs.outline(action)
        except BaseException as error:
            with self._lock:
                wanted = self._preparing.get(action.id) is start
                if wanted:
                    del self._preparing[action.id]
            if wanted:
                self._not_prepared(action, error)
            return
        with self._lock:
            if self._preparing.get(action.id) is not start:
                return
            del self._preparing[action.id]
            if start.topics_reset:
                spec = replace(spec, known_topics=())
            self._hosts.run(spec, _Gate(self, spec))
            if start.paused is not None and start.paused != spec.paused:
                # Before later requests.
                (self._hosts.pause if start.paused else self._hosts.resume)(action.id)

    def _not_prepared(self, action: StartTask, error: BaseException) -> None:
        """It is tried again if brokers did not answer."""
        if isinstance(error, NoAnswerError):
            self._deliver(TaskLost(action.id, action.run, str(error)))
        else:
            whose = {"connector": action.id.connector, "task": action.id.task}
            log.error("Task %s could not be started", action.id, exc_info=error, extra=whose)
            self._deliver(TaskFailed(action.id, action.run, trace(error)))
        self._deliver(TaskEnded(action.id, action.run))

    def _watch(self) -> None:
        """Reports preparations that take long; returns when there is none."""
        while True:
            time.sleep(LOOK_S)
            with self._lock:
                if not self._preparing:
                    self._watched = False
                    return
                since = time.monotonic() - LONG_S
                late = [each for each in self._preparing.values() if not each.reported and each.begun <= since]
            for start in late:
                start.reported = True
                self._deliver(TaskWaiting(start.action.id, start.action.run, start.described()))

    def in_background(self, spec: TaskSpec, call: Callable[[], T]) -> Future[T]:
        """On a thread of the connector, where no plugin is called."""
        return self._confirming.submit(spec.connector, call)

    def confirm(self, spec: TaskSpec) -> None:
        """Blocks. Raises NotConfirmedError if this run of the task is not to begin."""
        reply = self._submit(ConfirmTask(TaskId(spec.connector, spec.task), spec.run)).result()
        if not isinstance(reply, Reply) or reply.status != 204:
            raise NotConfirmedError(reply.body["message"] if isinstance(reply, Reply) else "another worker leads")

    def committed(self, spec: TaskSpec) -> CommittedOffsets:
        """Blocks. Raises NotConfirmedError if the brokers do not answer: the task is tried again."""
        try:
            return self._specs.committed(spec)
        except (NoAnswerError, TimeoutError) as error:
            raise NotConfirmedError(str(error)) from error

    def _is_wanted(self, start: _Start) -> bool:
        with self._lock:
            return self._preparing.get(start.action.id) is start

    def pause(self, id: TaskId) -> None:
        with self._lock:
            start = self._preparing.get(id)
            if start is not None:
                start.paused = True
                return
        self._hosts.pause(id)

    def resume(self, id: TaskId) -> None:
        with self._lock:
            start = self._preparing.get(id)
            if start is not None:
                start.paused = False
                return
        self._hosts.resume(id)

    def stop(self, id: TaskId) -> None:
        """Nothing runs of a task that is being prepared: it has ended at once, even if its preparation hangs."""
        with self._lock:
            start = self._preparing.pop(id, None)
        if start is None:
            self._hosts.stop(id)
        else:
            if start.call is not None:
                self._threads.abandon(id.connector, start.call)
            self._deliver(TaskEnded(id, start.action.run))

    def reset_topics(self, id: TaskId) -> None:
        with self._lock:
            start = self._preparing.get(id)
            if start is not None:
                start.topics_reset = True
                return
        self._hosts.reset_topics(id)


@dataclass(frozen=True, slots=True)
class _Gate:
    """``RunGate`` of one run."""

    launcher: TaskLauncher
    spec: TaskSpec

    def admit(self) -> Future[TaskSpec]:
        return self.launcher.in_background(self.spec, self._admit)

    def committed_offsets(self) -> Future[CommittedOffsets]:
        return self.launcher.in_background(self.spec, self._committed)

    def _admit(self) -> TaskSpec:
        self.launcher.confirm(self.spec)
        # For a sink's query this includes what a request to reset its offsets has left.
        if (self.spec.is_source and not self.spec.exactly_once) or is_query_of_sink(self.spec):
            return replace(self.spec, offsets=self.launcher.committed(self.spec))
        return self.spec

    def _committed(self) -> CommittedOffsets:
        self.launcher.confirm(self.spec)
        return self.launcher.committed(self.spec)


def is_query_of_sink(spec: TaskSpec) -> bool:
    return spec.kind == "query" and not spec.is_source


class _Start:
    """A start under way, and what was requested of the task meanwhile."""

    def __init__(self, action: StartTask) -> None:
        self.action = action
        self.begun = time.monotonic()
        self.call: Future[None] | None = None
        self.thread: int | None = None
        """The thread that prepares it, once one does."""
        self.reported = False
        self.paused: bool | None = None
        self.topics_reset = False

    def described(self) -> str:
        """Describe how far the preparation is."""
        if self.thread is None:
            return f"The task has waited for {LONG_S:.0f} s for other tasks of the connector that are being prepared"
        return f"The task's configuration has not been resolved for {LONG_S:.0f} s. It is at\n{stack(self.thread)}"

"""Starting tasks: from the herder's bare wish to a run on Spark.

Before a task can run, references to config providers are resolved and a source's committed offsets are read up to the
end of their topic; both may block, so each start is prepared on threads of a pool. A task that is stopped during the
first never starts; during the second Spark already looks for a place and a process, and it is a run of Spark's.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Protocol

from penstock.core.model.actions import StartTask
from penstock.core.model.tasks import TaskEnded, TaskEvent, TaskFailed, TaskId
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.trace import trace

log = logging.getLogger(__name__)


class Hosts(Protocol):
    """Where tasks run: ``spark.hosted.HostedTasks``."""

    def run(self, spec: TaskSpec, complete: Future[TaskSpec]) -> None: ...
    def pause(self, id: TaskId) -> None: ...
    def resume(self, id: TaskId) -> None: ...
    def stop(self, id: TaskId) -> None: ...
    def reset_topics(self, id: TaskId) -> None: ...


class TaskStarts:
    """Methods are called by the worker's loop and return at once."""

    def __init__(
        self,
        hosts: Hosts,
        outline: Callable[[StartTask], TaskSpec],
        complete: Callable[[TaskSpec], TaskSpec],
        deliver: Callable[[TaskEvent], None],
        pool: Executor,
    ) -> None:
        """See ``specs.Specs`` for the two steps."""
        self._hosts, self._outline, self._complete, self._deliver, self._pool = hosts, outline, complete, deliver, pool
        self._preparing: dict[TaskId, _Start] = {}
        self._lock = threading.Lock()

    def start(self, action: StartTask) -> None:
        with self._lock:
            start = self._preparing[action.id] = _Start(action)
        self._pool.submit(self._go, start)

    def _go(self, start: _Start) -> None:
        action = start.action
        try:
            spec = self._outline(action)
        except BaseException as error:
            log.error("Task %s could not be started", action.id, exc_info=error)
            with self._lock:
                self._preparing.pop(action.id, None)
            self._deliver(TaskFailed(action.id, action.run, trace(error)))
            self._deliver(TaskEnded(action.id, action.run))
            return
        with self._lock:
            self._preparing.pop(action.id, None)
            if not start.stopped:
                if start.topics_reset:
                    spec = replace(spec, known_topics=())
                self._hosts.run(spec, self._pool.submit(self._complete, spec))
        if start.stopped:
            self._deliver(TaskEnded(action.id, action.run))
        elif start.paused is not None and start.paused != spec.paused:
            (self._hosts.pause if start.paused else self._hosts.resume)(action.id)

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
        with self._lock:
            start = self._preparing.get(id)
            if start is not None:
                start.stopped = True
                return
        self._hosts.stop(id)

    def reset_topics(self, id: TaskId) -> None:
        with self._lock:
            start = self._preparing.get(id)
            if start is not None:
                start.topics_reset = True
                return
        self._hosts.reset_topics(id)


class _Start:
    """One start under way, and what was asked of it since."""

    def __init__(self, action: StartTask) -> None:
        self.action = action
        self.stopped = False
        self.paused: bool | None = None
        self.topics_reset = False

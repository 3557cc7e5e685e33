"""Starts tasks: from the herder's ``StartTask`` to a run on Spark.

Before a task can run, references to config providers are resolved and a source's committed offsets are read up to the
end of their topic; both may block, so each start is prepared on its connector's threads. A task that is stopped during
the first step never starts; during the second Spark already starts its process, and it is a run of Spark's.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol

from penstock.core.model.actions import StartTask
from penstock.core.model.tasks import TaskEnded, TaskEvent, TaskFailed, TaskId
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.trace import trace
from penstock.worker.specs import Outline
from penstock.worker.threads import ConnectorThreads

log = logging.getLogger(__name__)

THREADS = 4
"""For the preparation of one connector's tasks: one that hangs delays no task of another connector."""


class Hosts(Protocol):
    """Where tasks run: ``spark.hosted.HostedTasks``."""

    def run(self, spec: TaskSpec, complete: Future[TaskSpec]) -> None: ...
    def pause(self, id: TaskId) -> None: ...
    def resume(self, id: TaskId) -> None: ...
    def stop(self, id: TaskId) -> None: ...
    def reset_topics(self, id: TaskId) -> None: ...


class TaskLauncher:
    """Methods are called by the worker's loop and return at once."""

    def __init__(
        self,
        hosts: Hosts,
        outline: Callable[[StartTask], Outline],
        complete: Callable[[Outline], TaskSpec],
        deliver: Callable[[TaskEvent], None],
    ) -> None:
        """See ``specs.Specs`` for the two steps."""
        self._hosts, self._outline, self._complete, self._deliver = hosts, outline, complete, deliver
        self._threads = ConnectorThreads(THREADS)
        self._preparing: dict[TaskId, _Start] = {}
        self._lock = threading.Lock()

    def start(self, action: StartTask) -> None:
        with self._lock:
            start = self._preparing[action.id] = _Start(action)
        self._threads.submit(action.id.connector, lambda: self._prepare(start))

    def _prepare(self, start: _Start) -> None:
        action = start.action
        if not self._is_wanted(start):
            return
        try:
            outline = self._outline(action)
        except BaseException as error:
            with self._lock:
                wanted = self._preparing.get(action.id) is start
                if wanted:
                    del self._preparing[action.id]
            if wanted:
                log.error("Task %s could not be started", action.id, exc_info=error)
                self._deliver(TaskFailed(action.id, action.run, trace(error)))
                self._deliver(TaskEnded(action.id, action.run))
            return
        with self._lock:
            if self._preparing.get(action.id) is not start:
                return
            del self._preparing[action.id]
            if start.topics_reset:
                outline = replace(outline, spec=replace(outline.spec, known_topics=()))
            complete = self._threads.submit(action.id.connector, lambda: self._complete(outline))
            self._hosts.run(outline.spec, complete)
        if start.paused is not None and start.paused != outline.spec.paused:
            (self._hosts.pause if start.paused else self._hosts.resume)(action.id)

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
            self._deliver(TaskEnded(id, start.action.run))

    def reset_topics(self, id: TaskId) -> None:
        with self._lock:
            start = self._preparing.get(id)
            if start is not None:
                start.topics_reset = True
                return
        self._hosts.reset_topics(id)


class _Start:
    """A start under way, and what was requested of the task meanwhile."""

    def __init__(self, action: StartTask) -> None:
        self.action = action
        self.paused: bool | None = None
        self.topics_reset = False

"""Objects that all parts of one run of a task share, and the one call of a task's ``stop``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from penstock.core.model.tasks import TaskId
from penstock.pipeline.errors import ErrorHandler
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec, seconds_of
from penstock.pipeline.telemetry.plugin_calls import PluginCalls

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskRuntime:
    """Identity of a run's task, its control, its host, its metrics, and the handling of records that fail."""

    id: TaskId
    control: TaskControl
    host: TaskHost
    metrics: Metrics
    errors: ErrorHandler


@dataclass(frozen=True, slots=True)
class CommitTiming:
    """``offset.flush.interval.ms`` and ``offset.flush.timeout.ms``, in seconds."""

    interval: float
    timeout: float
    to_the_end: bool = False
    """The last commit of a task that has not failed waits until all records have arrived, however long that takes."""

    @classmethod
    def of(cls, spec: TaskSpec) -> Self:
        return cls(
            seconds_of(spec, "offset.flush.interval.ms", "60000"), seconds_of(spec, "offset.flush.timeout.ms", "5000")
        )


STOP_SECONDS = 5.0
"""The longest wait for ``stop`` of a task on another thread; Java's tasks have as long to end, by default."""


@dataclass(slots=True)
class StopOnce:
    """Calls ``stop`` of a task once, from the host's thread or at the end of the loop, whichever comes first.

    The other one waits until it has returned, at most ``STOP_SECONDS``: what the task uses is closed afterwards.
    """

    stop: Callable[[], None]
    calls: PluginCalls
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: bool = False
    returned: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        with self.lock:
            first, self.done = not self.done, True
        if not first:
            self.returned.wait(STOP_SECONDS)
            return
        try:
            with self.calls.entered("stop"):
                self.stop()
        except BaseException:  # SystemExit, too
            log.warning("Could not stop task", exc_info=True)
        finally:
            self.returned.set()

"""Hosted tasks: their ids and their events.

A task is run again and again in its life, on this worker or another; each time is a *run*, numbered by the worker
that starts it. Events carry the run, so that a late event of an earlier run is recognized and ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.core.model.skips import Skip


class TaskId(NamedTuple):
    """Java's ConnectorTaskId."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """Base of the events of one run of a task."""

    id: TaskId
    run: int


@dataclass(frozen=True, slots=True)
class TaskWaiting(TaskEvent):
    """The task cannot start yet.

    ``reason`` is a sentence for its status (Spark is starting, no slot is free). May be repeated.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class TaskRunning(TaskEvent):
    """The task has started or resumed and is running.

    ``degraded_reason`` is a sentence for its status while it retries; the event is repeated, without one, afterwards.
    """

    degraded_reason: str | None = None


@dataclass(frozen=True, slots=True)
class TaskStalled(TaskEvent):
    """A method of its plugin has not returned for ``penstock.task.stalled.after.ms``.

    ``reason`` is a sentence for its status with the top of its stack; None when the method has returned after all.
    """

    reason: str | None


@dataclass(frozen=True, slots=True)
class TaskPaused(TaskEvent):
    """The task has started paused, or has been paused."""


@dataclass(frozen=True, slots=True)
class TaskFailed(TaskEvent):
    """The task has failed permanently; ``trace`` has the cause, down to the root cause. ``TaskEnded`` follows."""

    trace: str


@dataclass(frozen=True, slots=True)
class TaskLost(TaskEvent):
    """The task has lost its process, Spark, an executor, the contact with its worker or its right to write, as
    ``reason`` says. ``TaskEnded`` follows, and then it is started again (``core.status.losses``).
    """

    reason: str
    died: bool = False
    """Whether its process ended by itself, while Spark, the worker and the contact between them were intact."""


@dataclass(frozen=True, slots=True)
class TopicSeen(TaskEvent):
    """The task used this topic for the first time since its start or since the last reset (KIP-558)."""

    topic: str


@dataclass(frozen=True, slots=True)
class SkipOver(TaskEvent):
    """The connector has committed offsets beyond records that it left out, or their topic is another one now."""

    skip: Skip


class ReportedOffset(NamedTuple):
    """Source partition and source offset, which deletes the stored one if it is null, with the identity of its origin
    if there is one (``penstock.api.origin``).
    """

    partition: dict[str, Any] | None
    offset: dict[str, Any] | None
    identity: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OffsetsReported(TaskEvent):
    """Source offsets for the worker to store (standalone mode)."""

    offsets: tuple[ReportedOffset, ...]


@dataclass(frozen=True, slots=True)
class TaskMetrics(TaskEvent):
    """Counters and gauges of the run so far, by Java's names (``source-record-poll-total``, ...); ours begin with
    ``penstock-``, and some of them are texts or lists of objects.
    """

    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskEnded(TaskEvent):
    """Nothing of this run is running any more, anywhere: only now may another run of the task start."""


TaskChange = (
    TaskWaiting | TaskRunning | TaskStalled | TaskPaused | TaskFailed | TaskLost | TopicSeen | SkipOver | TaskEnded
)
"""Events of tasks that the herder handles."""

TaskReport = OffsetsReported | TaskMetrics
"""Events of tasks that the worker's loop hands to other parts of the worker."""


@dataclass(frozen=True, slots=True)
class SparkReady:
    """Spark has started; tasks that waited for it are being started."""

    slots: int
    queries: bool = False
    """Whether this is the application for queries, rather than that for hosted tasks."""
    unfit: tuple[str, ...] = ()
    """Sentences that name what some of its executors lack."""


@dataclass(frozen=True, slots=True)
class SparkFigures:
    """Figures about Spark's JVM, sent at intervals; for metrics only."""

    values: Mapping[str, Any]
    """``memory`` by area, ``threads``, ``collections`` by collector: their number and seconds."""
    queries: bool = False
    """See ``SparkReady``."""


@dataclass(frozen=True, slots=True)
class SparkDied:
    """Spark's driver has ended unexpectedly. ``TaskLost`` follows for its tasks; it is being started again."""

    reason: str
    queries: bool = False
    """See ``SparkReady``."""

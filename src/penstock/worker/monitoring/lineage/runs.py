"""The runs of tasks as OpenLineage sees them: each begins and ends once, with what is known of it by then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.core.model.events import ConfigRead, LoopEvent
from penstock.core.model.tasks import (
    TaskEnded,
    TaskEvent,
    TaskFailed,
    TaskId,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
    TopicSeen,
)
from penstock.pipeline.telemetry.topic_schemas import REPORTED
from penstock.worker.monitoring.lineage.datasets import named_topics

START, RUNNING, COMPLETE, FAIL, ABORT = "START", "RUNNING", "COMPLETE", "FAIL", "ABORT"
Fields = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LineageConnector:
    """``kind`` is ``source`` or ``sink``; references of the configuration are not resolved."""

    kind: str
    class_name: str
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunChange:
    """Change of a task's run, the content of an OpenLineage event."""

    type: str
    id: TaskId
    run: int
    began: float
    """Time of the run's first event; with ``id`` and ``run`` it identifies the run."""
    at: float
    connector: LineageConnector
    topics: Mapping[str, Fields]
    """Topics, with the fields of their values where these are known."""
    error: str | None = None
    """Trace of the failure, or reason of the loss."""


@dataclass(slots=True)
class _Run:
    number: int
    began: float
    connector: LineageConnector
    topics: dict[str, Fields] = field(default_factory=dict)


class LineageRuns:
    """Runs of this worker's tasks. Used by the worker's loop only."""

    def __init__(self, connector: Callable[[str], LineageConnector | None], clock: Callable[[], float]) -> None:
        """``connector``: None for one that is not known any more."""
        self._connector, self._clock = connector, clock
        self._open: dict[TaskId, _Run] = {}
        self._over: dict[TaskId, int] = {}
        """The last run that has ended, of tasks of connectors that are known."""

    def changes(self, event: LoopEvent) -> list[RunChange]:
        if isinstance(event, ConfigRead) and (deleted := event.deleted()):
            self._over = {id: run for id, run in self._over.items() if id.connector not in deleted}
        if not isinstance(event, TaskEvent) or event.run <= self._over.get(event.id, -1):
            return []
        match event:
            case TaskRunning() | TaskPaused():
                return self._begun(event)
            case TopicSeen(topic=topic):
                return self._used(event, {topic: []})
            case TaskMetrics(values=values) if REPORTED in values:
                return self._used(event, {each["topic"]: each["fields"] for each in values[REPORTED]})
            case TaskFailed(trace=trace):
                return [*self._begun(event), *self._ended(event, FAIL, trace)]
            case TaskLost(reason=reason):
                return self._ended(event, ABORT, reason)
            case TaskEnded():
                return self._ended(event, COMPLETE)
        return []

    def abandoned(self) -> list[RunChange]:
        """Return the changes of runs whose end was not observed. Called when the worker ends."""
        return [
            change for id, run in list(self._open.items()) for change in self._ended(TaskEvent(id, run.number), ABORT)
        ]

    def _begun(self, event: TaskEvent) -> list[RunChange]:
        run = self._open.get(event.id)
        if run is not None and run.number == event.run:
            return []
        connector = self._connector(event.id.connector)
        if connector is None:
            return []
        topics: dict[str, Fields] = {}
        if connector.kind == "sink":
            topics = {topic: [] for topic in named_topics(connector.config)}
        run = self._open[event.id] = _Run(event.run, self._clock(), connector, topics)
        return [self._change(event.id, run, START)]

    def _used(self, event: TaskEvent, topics: dict[str, Fields]) -> list[RunChange]:
        begun = self._begun(event)
        run = self._open.get(event.id)
        if run is None:
            return []
        new = {
            name: each for name, each in topics.items() if name not in run.topics or (each and each != run.topics[name])
        }
        run.topics |= new
        return [*begun, self._change(event.id, run, RUNNING)] if new else begun

    def _ended(self, event: TaskEvent, type: str, error: str | None = None) -> list[RunChange]:
        if self._connector(event.id.connector) is not None:
            self._over[event.id] = event.run
        run = self._open.pop(event.id, None)
        return [] if run is None else [self._change(event.id, run, type, error)]

    def _change(self, id: TaskId, run: _Run, type: str, error: str | None = None) -> RunChange:
        return RunChange(type, id, run.number, run.began, self._clock(), run.connector, dict(run.topics), error)

"""Tasks with an environment of their own, as the pipeline's loops know tasks; the plugin's is in a child process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar, assert_never

from penstock.api.batch import Batch
from penstock.api.sink import OffsetAndMetadata, SinkTask, TopicPartition
from penstock.api.source import SourceProgress, SourceTask
from penstock.api.topic_settings import TopicSettings
from penstock.hosts.errors import HostLost
from penstock.hosts.python.environment import here
from penstock.hosts.python.limits import NO_LIMITS, PluginLimits
from penstock.hosts.python.messages import (
    AddPluginMetric,
    CallPluginSink,
    CallPluginSource,
    CreatePluginSink,
    CreatePluginSource,
    MetricMessage,
    PausePluginPartitions,
    PollPlugin,
    PreCommitPlugin,
    ReadAssignment,
    ReadMetricTags,
    ReadPluginOffsets,
    RemovePluginMetric,
    ReportErrantRecord,
    RequestOffsetCommit,
    ResumePluginPartitions,
    RewindOffsets,
    SetPutTimeout,
    SinkCallback,
    StartPluginSink,
    StartPluginSource,
)
from penstock.hosts.python.metrics import ForeignMetrics
from penstock.hosts.python.process import PluginProcess, for_task
from penstock.hosts.python.wire import rebuilt, whole

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """The place of a task's class: the environment, and the connector in it that names the class."""

    folder: Path
    target: str
    name: str = "the task"
    limits: PluginLimits = NO_LIMITS


def task_class(base: type[T], place: TaskPlace, java_name: str) -> type[T]:
    """Return the class of a plugin's tasks, which is imported by the name of its base and placed by ``in_place``."""
    names = {"__module__": base.__module__, "__qualname__": base.__qualname__, "java_name": java_name, "place": place}
    return type(base.__name__, (base,), names)


def in_place(task: Any, environment: Mapping[str, str], name: str, limits: PluginLimits) -> Any:
    """Return the class of a task that is to run here; ``environment`` is what ``place_of`` returned."""
    place = TaskPlace(here(Path(environment["folder"])), environment["target"], name, limits)
    return task_class(task, place, environment["class"])


def place_of(task: Any) -> dict[str, str] | None:
    """Return the place of a task's class as plain values, or None for a class of the worker's own environment."""
    if not issubclass(task, EnvironmentSourceTask | EnvironmentSinkTask):
        return None
    return {"folder": str(task.place.folder), "target": task.place.target, "class": task.java_name}


def _stop(process: PluginProcess, message: CallPluginSource | CallPluginSink, lane: str) -> None:
    """Stop the plugin's task. A process that ends meanwhile has stopped as well: why the task ends is known already."""
    try:
        if not process.gone:
            process.call(message, lane=lane)
    except HostLost as lost:
        log.warning("The task's stop() has not returned: %s", lost)


class EnvironmentSourceTask(SourceTask):
    """A source task in a process. Making one makes the plugin's task; the class overrides what the plugin's does."""

    place: ClassVar[TaskPlace]
    java_name: ClassVar[str]
    _process: PluginProcess

    def __new__(cls) -> EnvironmentSourceTask:
        process = for_task(PluginProcess(cls.place.folder, cls.place.name, cls.place.limits, with_parent=True))
        metrics = ForeignMetrics("source", lambda: made.context.plugin_metrics, process.call)

        def answer(message: ReadPluginOffsets | MetricMessage, args: tuple[Any, ...]) -> Any:
            match message:
                case ReadPluginOffsets():
                    return made.context.offset_reader.offsets(*args)
                case ReadMetricTags() | AddPluginMetric() | RemovePluginMetric():
                    return metrics.answer(message)
                case _:
                    assert_never(message)

        process.answer_with(answer)
        overridden = process.call(CreatePluginSource(cls.place.target))
        own = {name: _OVERRIDES[name] for name in overridden if name in _OVERRIDES}
        if "commit_record" in overridden:
            own["commit_records"] = _OVERRIDES["commit_records"]
        made: EnvironmentSourceTask = object.__new__(type(cls.__name__, (cls,), own) if own else cls)
        made._process, made._idle = process, 0.1
        return made

    _idle: float
    _thread: int = 0
    """The thread that polls."""

    def start(self, config: Mapping[str, str]) -> None:
        self._thread = threading.get_ident()
        self._process.call(StartPluginSource(dict(config), self.context.transaction is not None))

    def poll(self) -> Batch | None:
        batch: Batch | None
        self._process.check()
        batch, self._idle, asked = self._process.call(PollPlugin())
        if asked is not None:
            self._end_transactions(asked, batch)
        return batch

    def _end_transactions(self, asked: Mapping[str, Any], batch: Batch | None) -> None:
        transaction: Any = self.context.transaction
        if batch is not None and asked["ends"]:
            transaction.end_after(batch, [(row, abort) for row, abort in asked["ends"]])
        if asked["commit"]:
            transaction.commit_transaction()
        if asked["abort"]:
            transaction.abort_transaction()

    def idle(self) -> float:
        return self._idle

    def stop(self) -> None:
        """Stop the task; called by another thread than ``poll``, perhaps while the plugin's own blocks."""
        _stop(self._process, CallPluginSource("stop"), "stop")

    def lane(self) -> str:
        """Return the lane of a call that another thread may make while ``poll`` does not return."""
        return "task" if threading.get_ident() == self._thread else "commits"


def _commit(self: EnvironmentSourceTask) -> None:
    self._process.call(CallPluginSource("commit"), lane=self.lane())


def _commit_records(
    self: EnvironmentSourceTask,
    batch: Batch,
    topics: Sequence[str],
    partitions: Sequence[int],
    offsets: Sequence[int],
) -> None:
    args = whole(batch), list(topics), list(partitions), list(offsets)
    self._process.call(CallPluginSource("commit_records"), *args, lane=self.lane())


def _progress(self: EnvironmentSourceTask) -> Sequence[SourceProgress]:
    return tuple(self._process.call(CallPluginSource("progress")))


def _seconds_behind(self: EnvironmentSourceTask) -> float | None:
    found = self._process.call(CallPluginSource("seconds_behind"))
    return None if found is None else float(found)


def _settings_for_new_topic(self: EnvironmentSourceTask, settings: TopicSettings) -> TopicSettings | None:
    found: TopicSettings | None = self._process.call(CallPluginSource("settings_for_new_topic"), settings)
    return found


_OVERRIDES: dict[str, Callable[..., Any]] = {
    "commit": _commit,
    "commit_records": _commit_records,
    "progress": _progress,
    "seconds_behind": _seconds_behind,
    "settings_for_new_topic": _settings_for_new_topic,
}


class EnvironmentSinkTask(SinkTask):
    """A sink task in a process. Making one makes the plugin's task."""

    place: ClassVar[TaskPlace]
    java_name: ClassVar[str]

    def __init__(self) -> None:
        self._process = for_task(
            PluginProcess(self.place.folder, self.place.name, self.place.limits, self._answer, True)
        )
        self._metrics = ForeignMetrics("sink", lambda: self.context.plugin_metrics, self._process.call)
        self._process.call(CreatePluginSink(self.place.target))

    def _answer(self, message: SinkCallback | MetricMessage, args: tuple[Any, ...]) -> Any:
        context = self.context
        match message:
            case ReadAssignment():
                return list(context.assignment)
            case RewindOffsets():
                context.offset(*args)
            case SetPutTimeout():
                context.timeout(*args)
            case PausePluginPartitions():
                context.pause(*args)
            case ResumePluginPartitions():
                context.resume(*args)
            case RequestOffsetCommit():
                context.request_commit()
            case ReportErrantRecord():
                self._report(*args)
            case ReadMetricTags() | AddPluginMetric() | RemovePluginMetric():
                return self._metrics.answer(message)
            case _:
                assert_never(message)
        return None

    def _report(self, batch: Batch, error: Mapping[str, Any]) -> None:
        reporter = self.context.errant_record_reporter
        assert reporter is not None
        reporter.report(batch.row(0), rebuilt(error))  # type: ignore[arg-type]

    def start(self, config: Mapping[str, str]) -> None:
        self._process.call(StartPluginSink(dict(config), self.context.errant_record_reporter is not None))

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._process.call(CallPluginSink("open"), list(partitions))

    def put_batch(self, batch: Batch) -> None:
        self._process.check()
        self._process.call(CallPluginSink("put_batch"), whole(batch))

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        agreed: Any = self._process.call(PreCommitPlugin(), dict(offsets))
        found: Mapping[TopicPartition, int] = agreed  # if it is no mapping, the loop reports that
        if isinstance(agreed, list):
            found = {
                TopicPartition(topic, partition): OffsetAndMetadata(offset, *kept) if kept else offset
                for topic, partition, offset, *kept in agreed
            }
        return found

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._process.call(CallPluginSink("close"), list(partitions))

    def stop(self) -> None:
        _stop(self._process, CallPluginSink("stop"), "task")

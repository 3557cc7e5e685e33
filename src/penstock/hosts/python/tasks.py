"""Tasks with an environment of their own, as the pipeline's loops know tasks: the plugin's is in a child process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from penstock.api.batch import Batch
from penstock.api.sink import OffsetAndMetadata, SinkTask, TopicPartition
from penstock.api.source import SourceProgress, SourceTask
from penstock.api.topic_settings import TopicSettings
from penstock.hosts.errors import HostLost
from penstock.hosts.python.limits import NO_LIMITS, Limits
from penstock.hosts.python.metrics import ForeignMetrics
from penstock.hosts.python.packed import here
from penstock.hosts.python.process import PluginProcess, for_task
from penstock.hosts.python.wire import rebuilt, whole

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task's class is: the environment, and the connector in it that names the class."""

    folder: Path
    target: str
    name: str = "the task"
    limits: Limits = NO_LIMITS


def task_class(base: type[T], place: Place, java_name: str) -> type[T]:
    """The class of a plugin's tasks; imported by the name of its base, and told its place by ``in_place``."""
    names = {"__module__": base.__module__, "__qualname__": base.__qualname__, "java_name": java_name, "place": place}
    return type(base.__name__, (base,), names)


def in_place(task: Any, environment: Mapping[str, str], name: str, limits: Limits) -> Any:
    """The class of a task that is to run here; ``environment`` is what ``place_of`` gave."""
    place = Place(here(Path(environment["folder"])), environment["target"], name, limits)
    return task_class(task, place, environment["class"])


def place_of(task: Any) -> dict[str, str] | None:
    """The place of a task's class as plain values; None for classes of the worker's own environment."""
    if not issubclass(task, EnvironmentSourceTask | EnvironmentSinkTask):
        return None
    return {"folder": str(task.place.folder), "target": task.place.target, "class": task.java_name}


def _stop(process: PluginProcess, side: str, lane: str) -> None:
    """A process that ends meanwhile has stopped, too: why the task ends is known already."""
    try:
        if not process.gone:
            process.call(f"{side}.call", "stop", lane=lane)
    except HostLost as lost:
        log.warning("The task's stop() has not returned: %s", lost)


class EnvironmentSourceTask(SourceTask):
    """Making one makes the plugin's task, and gives an object whose class overrides what the plugin's does."""

    place: ClassVar[Place]
    java_name: ClassVar[str]
    _process: PluginProcess

    def __new__(cls) -> EnvironmentSourceTask:
        process = for_task(PluginProcess(cls.place.folder, cls.place.name, cls.place.limits, with_parent=True))
        process.answer_with(
            {
                "context.offsets": lambda partitions: made.context.offset_reader.offsets(partitions),
                **ForeignMetrics("source", lambda: made.context.plugin_metrics, process.call).answers(),
            }
        )
        overridden = process.call("source.create", cls.place.target)
        own = {name: _OVERRIDES[name] for name in overridden if name in _OVERRIDES}
        if "commit_record" in overridden:
            own["commit_records"] = _OVERRIDES["commit_records"]
        made: EnvironmentSourceTask = object.__new__(type(cls.__name__, (cls,), own) if own else cls)
        made._process, made._idle = process, 0.1
        return made

    _idle: float

    def start(self, config: Mapping[str, str]) -> None:
        self._process.call("source.start", dict(config), self.context.transaction is not None)

    def poll(self) -> Batch | None:
        batch: Batch | None
        self._process.check()
        batch, self._idle, asked = self._process.call("source.poll")
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
        """From another thread than ``poll``, perhaps while the plugin's own blocks."""
        _stop(self._process, "source", "stop")


def _commit(self: EnvironmentSourceTask) -> None:
    self._process.call("source.call", "commit")


def _commit_records(
    self: EnvironmentSourceTask,
    batch: Batch,
    topics: Sequence[str],
    partitions: Sequence[int],
    offsets: Sequence[int],
) -> None:
    args = whole(batch), list(topics), list(partitions), list(offsets)
    self._process.call("source.call", "commit_records", *args)


def _progress(self: EnvironmentSourceTask) -> Sequence[SourceProgress]:
    return tuple(self._process.call("source.call", "progress"))


def _seconds_behind(self: EnvironmentSourceTask) -> float | None:
    found = self._process.call("source.call", "seconds_behind")
    return None if found is None else float(found)


def _settings_for_new_topic(self: EnvironmentSourceTask, settings: TopicSettings) -> TopicSettings | None:
    found: TopicSettings | None = self._process.call("source.call", "settings_for_new_topic", settings)
    return found


_OVERRIDES: dict[str, Callable[..., Any]] = {
    "commit": _commit,
    "commit_records": _commit_records,
    "progress": _progress,
    "seconds_behind": _seconds_behind,
    "settings_for_new_topic": _settings_for_new_topic,
}


class EnvironmentSinkTask(SinkTask):
    """Making one makes the plugin's task."""

    place: ClassVar[Place]
    java_name: ClassVar[str]

    def __init__(self) -> None:
        self._process = for_task(
            PluginProcess(self.place.folder, self.place.name, self.place.limits, self._answers(), True)
        )
        self._process.call("sink.create", self.place.target)

    def _answers(self) -> dict[str, Callable[..., Any]]:
        return {
            "context.assignment": lambda: list(self.context.assignment),
            "context.offset": lambda offsets: self.context.offset(offsets),
            "context.timeout": lambda milliseconds: self.context.timeout(milliseconds),
            "context.pause": lambda *partitions: self.context.pause(*partitions),
            "context.resume": lambda *partitions: self.context.resume(*partitions),
            "context.request_commit": lambda: self.context.request_commit(),
            "context.report": self._report,
            **ForeignMetrics("sink", lambda: self.context.plugin_metrics, self._metric).answers(),
        }

    def _metric(self, *args: Any, **options: Any) -> Any:
        return self._process.call(*args, **options)

    def _report(self, batch: Batch, error: Mapping[str, Any]) -> None:
        reporter = self.context.errant_record_reporter
        assert reporter is not None
        reporter.report(batch.row(0), rebuilt(error))  # type: ignore[arg-type]

    def start(self, config: Mapping[str, str]) -> None:
        self._process.call("sink.start", dict(config), self.context.errant_record_reporter is not None)

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._process.call("sink.call", "open", list(partitions))

    def put_batch(self, batch: Batch) -> None:
        self._process.check()
        self._process.call("sink.call", "put_batch", whole(batch))

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        agreed: Any = self._process.call("sink.pre_commit", dict(offsets))
        found: Mapping[TopicPartition, int] = agreed  # if it is none, the loop says so
        if isinstance(agreed, list):
            found = {
                TopicPartition(topic, partition): OffsetAndMetadata(offset, *kept) if kept else offset
                for topic, partition, offset, *kept in agreed
            }
        return found

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._process.call("sink.call", "close", list(partitions))

    def stop(self) -> None:
        _stop(self._process, "sink", "task")

"""Makes the ``TaskSpec`` of each start of a task, in two steps: the process is started during the second, longer one.

References to config providers are resolved here, on the worker, and nowhere written down. A source's offsets are read
up to the end of their topic, after the old generation and this task's own predecessor have been fenced (KIP-618):
offsets read before that could be out of date after one more commit of a zombie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from penstock.api.source import SourceTask
from penstock.core.model.actions import StartTask
from penstock.pipeline.task import TaskSpec
from penstock.plugins import Plugins


@dataclass(frozen=True, slots=True)
class TaskOffsets:
    """A source's committed offsets, and the topics that it writes its offsets to (see ``TaskSpec``)."""

    committed: tuple[tuple[dict[str, Any], dict[str, Any], str | None], ...]
    topic: str | None = None
    global_topic: str | None = None


class OffsetsForTasks(Protocol):
    def for_task(self, connector: str, config: Mapping[str, str]) -> TaskOffsets:
        """Read to the end; copies offsets to the connector's own topic while that is empty. May block."""


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What every ``TaskSpec`` says of its worker."""

    config: dict[str, str]
    group_id: str
    exactly_once: bool
    track_topics: bool
    plugin_path: tuple[str, ...]
    cluster_id: Callable[[], str]
    """May block."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A ``TaskSpec`` without a source's offsets."""

    spec: TaskSpec
    is_source: bool


@dataclass(frozen=True, slots=True)
class Specs:
    worker: WorkerFacts
    plugins: Plugins
    resolve: Callable[[Mapping[str, str]], dict[str, str]]
    """Replaces references to config providers. May block."""
    offsets: OffsetsForTasks
    fence: Callable[[Mapping[str, str], int], None]
    """Fences the earlier producers of this task of the connector (its configuration, with ``name``). May block."""

    def outline(self, start: StartTask) -> Outline:
        """All but a source's offsets. Called on a thread that may block. Raises whatever must make the task FAILED."""
        connector_config = self.resolve(start.connector_config)
        task_class = self.plugins.connector(connector_config)().task_class()
        is_source = issubclass(task_class, SourceTask)
        spec = TaskSpec(
            connector=start.id.connector,
            task=start.id.task,
            run=start.run,
            kind=getattr(task_class, "kind", "source" if is_source else "sink"),
            task_class=f"{task_class.__module__}:{task_class.__qualname__}",
            config=self.resolve(start.config),
            connector_config=connector_config,
            worker_config=self.worker.config,
            paused=start.paused,
            group_id=self.worker.group_id,
            exactly_once=self.worker.exactly_once and is_source,
            known_topics=start.known_topics,
            track_topics=self.worker.track_topics,
            kafka_cluster_id=self.worker.cluster_id(),
            plugin_path=self.worker.plugin_path,
        )
        return Outline(spec, is_source)

    def complete(self, outline: Outline) -> TaskSpec:
        """With its offsets, if it is a source. Called as ``outline``, after it."""
        spec = outline.spec
        if not outline.is_source:
            return spec
        if spec.exactly_once:
            self.fence({**spec.connector_config, "name": spec.connector}, spec.task)
        offsets = self.offsets.for_task(spec.connector, spec.connector_config)
        return replace(
            spec,
            offsets=offsets.committed,
            offsets_topic=offsets.topic,
            global_offsets_topic=offsets.global_topic,
        )

"""From what the herder says to what a task is told: one ``TaskSpec`` per start.

It is made in two steps, so that a process for the task can be got ready during the second, which takes its time.

References to config providers are resolved here, on the worker, and nowhere written down. A source's offsets are read
up to the end of their topic, after the old generation and this task's own predecessor have been fenced (KIP-618): what
was read before that, a zombie could still make out of date by one more commit.
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
class SourceOffsets:
    """Where a source stands, and where it is to write its offsets (see ``TaskSpec``)."""

    committed: tuple[tuple[dict[str, Any], dict[str, Any], str | None], ...]
    topic: str | None = None
    global_topic: str | None = None


class OffsetsForTasks(Protocol):
    def for_task(self, connector: str, config: Mapping[str, str]) -> SourceOffsets:
        """Read to the end; moves offsets to an own, empty topic first. May block."""


@dataclass(frozen=True, slots=True)
class Specs:
    plugins: Plugins
    resolve: Callable[[Mapping[str, str]], dict[str, str]]
    offsets: OffsetsForTasks
    worker_config: dict[str, str]
    group_id: str
    exactly_once: bool
    fence: Callable[[Mapping[str, str], int], None]
    """Shut out the producers that this task of the connector (its configuration, with ``name``) had. May block."""
    track_topics: bool
    plugin_path: tuple[str, ...]
    cluster_id: Callable[[], str]

    def outline(self, start: StartTask) -> TaskSpec:
        """All but a source's offsets. Called on a thread that may block. Raises whatever must make the task FAILED."""
        connector_config = self.resolve(start.connector_config)
        task_class = self.plugins.connector(connector_config)().task_class()
        source = issubclass(task_class, SourceTask)
        return TaskSpec(
            connector=start.id.connector,
            task=start.id.task,
            run=start.run,
            kind=getattr(task_class, "kind", "source" if source else "sink"),
            task_class=f"{task_class.__module__}:{task_class.__qualname__}",
            config=self.resolve(start.config),
            connector_config=connector_config,
            worker_config=self.worker_config,
            paused=start.paused,
            group_id=self.group_id,
            exactly_once=self.exactly_once and source,
            known_topics=start.known_topics,
            track_topics=self.track_topics,
            kafka_cluster_id=self.cluster_id(),
            plugin_path=self.plugin_path,
        )

    def complete(self, outline: TaskSpec) -> TaskSpec:
        """With its offsets, if it is a source. Called as ``outline``, after it."""
        config = outline.connector_config
        if not issubclass(self.plugins.connector(config)().task_class(), SourceTask):
            return outline
        if outline.exactly_once:
            self.fence({**config, "name": outline.connector}, outline.task)
        offsets = self.offsets.for_task(outline.connector, config)
        return replace(
            outline,
            offsets=offsets.committed,
            offsets_topic=offsets.topic,
            global_offsets_topic=offsets.global_topic,
        )

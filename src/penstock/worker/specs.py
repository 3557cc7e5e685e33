"""Makes the ``TaskSpec`` of each start of a task, and reads the offsets of a source.

References to config providers are resolved here, on the worker, and nowhere written down. A source's offsets are read
up to the end of their topic as late as possible: offsets that are read before the task's run has been confirmed, and
with exactly once (KIP-618) before its producer has fenced all older ones, could be out of date by one more commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from penstock.api.query import QueryTask
from penstock.api.source import SourceTask
from penstock.core.config.catalog import Catalog
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.model.actions import StartTask
from penstock.hosts.python.tasks import place_of
from penstock.pipeline.task import CommittedOffsets, TaskSpec
from penstock.plugins import Plugins


class OffsetsForTasks(Protocol):
    def topics(self, connector: str, config: Mapping[str, str]) -> tuple[str | None, str | None]:
        """Return the topics of a source task's offsets and of their copies: see ``TaskSpec``."""

    def for_task(self, connector: str, config: Mapping[str, str]) -> CommittedOffsets:
        """Read to the end. May block."""


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """Facts about the worker that are in every ``TaskSpec``."""

    config: dict[str, str]
    group_id: str
    exactly_once: bool
    track_topics: bool
    plugin_path: tuple[str, ...]
    cluster_id: Callable[[], str]
    """May block."""
    variables: dict[str, str]
    """See ``TaskSpec``."""
    internal_topics: Callable[[], InternalTopics] = InternalTopics
    """May block."""


@dataclass(frozen=True, slots=True)
class Specs:
    worker: WorkerFacts
    plugins: Plugins
    resolve: Callable[[Mapping[str, str]], dict[str, str]]
    """Replaces references to config providers. May block."""
    check: Callable[[Catalog, Mapping[str, str]], None]
    """Check a configuration, its references replaced. Raises ConfigError if this worker does not allow it: that of the
    connector, whose chain is made of it, and that of the task, which has what the task reads and writes.
    """
    offsets: OffsetsForTasks

    def outline(self, start: StartTask) -> TaskSpec:
        """All but a source's offsets. Called on a thread that may block.

        Raises NoAnswerError while no broker answers, and any other error that must make the task FAILED.
        """
        config, connector_config = self.resolve(start.config), self.resolve(start.connector_config)
        # Plugins may return null settings; the config topic has none either.
        config = {name: value for name, value in config.items() if value is not None}
        for each in (connector_config, {**connector_config, **config}):
            self.check(self.plugins.catalog, each)
        task_class = self.plugins.connector(connector_config)().task_class()
        is_source = issubclass(task_class, SourceTask)
        topic, global_topic = self.offsets.topics(start.id.connector, connector_config) if is_source else (None, None)
        return TaskSpec(
            connector=start.id.connector,
            task=start.id.task,
            run=start.run,
            kind="query" if issubclass(task_class, QueryTask) else "source" if is_source else "sink",
            task_class=f"{task_class.__module__}:{task_class.__qualname__}",
            config=config,
            connector_config=connector_config,
            worker_config=self.worker.config,
            variables=self.worker.variables,
            paused=start.paused,
            group_id=self.worker.group_id,
            exactly_once=self.worker.exactly_once and is_source,
            known_topics=start.known_topics,
            skips=() if is_source else start.skips,
            track_topics=self.worker.track_topics,
            kafka_cluster_id=self.worker.cluster_id(),
            internal_topics=self.worker.internal_topics(),
            plugin_path=self.worker.plugin_path,
            is_source=is_source,
            offsets_topic=topic,
            global_offsets_topic=global_topic,
            environment=place_of(task_class),
        )

    def committed(self, spec: TaskSpec) -> CommittedOffsets:
        """A source's offsets up to the end of their topic. Called on a thread that may block."""
        return self.offsets.for_task(spec.connector, spec.connector_config)

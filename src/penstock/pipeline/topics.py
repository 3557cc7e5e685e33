"""The topics that a task uses, each of which is reported to the worker once (KIP-558)."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.batch import Batch
from penstock.pipeline.errors import PipelineStage, Step
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec
from penstock.values.repeated import distinct


class TopicReporter:
    """The topics that are known to the worker; cleared when the worker resets a connector's active topics."""

    def __init__(self, spec: TaskSpec, control: TaskControl, host: TaskHost) -> None:
        self._known = set(spec.known_topics)
        self._tracking, self._control, self._host = spec.track_topics, control, host
        self._resets = control.resets

    def unknown(self, topics: Iterable[str]) -> set[str]:
        """Return those of the topics that are not known yet."""
        if not self._tracking:
            return set()
        if self._resets != self._control.resets:
            self._resets = self._control.resets
            self._known.clear()
        return set(topics) - self._known

    def used(self, topics: set[str]) -> None:
        """Report those of the topics that are not known."""
        for topic in sorted(self.unknown(topics)):
            self._known.add(topic)
            self._host.topic_seen(topic)

    def step(self) -> Step:
        """A step that reports the topics of a batch: for sinks, of the records that could be converted."""

        def note(batch: Batch) -> Batch:
            if unknown := self.unknown(distinct(batch.topics)):
                self.used(unknown)
            return batch

        return Step(PipelineStage.KAFKA_CONSUME, f"{__name__}.{type(self).__qualname__}", note)

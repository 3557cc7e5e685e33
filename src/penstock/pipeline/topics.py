"""Which topics a task uses: each is reported to the worker once (KIP-558)."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.api.batch import Batch
from penstock.pipeline.errors import Stage, Step
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec


class ActiveTopics:
    """What this run has reported or was told as known; forgotten whenever the worker resets the topics."""

    def __init__(self, spec: TaskSpec, control: TaskControl, host: TaskHost) -> None:
        self._known = set(spec.known_topics)
        self._tracking, self._control, self._host = spec.track_topics, control, host
        self._resets = control.resets

    def unknown(self, topics: Iterable[str]) -> set[str]:
        """Those that would be reported; given a batch's column of topics, this is cheap."""
        if not self._tracking:
            return set()
        if self._resets != self._control.resets:
            self._resets = self._control.resets
            self._known.clear()
        return set(topics) - self._known

    def used(self, topics: set[str]) -> None:
        """Report these, as far as they are unknown."""
        for topic in sorted(self.unknown(topics)):
            self._known.add(topic)
            self._host.topic_seen(topic)

    def step(self) -> Step:
        """Reports the topics of the records that come by: of a sink, those that could be converted."""

        def note(batch: Batch) -> Batch:
            if unknown := self.unknown(batch.topics):
                self.used(unknown)
            return batch

        return Step(Stage.KAFKA_CONSUME, f"{__name__}.{type(self).__qualname__}", note)

"""Figures of a source task for its health: positions in its source, and what it sends to which topics."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from penstock.api.origin import is_origin
from penstock.api.source import SourceTask
from penstock.kafka.statistics import ClientStatistics, Statistics
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.telemetry.places import Place, Places, of_source, of_topic

log = logging.getLogger(__name__)

MAX_OFFSETS = 20
"""A task with more numbers in its source offsets shows none of them: each is a time series of its own."""
TRANSACTIONS = "__transaction_state"
"""A topic that a transactional producer knows, and does not write to."""


@dataclass(slots=True)
class SourceFigures:
    """The figures of a source task, measured whenever it reports."""

    task: SourceTask
    offsets: SourceTaskOffsets
    statistics: ClientStatistics
    metrics: Metrics
    offsets_topic: str | None = None
    _places: Places = field(default_factory=Places)

    def measure(self) -> None:
        """Measure all figures; called before metrics are reported, by the thread of ``poll``."""
        producer = self.statistics.read()
        sources = self._sources()
        places = [*sources, *self._targets(producer)]
        self.metrics.say("penstock-places", self._places.described(time.monotonic(), places))
        self.metrics.say("penstock-clients", [producer.described()])
        known = [place.behind for place in sources if place.behind is not None and place.unit == "records"]
        if known:
            self.metrics.put("penstock-records-behind", sum(known))

    def _sources(self) -> list[Place]:
        """Return the positions that the task reports; an error of the plugin does not fail its task."""
        try:
            self.metrics.put("penstock-seconds-behind", _seconds(self.task.seconds_behind()))
            reported = [of_source(p.partition, _whole(p.position), _whole(p.end), p.unit) for p in self.task.progress()]
        except Exception:
            log.debug("The task could not report its progress", exc_info=True)
            reported = []
        return reported or self._few_positions()

    def _few_positions(self) -> list[Place]:
        found = list(islice(self._positions(), MAX_OFFSETS + 1))
        return found if len(found) <= MAX_OFFSETS else []

    def _positions(self) -> Iterator[Place]:
        """Yield the numbers in the source offsets of a task that reports no positions; their names are the units."""
        for partition, offset in self.offsets.latest():
            for name, value in ({} if is_origin(partition) else offset or {}).items():
                if isinstance(value, int) and not isinstance(value, bool):
                    yield of_source(partition, value, None, name)

    def _targets(self, producer: Statistics) -> list[Place]:
        return [
            of_topic("to", topic, number, found["txmsgs"])
            for topic, number, found in producer.partitions()
            if topic not in (self.offsets_topic, TRANSACTIONS)
        ]


def _seconds(reported: float | None) -> float | None:
    """Return a number of any class as ``float``; None for one that is not known or not finite."""
    return None if reported is None or not math.isfinite(reported) else float(reported)


def _whole(reported: int | None) -> int | None:
    """Return a number of any class as ``int``; None for one that is not known."""
    return None if reported is None else int(reported)

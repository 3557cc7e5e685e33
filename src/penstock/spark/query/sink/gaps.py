"""Gaps: records that were deleted before a query has read them, by retention, by a request, or with their topic.

Spark reads on after a gap without a word (``failOnDataLoss=false``), as Java's consumers do. So the first offsets of
the partitions are looked up before each batch and after it, and every gap is named.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.api.errors import ConnectError
from penstock.pipeline.metrics import Metrics
from penstock.spark.query.sink.progress import Partition, Span
from penstock.spark.query.sink.topics import Topics

log = logging.getLogger(__name__)

SHOWN = 5
"""Maximum of gaps that the status names."""


class GapError(ConnectError):
    """Error of a query whose next records have been deleted, with ``on.data.loss=fail``."""


@dataclass(slots=True)
class Gaps:
    """The gaps that one run has met. ``fails``: a gap ends the task."""

    name: str
    metrics: Metrics
    fails: bool
    _said: list[str] = field(default_factory=list)

    def reason(self) -> str | None:
        """Return a sentence for the status that names the last gaps, or None if there were none."""
        return "; ".join(self._said[-SHOWN:]) or None

    def started(self, committed: Mapping[Partition, int], position: Mapping[Partition, int]) -> None:
        """Called when a query starts, with the committed offsets and where it starts: they differ after a gap."""
        for partition, offset in committed.items():
            start = position.get(partition, offset)
            if start > offset:
                self._gap(partition, offset, start, "were deleted before they were read")
            elif start < offset:
                where = f"{partition[0]}-{partition[1]}"
                self._say(
                    f"The committed offset {offset} of {where} is after its end: the topic has been created again, or "
                    f"its brokers have lost records; reading from offset {start}"
                )

    def renewed(self, partition: Partition, offset: int | None, start: int) -> None:
        """Called with the offset in a topic that is gone, if one is known, and where the new topic is read from."""
        where = f"{partition[0]}-{partition[1]}"
        lost = "" if offset is None else f", and records of the old one from offset {offset} on may be lost"
        self._say(f"The topic of {where} was deleted and created again: it is read from offset {start}{lost}")

    def before(self, topics: Topics, span: Span) -> Mapping[Partition, int]:
        """Called before a batch is read; return the offsets from which on its records are there."""
        firsts = self._firsts(topics, span)
        found = {p: max(start, min(firsts.get(p, start), span.end[p])) for p, start in span.start.items()}
        for partition, first in found.items():
            if first > span.start[partition]:
                self._gap(partition, span.start[partition], first, "were deleted before they were read")
        return found

    def after(self, topics: Topics, span: Span, there: Mapping[Partition, int]) -> None:
        """Called when a batch has been read, with the result of ``before``."""
        firsts = self._firsts(topics, span)
        for partition, start in there.items():
            first = min(firsts.get(partition, start), span.end[partition])
            if first > start:
                self._gap(partition, start, first, "were deleted while their batch was read; some may be missing")

    def _firsts(self, topics: Topics, span: Span) -> Mapping[Partition, int]:
        try:
            return topics.firsts(list(span.start))
        except ConnectError as error:
            if self.fails:
                raise
            log.warning("Whether records of %s were deleted is not known: %s", self.name, error)
            return {}

    def _gap(self, partition: Partition, start: int, end: int, what: str) -> None:
        self._say(f"Offsets {start} to {end - 1} of {partition[0]}-{partition[1]} {what}", end - start)

    def _say(self, sentence: str, offsets: int = 0) -> None:
        """Name a gap, once: a batch that is written again meets it again."""
        if sentence in self._said:
            return
        self.metrics.add("penstock-gaps-total")
        self.metrics.add("penstock-gap-offsets-total", offsets)
        error = GapError(sentence)
        if self.fails:
            raise GapError(
                f"{sentence}. Set on.data.loss=continue to go on without them, or alter the offsets of the connector"
            )
        log.warning("%s: %s; the task continues without them (on.data.loss=continue)", self.name, sentence)
        self._said.append(sentence)
        self.metrics.survived(error)

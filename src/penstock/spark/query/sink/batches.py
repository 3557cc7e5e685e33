"""The batches of one sink task: where the next one begins, and each of them between two commits of its offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskControl
from penstock.pipeline.telemetry.places import Places, of_topic
from penstock.pipeline.topics import TopicReporter
from penstock.spark.query.progress_report import shares
from penstock.spark.query.sink.gaps import Gaps
from penstock.spark.query.sink.offsets import QueryOffsets
from penstock.spark.query.sink.progress import GroupProgress, Partition, Span, new_epoch, root_of
from penstock.spark.query.sink.topics import KafkaReader, Topics
from penstock.spark.query.sink.totals import BatchTotals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)


class Pace(Protocol):
    """How often a batch is written (``interval``, in seconds), and how many records it has at most (``most``)."""

    @property
    def interval(self) -> float: ...

    @property
    def most(self) -> int: ...


class SinkWriter(Protocol):
    """Writer of the batches of one run."""

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """Return the last batch that the target knows, see ``SinkTarget.later``."""

    def write(self, records: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> BatchTotals:
        """Write a batch of Kafka's records and return the totals; ``confirm`` as for ``SinkTarget.add``.

        Raises PipelineError, NotWrittenError, and errors for rows that can never be written.
        """


@dataclass(frozen=True, slots=True)
class QueryInput:
    """The topics of a sink, and the position of its connector in them."""

    topics: Topics
    group: QueryOffsets
    reader: KafkaReader
    max_age: float
    """Seconds after which the partitions are looked up again."""
    pace: Pace


@dataclass(frozen=True, slots=True)
class QueryReport:
    """The receivers of a query's reports."""

    metrics: Metrics
    topics: TopicReporter
    claimed: Callable[[], None]
    """Called when the transactional id has been claimed, or can't be used."""
    entered: Callable[[], None]
    """Called before each batch, in the thread that writes it."""
    written: Callable[[], None]
    """Called after each batch, in that thread."""
    gaps: Gaps


class Batches:
    """The batches of a task, one after the other.

    The task's thread calls ``resume``, before each query, and ``measure``, at any time. ``write`` is called by it or
    by Spark's thread.
    """

    def __init__(
        self, name: str, source: QueryInput, writer: SinkWriter, control: TaskControl, report: QueryReport
    ) -> None:
        self._name, self._input, self._writer = name, source, writer
        self._control, self._report = control, report
        self.position: Mapping[Partition, int] = {}
        """Where the next batch starts. Replaced, never changed: ``measure`` reads it while a batch is written."""
        self._version: BatchVersion | None = None
        """Of the last batch that was written."""
        self._latest = 0.0
        """The latest timestamp of a record that was read."""
        self._places = Places()

    def resume(self, partitions: list[Partition]) -> None:
        """Find where to continue, and write the last batch again if it was not finished.

        Raises ConnectError if the group and the target contradict each other, and as ``write``, ``QueryOffsets.read``
        and ``Topics.starts``.
        """
        progress = self._progress(partitions)
        if progress.unfinished is not None:
            self._report.entered()
            log.info("The last batch of %s was not finished; writing it again", self._name)
            self._version = progress.version
            self.write(self._input.reader.batch(progress.unfinished), progress.unfinished)
            progress = self._progress(partitions)
        self._version = progress.version
        # A partition without a committed offset goes on where this run has begun, as a consumer does.
        known = {**self.position, **self._input.group.offsets}
        self.position = self._input.topics.starts(partitions, known)
        self._report.gaps.started(known, self.position)

    def _progress(self, partitions: list[Partition]) -> GroupProgress:
        """Where to continue, by the group and by what the target knows."""
        progress = self._input.group.read(partitions)
        if not progress.offsets and self._version is not None:
            # Brokers delete the offsets of topics that are deleted; what this run has written is known without them.
            return GroupProgress(self._version, {})
        later = self._writer.later(progress.version.next())
        if later is None:
            return progress
        if later.epoch == progress.version.epoch:
            raise ConnectError(
                f"The target has batch {later.number} of epoch {later.epoch}, but the offsets of the connector's group "
                f"are those of batch {progress.version.number}: they have been set back. Stop the connector and alter "
                "or reset its offsets, to begin a new epoch"
            )
        root = self._input.group.root
        if not progress.offsets and (not root or root == root_of(later.epoch)):
            raise ConnectError(
                f"The target has batch {later.number} of this connector, but its group has no offsets: they have "
                "expired, or have been deleted otherwise than by REST. Starting again could write all records a second "
                "time. Stop the connector, and alter its offsets to where it is to continue, or reset them to begin "
                "again as auto.offset.reset says (PATCH or DELETE /connectors/<name>/offsets)"
            )
        # The group was reset, or altered in all partitions: the numbers continue those that the target knows.
        return GroupProgress(new_epoch(later.number, root), progress.offsets)

    def write(self, records: DataFrame, span: Span) -> None:
        """Write the next batch and commit its offsets; the one after it starts at its end.

        Raises as ``SinkWriter.write`` and ``QueryOffsets``.
        """
        assert self._version is not None
        traces = self._report.metrics.traces
        traces.begin()
        try:
            self._write_and_commit(records, span, self._version.next())
        except BaseException as error:
            traces.end(error)
            raise
        traces.end()
        self._report.metrics.add("offset-commit-completion-total")
        self._report.written()

    def _write_and_commit(self, records: DataFrame, span: Span, version: BatchVersion) -> None:
        group, metrics, calls = self._input.group, self._report.metrics, self._control.calls

        def confirm() -> None:
            with calls.left():
                group.begin(version, span)

        started = time.monotonic()
        gaps, topics = self._report.gaps, self._input.topics
        there = gaps.before(topics, span)
        group.begin(version, span)
        begun = time.monotonic()
        with calls.entered("a batch of the query"):
            totals = self._writer.write(records, version, confirm)
        written = time.monotonic()
        gaps.after(topics, span, there)
        metrics.traces.read(list(totals.traceparents))
        metrics.traces.stage("write", written - begun)
        self._count(totals, written - begun)
        group.done(version, span)
        done = time.monotonic()
        metrics.traces.committed(done - written, success=True)
        metrics.spent("commit", begun - started + done - written)
        self._version, self.position = version, {**self.position, **span.end}

    def _count(self, totals: BatchTotals, seconds: float) -> None:
        metrics = self._report.metrics
        for stage, spent in shares(totals.stages, totals.busy, seconds).items():
            metrics.spent(stage, spent)
        for name, count in totals.counts.items():
            metrics.add(name, count)
        for name, time_ms in totals.times.items():
            metrics.put(name, time_ms)
        for name, text in totals.texts.items():
            metrics.say(name, text)
        metrics.observe("put-batch", seconds * 1000, "-time-ms")
        self._latest = max(self._latest, totals.latest)
        self._report.topics.used(totals.topics)

    def measure(self) -> None:
        """Set the gauges of the distance to the ends of the partitions, as hosted sinks have them."""
        position = self.position
        ends = self._input.topics.ends(position)
        if len(ends) < len(position):
            return
        metrics = self._report.metrics
        places = [of_topic("from", *partition, offset, ends[partition]) for partition, offset in position.items()]
        behind = sum(place.behind or 0 for place in places)
        metrics.say("penstock-places", self._places.described(time.monotonic(), places))
        metrics.put("penstock-records-behind", behind)
        if not behind:
            metrics.put("penstock-seconds-behind", 0.0)
        elif self._latest:
            metrics.put("penstock-seconds-behind", max(time.time() - self._latest / 1000, 0.0))

"""The batches of one sink task: where the next one begins, and each of them between two commits of its offsets."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.query import BatchVersion, OffsetKeeper, OffsetRecorder
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskControl
from penstock.pipeline.telemetry.places import Places, of_topic
from penstock.pipeline.topics import TopicReporter
from penstock.spark.query.progress_report import shares
from penstock.spark.query.sink.gaps import Gaps
from penstock.spark.query.sink.offsets import QueryOffsets
from penstock.spark.query.sink.progress import GroupProgress, Partition, Span, new_epoch, root_of
from penstock.spark.query.sink.skips import SkippedRows
from penstock.spark.query.sink.topics import KafkaReader, Topics
from penstock.spark.query.sink.totals import BatchTotals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

WATCH_SECONDS = 3.0
"""Interval of looks at the IDs of the topics while a batch is written."""


class TopicRenewedError(RetriableError):
    """Error of a batch of whose topics some were deleted, and perhaps created again; the query starts again."""

    def __init__(self, topics: Collection[str]) -> None:
        super().__init__(
            f"Topics were deleted or created again since their records were to be read: {', '.join(sorted(topics))}"
        )


class Pace(Protocol):
    """Time between batches (``interval``, in seconds), and maximum number of their records (``most``)."""

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
    check_brokers: Callable[[], None] = lambda: None
    """Called often, by the task's thread; raises TaskFencedError if only another run can reach the brokers."""


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
    skipped: SkippedRows


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
        """Start of the next batch. Replaced, never changed: ``measure`` reads it while a batch is written."""
        self._version: BatchVersion | None = None
        """The version of the last batch that was written."""
        self._begun: BatchVersion | None = None
        """The version of the last batch that was begun, and may have been written."""
        self._topics: Mapping[str, str] = {}
        """The IDs of the topics in which ``position`` is, as far as they are known."""
        self.unwritten: Span | None = None
        """The records of the batch that the target is writing, or has failed to write."""
        self.renewed = -math.inf
        """When a topic was last found to be deleted or created again, by the monotonic clock."""
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
            self._finish(progress.version, progress.unfinished, progress.topics, {topic for topic, _ in partitions})
            progress = self._progress(partitions)
        # Of a batch that is finished, the brokers may have the offsets of topics that are gone for a moment longer.
        self._version = progress.version if progress.unfinished is None else self._version
        ids = self._input.topics.ids({topic for topic, _ in partitions})
        # A partition without a committed offset goes on where this run has begun, as a consumer does.
        known = {**self.position, **self._input.group.offsets}
        topics = {partition: self._topics.get(partition[0], "") for partition in self.position} | dict(progress.topics)
        self._raise_of({p[0] for p in partitions if ids is not None and topics.get(p) and p[0] not in ids})
        old = {p: known.pop(p) for p in partitions if p in known and _differs(topics.get(p, ""), ids, p[0])}
        self.position = self._input.topics.starts(partitions, known)
        self._topics = ids or {}
        for partition, offset in old.items():
            self._report.gaps.renewed(partition, offset, self.position[partition])
        self._report.gaps.started(known, self.position)
        self._report.skipped.committed(self.position)
        if isinstance(self._writer, OffsetKeeper) and self._version is not None:
            self._begin(self._writer, self._version)

    def _begin(self, keeper: OffsetKeeper, version: BatchVersion) -> None:
        """Fence earlier runs; where the group was altered or reset, or is behind records without rows, it counts."""
        changed = {}
        for place, stored in keeper.committed_offsets().items():
            start = self.position.get(place, stored)
            if start != stored:
                changed[place] = start
                text = "%s continues at offset %d of %s-%d, though its target has stored %d"
                # Records without rows follow the stored offset often; an offset before it was altered or reset.
                log.log(logging.INFO if start < stored else logging.DEBUG, text, self._name, start, *place, stored)
        keeper.begin(version, changed)

    def _finish(
        self, version: BatchVersion, span: Span, known: Mapping[Partition, str], assigned: Collection[str]
    ) -> None:
        """Write a batch again that was not finished, but not the records of topics that are gone: ``known`` are the IDs
        in the metadata, ``assigned`` the topics that are there now.
        """
        self._report.entered()
        log.info("The last batch of %s was not finished; writing it again", self._name)
        self._version = version
        ids = self._input.topics.ids({topic for topic, _ in span.end})
        renewed = {p for p in span.end if _differs(known.get(p, ""), ids, p[0])}
        self._raise_of({topic for topic, _ in renewed if ids is not None and topic not in ids and topic in assigned})
        left = replace(span.without({topic for topic, _ in renewed}), topics=ids or {})
        there = sorted(p for p in renewed if ids and p[0] in ids)
        starts = self._input.topics.starts(there, {})
        for partition, start in starts.items():
            self._report.gaps.renewed(partition, span.start[partition], start)
        whole = Span({**left.start, **starts}, {**left.end, **starts}, left.topics)
        if left.end:
            self.write(self._input.reader.batch(left), whole)
        else:
            self._version = version.next()
            if isinstance(self._writer, OffsetRecorder):
                self._writer.covers(whole.end, whole.topics)
                self._writer.skip(self._version)
            if starts:
                self._input.group.done(self._version, whole)

    def _progress(self, partitions: list[Partition]) -> GroupProgress:
        """Return the progress from which to continue, by the group and by the batches that the target knows."""
        progress = self._input.group.read(partitions)
        if not progress.offsets and self._version is not None:
            # Brokers delete the offsets of topics that are deleted; what this run has written is known without them.
            begun = self._begun
            return GroupProgress(begun if begun and begun.epoch == self._version.epoch else self._version, {})
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

        if not span.topics:
            span = replace(span, topics=self._topics)

        def confirm() -> None:
            with calls.left():
                self._check_topics(span)
                group.begin(version, span)

        started = time.monotonic()
        self._check_topics(span)
        gaps, topics = self._report.gaps, self._input.topics
        there = gaps.before(topics, span)
        self._begun = version
        group.begin(version, span)
        begun = time.monotonic()
        with self._watched(records, span), calls.entered("a batch of the query"):
            self.unwritten = span
            if isinstance(self._writer, OffsetRecorder):
                self._writer.covers(span.end, span.topics)
            totals = self._writer.write(self._report.skipped.without(records, span), version, confirm)
            self.unwritten = None
        written = time.monotonic()
        gone = self._gone(span)
        span = span.without(gone)
        gaps.after(topics, span, {p: there[p] for p in span.end})
        metrics.traces.read(list(totals.traceparents))
        metrics.traces.stage("write", written - begun)
        self._count(totals, written - begun)
        if span.end:
            group.done(version, span)
        done = time.monotonic()
        metrics.traces.committed(done - written, success=True)
        metrics.spent("commit", begun - started + done - written)
        self._version, self.position = version, {**self.position, **span.end}
        self._report.skipped.committed(self.position)
        self._raise_of(gone)

    def _gone(self, span: Span) -> set[str]:
        """Return the topics that are not those of the span any more."""
        ids = self._input.topics.ids(span.topics) if span.topics else None
        return {topic for topic, id in span.topics.items() if _differs(id, ids, topic)}

    def _check_topics(self, span: Span) -> None:
        """Raises TopicRenewedError."""
        self._raise_of(self._gone(span))

    def _raise_of(self, gone: Collection[str]) -> None:
        if gone:
            self.renewed = time.monotonic()
            raise TopicRenewedError(gone)

    @contextlib.contextmanager
    def _watched(self, records: DataFrame, span: Span) -> Iterator[None]:
        """Cancel the jobs of a batch when one of its topics is gone: Spark would wait for its records for minutes."""
        if not span.topics:
            yield
            return
        context, tag, ended = records.sparkSession.sparkContext, f"penstock-{uuid.uuid4().hex}", threading.Event()

        def watch() -> None:
            while not ended.wait(WATCH_SECONDS):
                if self._gone(span):
                    context.cancelJobsWithTag(tag)

        context.addJobTag(tag)
        threading.Thread(target=watch, name=f"topics-{self._name}", daemon=True).start()
        try:
            yield
        except Exception as error:
            try:
                self._check_topics(span)
            except TopicRenewedError as renewed:
                raise renewed from error
            raise
        finally:
            ended.set()
            context.removeJobTag(tag)

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


def _differs(id: str, ids: Mapping[str, str] | None, topic: str) -> bool:
    """Return whether a topic is not the one with this ID any more; False if either ID is not known."""
    return bool(id) and ids is not None and ids.get(topic) != id

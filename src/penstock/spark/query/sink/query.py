"""One sink task's queries of Spark, one after the other.

Spark calls ``_batch`` for each batch, one after the other. For a pause, a stop or a change of the partitions the query
ends between two batches; the next one starts at the offsets of the connector's group.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from penstock.api.errors import ConnectError, KafkaError, RetriableError
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskControl
from penstock.pipeline.telemetry.places import Places, of_topic
from penstock.pipeline.topics import ActiveTopics
from penstock.spark.query.catch_up import LONGEST_INTERVAL, CatchUp
from penstock.spark.query.dataframes import full_text
from penstock.spark.query.progress_report import BUSY, BatchTimes, shares
from penstock.spark.query.sink.offsets import GroupOffsets
from penstock.spark.query.sink.progress import Partition, Progress, Span, Version, new_epoch, root_of
from penstock.spark.query.sink.rows.plan import RECORD_TIME, TOPIC, TRACE
from penstock.spark.query.sink.topics import KafkaReader, Topics, from_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""How often the loop checks the query and the control."""
NO_TOPIC_SECONDS = 1.0
RENEW_SECONDS = 3600.0
"""How often the offsets are committed again; brokers keep them for days (``offsets.retention.minutes``)."""
RETRY_SECONDS = 60.0
LOCAL_FILES = "fs.AbstractFileSystem.file.impl"
"""The class by which Spark writes its checkpoint of a query: two files for each batch. Hadoop starts ``chmod`` for
each, and by default for the checksum of each as well, which scratch needs not.
"""
WITHOUT_CHECKSUMS = "org.apache.hadoop.fs.local.RawLocalFs"


class Pace(Protocol):
    """How often a batch is written, in seconds, and how many records it has at most."""

    @property
    def interval(self) -> float: ...

    @property
    def most(self) -> int: ...


class Writer(Protocol):
    """What writes the batches of one run."""

    def later(self, version: Version) -> Version | None:
        """As ``Target.later``."""

    def write(self, records: DataFrame, version: Version, confirm: Callable[[], None]) -> Mapping[str, Any]:
        """Write a batch of Kafka's records and return the totals; ``confirm`` as for ``Target.add``.

        Raises PipelineError, NotWrittenError, and errors for rows that can never be written.
        """


@dataclass(frozen=True, slots=True)
class Input:
    """The topics of a sink, and the position of its connector in them."""

    topics: Topics
    group: GroupOffsets
    reader: KafkaReader
    max_age: float
    """Seconds after which the partitions are looked up again."""
    pace: Pace


@dataclass(frozen=True, slots=True)
class Report:
    """Whom a query reports to."""

    metrics: Metrics
    topics: ActiveTopics
    claimed: Callable[[], None]
    """Called when the transactional id has been claimed, or can't be used."""
    entered: Callable[[], None]
    """Called before each batch, in the thread that writes it."""
    written: Callable[[], None]
    """Called after each batch, in that thread."""


class SinkQuery:
    """``run`` and ``measure`` are called by the task's thread; Spark's thread writes the batches."""

    def __init__(self, name: str, source: Input, writer: Writer, control: TaskControl, report: Report) -> None:
        self._name, self._input, self._writer = name, source, writer
        self._control, self._report = control, report
        self._version: Version | None = None
        """Of the last batch that was written."""
        self._position: dict[Partition, int] = {}
        """Where the next batch starts."""
        self._checkpoint = Path()
        self._latest = 0.0
        """The latest timestamp of a record that was read."""
        self._working = threading.Lock()
        """Held while a batch is written."""
        self._renewal = 0.0
        """When the offsets are to be committed again, by the monotonic clock."""
        self._ending = False
        self._failure: BaseException | None = None
        self._places = Places()
        self._times = BatchTimes(report.metrics)
        self._query: StreamingQuery | None = None

    def run(self) -> None:
        """Run one query of Spark until the task pauses or stops or its partitions change. Raises the query's error."""
        group = self._input.group
        if not group.claimed:
            group.claim()
            self._report.claimed()
        partitions = self._input.topics.partitions()
        self._report.metrics.put("partition-count", len(partitions))
        if not partitions:
            self._control.wait(NO_TOPIC_SECONDS)
            return
        progress = self._progress(partitions)
        if progress.unfinished is not None:
            self._report.entered()
            log.info("The last batch of %s was not finished; writing it again", self._name)
            self._version = progress.version
            self._write(self._input.reader.batch(progress.unfinished), progress.unfinished)
            progress = self._progress(partitions)
        self._version = progress.version
        # A partition without a committed offset goes on where this run has begun, as a consumer does.
        self._position = self._input.topics.starts(partitions, {**self._position, **group.offsets})
        if not self._catch_up():
            return
        with tempfile.TemporaryDirectory(prefix="penstock-query-", ignore_cleanup_errors=True) as checkpoint:
            query = self._start(Path(checkpoint))
            try:
                self._attend(query, partitions)
            finally:
                self._end(query)
        if self._failure is not None:
            raise self._failure

    def _catch_up(self) -> bool:
        """Write batches that are no larger than they can be written soon, until what is left is no more than one.

        False if it is time for something else: a stop, a pause, or to look up the partitions again.
        """
        pace, ahead, look = self._input.pace, CatchUp(), time.monotonic() + self._input.max_age
        while pace.interval <= LONGEST_INTERVAL and ahead.size < pace.most:
            self._report.metrics.tick(began := time.monotonic())
            end = ahead.end(self._position, self._input.topics.ends(self._position))
            if end is None:
                break
            if self._control.stopping or self._control.pausing or began >= look:
                return False
            self._report.entered()
            span = Span(self._position, end)
            self._write(self._input.reader.batch(span), span)
            self._position = end
            ahead.took(time.monotonic() - began)
        return not (self._control.stopping or self._control.pausing)

    def _progress(self, partitions: list[Partition]) -> Progress:
        """Where to continue, by the group and by what the target knows. Raises ConnectError if they contradict."""
        progress = self._input.group.read(partitions)
        if not progress.offsets and self._version is not None:
            # Brokers delete the offsets of topics that are deleted; what this run has written is known without them.
            return Progress(self._version, {})
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
        return Progress(new_epoch(later.number, root), progress.offsets)

    def renew(self) -> None:
        """Called by the task's thread, also while it is paused: commits the offsets again if it is time."""
        now = time.monotonic()
        if now < self._renewal or not self._working.acquire(blocking=False):
            return
        try:
            self._input.group.renew()
            self._renewal = now + RENEW_SECONDS
        except RetriableError as error:
            log.warning("The offsets of %s could not be committed again; retrying: %s", self._name, error)
            self._renewal = now + RETRY_SECONDS
        finally:
            self._working.release()

    def measure(self) -> None:
        """Set the gauges of the distance to the ends of the partitions, as hosted sinks have them, and count times."""
        if self._query is not None:
            self._times.count(self._query)
        position = dict(self._position)
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

    def _start(self, checkpoint: Path) -> StreamingQuery:
        self._ending, self._failure, self._checkpoint = False, None, checkpoint
        pace = self._input.pace
        self._times = BatchTimes(self._report.metrics)
        stream = self._input.reader.stream(self._position, pace.most)
        session = stream.sparkSession
        session.conf.set(LOCAL_FILES, WITHOUT_CHECKSUMS)
        try:
            self._query = (
                stream.writeStream.queryName(self._name)
                .option("checkpointLocation", checkpoint.as_uri())
                .trigger(processingTime=f"{int(pace.interval * 1000)} milliseconds")
                .foreachBatch(self._batch)
                .start()
            )
        finally:
            session.conf.unset(LOCAL_FILES)
        return self._query

    def _attend(self, query: StreamingQuery, partitions: list[Partition]) -> None:
        look = time.monotonic() + self._input.max_age
        while not (self._control.stopping or self._control.pausing):
            now = time.monotonic()
            self._report.metrics.tick(now)
            self.renew()
            if self._failure is not None:
                return
            if not query.isActive:
                if not self._ending:
                    why = full_text(query.exception() or Exception(""))
                    self._failure = ConnectError("The query has ended: " + why)
                return
            if now >= look:
                if self._input.topics.partitions() != partitions:
                    return
                look = now + self._input.max_age
            self._control.wait(LOOK_SECONDS)

    def _end(self, query: StreamingQuery) -> None:
        """End it between two batches, or, if the task is aborted, at once.

        Spark then closes its clients of brokers, which waits for brokers that are away: an aborted task does not.
        """
        self._ending = True
        while not self._working.acquire(timeout=LOOK_SECONDS):
            if self._control.aborted:
                break
        else:
            self._working.release()
        stopping = threading.Thread(target=self._stop, args=(query,), name=f"stop-{self._name}", daemon=True)
        stopping.start()
        while stopping.is_alive() and not self._control.aborted:
            stopping.join(LOOK_SECONDS)
        with self._working:  # a batch that was aborted has ended, and none begins
            pass

    def _stop(self, query: StreamingQuery) -> None:
        try:
            query.stop()
        except Exception as error:  # Spark's Java has ended
            log.debug("The query of %s could not be stopped: %r", self._name, error)

    def _batch(self, records: DataFrame, number: int) -> None:
        """Called by Spark. Never raises, since Spark would log long traces; after a failure it skips all batches."""
        with self._working:
            if self._ending:
                return
            self._report.entered()
            try:
                # The query has a copy of the session: tables are written as Hadoop writes files.
                records.sparkSession.conf.unset(LOCAL_FILES)
                end = self._end_of(number)
                span = Span({partition: self._position[partition] for partition in end}, end)
                span.check()
                self._write(records, span)
                self._position |= end
            except BaseException as error:
                self._failure = None if self._ending else error
                self._ending = True
                self._control.changed.set()

    def _write(self, records: DataFrame, span: Span) -> None:
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

    def _write_and_commit(self, records: DataFrame, span: Span, version: Version) -> None:
        group, metrics, calls = self._input.group, self._report.metrics, self._control.calls

        def confirm() -> None:
            with calls.left():
                group.begin(version, span)

        started = time.monotonic()
        group.begin(version, span)
        begun = time.monotonic()
        with calls.entered("a batch of the query"):
            totals = self._writer.write(records, version, confirm)
        written = time.monotonic()
        metrics.traces.read([name.removeprefix(TRACE) for name in totals if name.startswith(TRACE)])
        metrics.traces.stage("write", written - begun)
        self._count(totals, written - begun)
        group.done(version, span)
        done = time.monotonic()
        metrics.traces.committed(done - written, success=True)
        metrics.spent("commit", begun - started + done - written)
        self._version = version

    def _count(self, totals: Mapping[str, Any], seconds: float) -> None:
        metrics = self._report.metrics
        for stage, spent in shares(totals, seconds).items():
            metrics.spent(stage, spent)
        for name, value in totals.items():
            if name == BUSY or name.startswith(("penstock-stage-", TRACE)):
                continue
            if name == RECORD_TIME:
                self._latest = max(self._latest, value)
            elif isinstance(value, str):
                metrics.say(name, value)
            elif name.endswith("-timestamp"):
                metrics.put(name, value)
            elif not name.startswith(TOPIC):
                metrics.add(name, value)
        metrics.observe("put-batch", seconds * 1000, "-time-ms")
        self._report.topics.used({name.removeprefix(TOPIC) for name in totals if name.startswith(TOPIC)})

    def _end_of(self, number: int) -> dict[Partition, int]:
        """The end of a batch, which Spark writes into its checkpoint before the batch begins."""
        try:
            text = (self._checkpoint / "offsets" / str(number)).read_text("utf-8")
            return from_json(text.strip().splitlines()[-1])
        except (OSError, ValueError, IndexError) as error:
            raise KafkaError(f"The checkpoint of batch {number} of {self._name} can't be read") from error

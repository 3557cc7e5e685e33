"""One sink task's queries of Spark, one after the other.

Spark calls ``_batch`` for each batch, one after the other. For a pause, a stop or a change of the partitions the query
ends between two batches; the next one starts at the offsets of the connector's group.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from penstock.api.errors import ConnectError, KafkaError, RetriableError
from penstock.pipeline.task import TaskControl
from penstock.spark.query.dataframes import full_text
from penstock.spark.query.progress_report import BatchTimes
from penstock.spark.query.sink.batches import Batches, QueryInput, QueryReport, SinkWriter
from penstock.spark.query.sink.progress import Partition, Span
from penstock.spark.query.sink.topics import from_json
from penstock.spark.query.trigger_clock import TriggerClock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

log = logging.getLogger(__name__)

P = TypeVar("P")

FIRST_RECORDS = 50_000
"""Records of the first batch of a run; a query that is not further behind does not catch up."""
CATCH_UP_SECONDS = 5.0
"""Target duration of a batch while a query catches up."""
MAX_GROWTH = 4
"""Maximum factor by which a batch may have more records than the one before."""
MAX_INTERVAL = 10.0
"""Seconds between two batches up to which a query catches up; a longer interval is chosen to get few files."""
LOOK_SECONDS = 0.25
"""Interval in seconds at which the loop checks the query and the control."""
NO_TOPIC_SECONDS = 1.0
RENEWED_SECONDS = 5.0
"""Interval in seconds of looking up partitions after a topic was deleted, which may be created again soon."""
RENEW_SECONDS = 3600.0
"""Interval in seconds of committing the same offsets again; brokers keep them for days
(``offsets.retention.minutes``).
"""
RETRY_SECONDS = 60.0
LOCAL_FILES = "fs.AbstractFileSystem.file.impl"
"""The class by which Spark writes its checkpoint of a query: two files for each batch. Hadoop starts ``chmod`` for
each, and by default for the checksum of each as well, which scratch needs not.
"""
WITHOUT_CHECKSUMS = "org.apache.hadoop.fs.local.RawLocalFs"


@dataclass(slots=True)
class CatchUpSizes:
    """Batch sizes of a query that catches up; ``size`` is that of the next batch.

    A batch that is interrupted has to be written again as it was begun. One of everything that is there may take longer
    than a cluster with trouble lets a query run: then it makes no progress, however often it starts. So the first
    batches of a run are small, and those after them as large as the time that they took allows.
    """

    size: int = FIRST_RECORDS

    def took(self, seconds: float) -> None:
        """Adapt the size to how long a batch of it took."""
        self.size = max(
            FIRST_RECORDS // 10, min(self.size * MAX_GROWTH, int(self.size * CATCH_UP_SECONDS / max(seconds, 0.001)))
        )

    def end(self, start: Mapping[P, int], ends: Mapping[P, int]) -> dict[P, int] | None:
        """Return where the next batch ends: each partition has its part of it, by how far behind it is. None if all
        that is there is no more than a batch, or the end of a partition is not known.
        """
        if start.keys() - ends.keys():
            return None
        behind = {partition: max(ends[partition] - offset, 0) for partition, offset in start.items()}
        total = sum(behind.values())
        if total <= self.size:
            return None
        return {partition: start[partition] + -(-lag * self.size // total) for partition, lag in behind.items()}


class SinkQuery:
    """``run`` and ``measure`` are called by the task's thread; Spark's thread writes the batches."""

    def __init__(
        self, name: str, source: QueryInput, writer: SinkWriter, control: TaskControl, report: QueryReport
    ) -> None:
        self._name, self._input, self._control, self._report = name, source, control, report
        self._batches = Batches(name, source, writer, control, report)
        self._checkpoint = Path()
        self._working = threading.Lock()
        """Held while a batch is written."""
        self._renewal = 0.0
        """When the offsets are to be committed again, by the monotonic clock."""
        self._ending = False
        self._failure: BaseException | None = None
        self._times = BatchTimes(report.metrics)
        self._query: StreamingQuery | None = None

    @property
    def unwritten(self) -> Span | None:
        """The records of the batch that the last run could not write."""
        return self._batches.unwritten

    def run(self) -> None:
        """Run one query of Spark until the task pauses or stops or its partitions change. Raises the query's error."""
        self._batches.unwritten = None
        if not self._input.group.claimed:
            self._input.group.claim()
            self._report.claimed()
        partitions = self._input.topics.partitions()
        self._report.metrics.put("partition-count", len(partitions))
        if not partitions:
            self._control.wait(NO_TOPIC_SECONDS)
            return
        self._batches.resume(partitions)
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
        pace, ahead, look = self._input.pace, CatchUpSizes(), time.monotonic() + self._age()
        while pace.interval <= MAX_INTERVAL and ahead.size < pace.most:
            self._report.metrics.tick(began := time.monotonic())
            position = self._batches.position
            end = ahead.end(position, self._input.topics.ends(position))
            if end is None:
                break
            if self._control.stopping or self._control.pausing or began >= look:
                return False
            self._report.entered()
            span = Span(position, end)
            self._batches.write(self._input.reader.batch(span), span)
            ahead.took(time.monotonic() - began)
        return not (self._control.stopping or self._control.pausing)

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
        """Called by the task's thread before it reports: counts times, and sets the gauges of ``Batches.measure``."""
        if self._query is not None:
            self._times.count(self._query)
        self._batches.measure()

    def _start(self, checkpoint: Path) -> StreamingQuery:
        self._ending, self._failure, self._checkpoint = False, None, checkpoint
        pace = self._input.pace
        self._times = BatchTimes(self._report.metrics)
        stream = self._input.reader.stream(self._batches.position, pace.most)
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
        look, clock = time.monotonic() + self._age(), TriggerClock(self._input.pace.interval)
        while not (self._control.stopping or self._control.pausing):
            now = time.monotonic()
            if (back := clock.set_back()) > 0:
                log.warning("The time of day was set back by %.0f s; the query of %s starts again", back, self._name)
                return
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
                look = now + self._age()
            self._control.wait(LOOK_SECONDS)

    def _age(self) -> float:
        """Return the seconds after which the partitions are looked up again."""
        age = self._input.max_age
        recently = time.monotonic() < self._batches.renewed + age
        return min(age, RENEWED_SECONDS) if recently else age

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
                span = Span({partition: self._batches.position[partition] for partition in end}, end)
                span.check()
                self._batches.write(records, span)
            except BaseException as error:
                self._failure = None if self._ending else error
                self._ending = True
                self._control.changed.set()

    def _end_of(self, number: int) -> dict[Partition, int]:
        """The end of a batch, which Spark writes into its checkpoint before the batch begins."""
        try:
            text = (self._checkpoint / "offsets" / str(number)).read_text("utf-8")
            return from_json(text.strip().splitlines()[-1])
        except (OSError, ValueError, IndexError) as error:
            raise KafkaError(f"The checkpoint of batch {number} of {self._name} can't be read") from error

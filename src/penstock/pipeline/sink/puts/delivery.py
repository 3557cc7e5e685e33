"""The way of fetched records to the task: converted, transformed, put; pending until the task has taken them.

After a RetriableError of ``put`` the same records are put again; meanwhile all partitions are paused. While a put runs
in a JVM the records of the next one are fetched, and that one may be begun (``ahead``); ``end`` waits for the first.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from functools import partial

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, NotReadyError, RetriableError
from penstock.api.returned import ran
from penstock.api.sink import SinkTask, TopicPartition
from penstock.hosts.jvm.tasks.sink_task import NotConvertedError
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.offsets import SinkTaskOffsets
from penstock.pipeline.sink.partitions import pause, resume
from penstock.pipeline.sink.parts import GroupConsumer, SinkSteps
from penstock.pipeline.sink.puts.ahead import PUT_FAILED, Ahead, EndPut, JavaPuts
from penstock.pipeline.sink.puts.pending import PendingBatch
from penstock.pipeline.sink.reading import Reading

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5


@dataclass(slots=True)
class Delivery:
    runtime: TaskRuntime
    task: SinkTask
    context: SinkContext
    consumer: GroupConsumer
    steps: SinkSteps
    offsets: SinkTaskOffsets
    reading: Reading
    paused: bool = False
    """Whether the connector is paused."""
    pending: PendingBatch | None = None
    running: EndPut | None = None
    """The end of the put of the pending records, if it runs."""
    ahead: Ahead = field(default_factory=Ahead)
    next_put: float = 0.0
    taking: bool = False
    """Whether fetched records are being converted, so that they are not pending yet."""
    refused: bool = False
    """Whether the last put had no records, and the task has asked for a retry."""

    @property
    def idle(self) -> bool:
        """Whether the consumer had no more records, and all that it had are put."""
        return self.reading.drained and self.pending is None and self.ahead.records is None

    @property
    def retrying(self) -> bool:
        return self.pending is not None and self.pending.retrying

    @property
    def held(self) -> bool:
        """Whether all partitions are paused."""
        return self.paused or self.retrying

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The offset of the next record to be fetched, per partition."""
        pending = self.pending
        return self.offsets.current if pending is None else self.offsets.current | pending.offsets

    # -- records to be put

    def fetch(self, seconds: float) -> Batch | None:
        """The next records as they were read, be it while others were put. Those of paused partitions wait."""
        if self.pending is None and not self.paused and self.reading.failure is None:
            ready = self.ahead.take(self.context.paused | self.context.rewinds.keys())
            if ready is not None:
                return ready
        return self.reading.poll(seconds)

    def take(self, raw: Batch, begun: PendingBatch | None = None) -> None:
        """Make them the pending records; ``begun`` are the same if their put has begun."""
        self.runtime.metrics.traces.begin(raw.headers)
        self.runtime.metrics.traces.polled(raw)
        self.runtime.metrics.add("sink-record-read-total", len(raw))
        pending = begun or PendingBatch.of(raw, raw, self.reading.only)
        self.steps.originals.fetched(raw, pending.offsets, self.offsets.committed)
        pending.unconverted = self.steps.puts is not None and self.steps.puts.converts
        if not pending.unconverted:
            pending.records = self._converted(raw)
        self.pending = pending

    def _converted(self, raw: Batch) -> Batch:
        self.taking = True
        try:
            return self.runtime.errors.run(self.steps.steps, raw)
        finally:
            self.taking = False

    def _read_ahead(self, puts: JavaPuts) -> None:
        """Fetch the records of the next put, and begin it. What fails does so at the next turn, since a put runs."""
        if self.held or self.ahead.records is not None or self.runtime.control.stopping:
            return
        try:
            self.ahead.records = raw = self.reading.poll(0.0)
            if raw is None:
                return
            if puts.overlap and self.running is not None and not self.context.rewinds:
                self.ahead.begin(puts, self.reading.only)
            else:
                puts.prepare(raw)
        except Exception as e:
            self.reading.failed(e)

    # -- puts

    def put(self, pending: PendingBatch) -> None:
        """Put the pending records; they stay pending if the task asks for a retry."""
        if self.steps.puts is None:
            self.running = partial(self._put_batch, pending.records)
            self.end()
            return
        if self.running is None:
            self.running = self.steps.puts.begin(pending)
        try:
            self._read_ahead(self.steps.puts)
        finally:
            self.end()
        if (begun := self.ahead.take_put(runs=self.pending is None and self.steps.puts.clear)) is not None:
            raw, pending, running = begun
            self.running = running
            self.take(raw, pending)

    def put_nothing(self) -> None:
        self._put(partial(self._put_batch, Batch.of_sink_records([])), 0)

    def _put_batch(self, records: Batch) -> None:
        """What the task's method returns besides is no number of seconds."""
        ran("put_batch", self.task.put_batch(records))  # type: ignore[func-returns-value]

    def end(self) -> None:
        """Wait for the end of the put that runs, if one does, and draw the consequences."""
        end, self.running = self.running, None
        pending = self.pending
        if end is None or pending is None:
            return
        retrying = pending.retrying
        try:
            taken = self._put(end, len(pending.records), pending)
        except NotConvertedError:  # one by one, to find which
            pending.records, pending.unconverted = self._converted(pending.records), False
            taken = self._put(partial(self._put_batch, pending.records), len(pending.records), pending)
        if not taken:
            return
        self.offsets.taken(pending.offsets, pending.first_offset)
        self.pending = None
        self.runtime.metrics.traces.end()
        if retrying and not self.paused:
            self.resume_all()

    def _put(self, put: EndPut, size: int, pending: PendingBatch | None = None) -> bool:
        """Whether the task has taken so many records; if not, they are to be put again."""
        started = time.monotonic()
        self.next_put = started + 1.0
        try:
            with self.runtime.control.calls.entered("put"):
                known = put()
        except NotConvertedError:
            raise
        except RetriableError as e:
            if pending is None or not size:  # there is nothing to hold back, and another such put follows
                self._tell(e, again=self.refused)
                self.refused = True
                return True
            self._retry(pending, e)
            return False
        except Exception as e:
            raise ConnectError(PUT_FAILED) from e
        self.context.check_reported()
        self.refused = False
        if size:
            metrics = self.runtime.metrics
            metrics.add("sink-record-send-total", size)
            metrics.observe("batch-size", size)
            seconds = time.monotonic() - started if known is None else known
            metrics.observe("put-batch", seconds * 1000, "-time-ms")
            metrics.spent("put", seconds)
        return True

    def _retry(self, pending: PendingBatch, error: RetriableError) -> None:
        self._tell(error, again=pending.retrying)
        after = self.context.take_retry_after()
        pending.retry_at = time.monotonic() + (RETRY_SECONDS if after is None else after)
        if not pending.retrying:
            pending.retrying = True
            pause(self.consumer.client, self.context.assignment)

    def _tell(self, error: RetriableError, again: bool) -> None:
        """``again``: the put before has asked for a retry, too."""
        waiting = isinstance(error, NotReadyError)
        if not waiting:
            self.runtime.metrics.survived(error)
        level = logging.DEBUG if waiting or again else logging.ERROR
        log.log(level, "RetriableException from SinkTask", exc_info=error)

    # -- what the loop and rebalances do with them

    def resume_all(self) -> None:
        """Fetch again from all partitions but those that the task has paused."""
        resume(self.consumer.client, self.context.assignment - self.context.paused)

    def forget(self, partitions: set[TopicPartition]) -> None:
        """Drop pending records of these partitions, and those that were read ahead."""
        self.ahead.forget(partitions)
        if self.pending is None:
            return
        retrying, self.pending = self.pending.retrying, self.pending.without(partitions)
        if self.pending is None:
            self.runtime.metrics.traces.end()
            if retrying and not self.paused:
                self.resume_all()

    def abandon(self) -> None:
        """Called when the loop has ended: see ``Ahead.abandon``."""
        running, self.running = self.running, None
        self.ahead.abandon(running)

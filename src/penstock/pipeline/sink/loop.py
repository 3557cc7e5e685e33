"""The loop of a sink task: fetch → converters → transforms → ``put`` → ``pre_commit`` → commit, on whole batches.

Offsets are committed up to what the task has taken and its ``pre_commit`` agrees to. After a RetriableError of ``put``
the same records are put again; meanwhile all partitions are paused, and the consumer is polled to stay in its group.
Without records there is a put each second, and when the task has asked for one by ``timeout``.
While a put runs in a JVM the records of the next one are fetched, and that one may be begun (``ahead``); everything
else waits for the end of both, rebalances too.
Java: ``WorkerSinkTask``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, NotReadyError, RetriableError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.hosts.jvm.tasks.sink_task import NotConvertedError
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.sink.ahead import PUT_FAILED, Ahead, EndPut, JavaPuts
from penstock.pipeline.sink.context import Flow, SinkContext
from penstock.pipeline.sink.offsets import SinkTaskOffsets
from penstock.pipeline.sink.partitions import names, pause, positions, resume
from penstock.pipeline.sink.parts import GroupConsumer, SinkSteps
from penstock.pipeline.sink.pending import PendingBatch
from penstock.pipeline.sink.reading import Reading

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
TURN_SECONDS = 0.1
QUEUE_FLUSH_SECONDS = 30.0


@dataclass(slots=True)
class SinkLoop:
    """What the loop works with; ``run`` is the loop, the ``on_…`` methods are the consumer's callbacks from within
    ``fetch``.
    """

    runtime: TaskRuntime
    task: SinkTask
    context: SinkContext
    consumer: GroupConsumer
    steps: SinkSteps
    offsets: SinkTaskOffsets
    paused: bool = False
    """Whether the connector is paused."""
    pending: PendingBatch | None = None
    end_put: EndPut | None = None
    """Of the put of the pending records that runs."""
    ahead: Ahead = field(default_factory=Ahead)
    next_commit: float = 0.0
    next_put: float = 0.0
    taking: bool = False
    """Whether fetched records are being converted, so that they are not pending yet."""
    closed: bool = False
    reading: Reading = field(init=False)

    def __post_init__(self) -> None:
        self.reading = Reading(self.consumer, self.context, self.runtime.metrics)

    def run(self) -> None:
        control = self.runtime.control
        self.next_commit = time.monotonic() + self.offsets.timing.interval
        while not control.stopping:
            now = time.monotonic()
            self.runtime.metrics.tick(now)
            if self.end_put is not None and self._due(now):
                self._end_put()
            self.consumer.subscription.update(self.consumer.client, now, self.on_assign, self.on_revoke, self.on_lost)
            self.consumer.member.update(now)
            if self.paused != control.pausing:
                self._pause_or_resume()
            self._commit_if_due(now)
            self._apply_flow()
            self._rewind()
            if self.idle and not self.paused and self.consumer.watch.due(now):
                self.consumer.watch.look(self._waited_for(), now)
            if not self.retrying and (after := self.context.take_retry_after()):
                self.next_put = min(self.next_put, now + after)
            if self.end_put is None:
                raw = self._fetch(self._until_put(now))
                if raw is not None:
                    self._take(raw)
            if self.pending is not None:
                if time.monotonic() >= self.pending.retry_at:
                    self._deliver(self.pending)
            elif not self.paused and now >= self.next_put:
                self._put(partial(self.task.put_batch, Batch.of_sink_records([])), 0)
        self._end_put()

    def _until_put(self, now: float) -> float:
        """Seconds until something is to be put, however little is fetched; the length of a turn at most."""
        if self.pending is not None:
            return self.pending.until_retry(now, TURN_SECONDS)
        return TURN_SECONDS if self.paused else min(max(self.next_put - now, 0.0), TURN_SECONDS)

    def _due(self, now: float) -> bool:
        """Whether something is to be done that waits for the end of the put that runs."""
        return self.paused != self.runtime.control.pausing or self._commit_due(now) or bool(self.context.rewinds)

    def meanwhile(self) -> None:
        """Called while a record waits for its next attempt: what the task has taken is committed meanwhile."""
        now = time.monotonic()
        self.runtime.metrics.tick(now)
        self._commit_if_due(now)

    def _commit_if_due(self, now: float) -> None:
        if self._commit_due(now):
            self.context.take_commit_request()
            self._commit(self.context.assignment)
            self.next_commit = now + self.offsets.timing.interval

    def _commit_due(self, now: float) -> bool:
        return not self.offsets.committing and (self.context.commit_requested or now >= self.next_commit)

    @property
    def idle(self) -> bool:
        """Whether the consumer had no more records, and all that it had are put."""
        return self.reading.drained and self.pending is None and self.ahead.records is None

    @property
    def retrying(self) -> bool:
        return self.pending is not None and self.pending.retrying

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The offset of the next record to be fetched, per partition."""
        pending = self.pending
        return self.offsets.current if pending is None else self.offsets.current | pending.offsets

    def _waited_for(self) -> dict[TopicPartition, int]:
        """The partitions that are fetched, with their positions."""
        fetched = self.context.assignment - self.context.paused
        return {partition: at for partition, at in self.offsets.current.items() if partition in fetched}

    # -- records

    def _fetch(self, seconds: float) -> Batch | None:
        """The next records as they were read, be it while others were put. Those of paused partitions wait."""
        if self.pending is None and not self.paused and self.reading.failure is None:
            ready = self.ahead.take(self.context.paused | self.context.rewinds.keys())
            if ready is not None:
                return ready
        return self.reading.poll(seconds)

    def _read_ahead(self, puts: JavaPuts) -> None:
        """Fetch the records of the next put, and begin it. What fails does so at the next turn, since a put runs."""
        if self.paused or self.retrying or self.ahead.records is not None or self.runtime.control.stopping:
            return
        try:
            self.ahead.records = raw = self.reading.poll(0.0)
            if raw is None:
                return
            if puts.overlap and self.end_put is not None and not self.context.rewinds:
                self.ahead.begin(puts, self.reading.only)
            else:
                puts.prepare(raw)
        except Exception as e:
            self.reading.failed(e)

    def _take(self, raw: Batch, begun: PendingBatch | None = None) -> None:
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

    def _deliver(self, pending: PendingBatch) -> None:
        """Put the pending records; they stay pending if the task asks for a retry."""
        if self.steps.puts is None:
            self.end_put = partial(self.task.put_batch, pending.records)
            self._end_put()
            return
        if self.end_put is None:
            self.end_put = self.steps.puts.begin(pending)
        try:
            self._read_ahead(self.steps.puts)
        finally:
            self._end_put()
        if (begun := self.ahead.take_put(runs=self.pending is None and self.steps.puts.clear)) is not None:
            raw, pending, end_put = begun
            self.end_put = end_put
            self._take(raw, pending)

    def _end_put(self) -> None:
        """Wait for the end of the put that runs, if one does, and draw the consequences."""
        end, self.end_put = self.end_put, None
        pending = self.pending
        if end is None or pending is None:
            return
        retrying = pending.retrying
        try:
            taken = self._put(end, len(pending.records), pending)
        except NotConvertedError:  # one by one, to find which
            pending.records, pending.unconverted = self._converted(pending.records), False
            taken = self._put(partial(self.task.put_batch, pending.records), len(pending.records), pending)
        if not taken:
            return
        self.offsets.taken(pending.offsets, pending.first_offset)
        self.pending = None
        self.runtime.metrics.traces.end()
        if retrying and not self.paused:
            self._resume_all()

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
            if pending is None or not size:
                return True
            self._retry(pending, e)
            return False
        except Exception as e:
            raise ConnectError(PUT_FAILED) from e
        self.context.check_reported()
        if size:
            metrics = self.runtime.metrics
            metrics.add("sink-record-send-total", size)
            metrics.observe("batch-size", size)
            seconds = time.monotonic() - started if known is None else known
            metrics.observe("put-batch", seconds * 1000, "-time-ms")
            metrics.spent("put", seconds)
        return True

    def _retry(self, pending: PendingBatch, error: RetriableError) -> None:
        waiting = isinstance(error, NotReadyError)
        if not waiting:
            self.runtime.metrics.survived(error)
        level = logging.DEBUG if waiting or pending.retrying else logging.ERROR
        log.log(level, "RetriableException from SinkTask", exc_info=True)
        after = self.context.take_retry_after()
        pending.retry_at = time.monotonic() + (RETRY_SECONDS if after is None else after)
        if not pending.retrying:
            pending.retrying = True
            pause(self.consumer.client, self.context.assignment)

    # -- pauses and rewinds

    def _pause_or_resume(self) -> None:
        self.paused = self.runtime.control.pausing
        if self.paused:
            pause(self.consumer.client, self.context.assignment)
            self._commit(self.context.assignment)
            self.runtime.host.paused()
        else:
            if not self.retrying:
                self._resume_all()
            self.runtime.host.running()

    def _resume_all(self) -> None:
        resume(self.consumer.client, self.context.assignment - self.context.paused)

    def _apply_flow(self) -> None:
        """Pause and resume partitions as the task asked."""
        for flow, asked in self.context.take_flow():
            partitions = asked & self.context.assignment
            if flow is Flow.PAUSE:
                pause(self.consumer.client, partitions)
            elif not self.paused and not self.retrying:
                resume(self.consumer.client, partitions)

    def _rewind(self) -> None:
        """Seek where the task asked. A partition that is not fetched yet can't seek; it is tried at the next turn."""
        for partition, offset in self.context.rewinds.items():
            if partition in self.context.assignment:
                try:
                    self.consumer.client.seek(ClientPartition(*partition, offset))
                except KafkaException as e:
                    log.debug("Can't rewind %s to offset %d yet: %s", partition, offset, e.args[0].str())
                    continue
                self.offsets.rewound(partition, offset)
                self.consumer.watch.forget({partition})
                self._forget({partition})
            self.context.end_rewind(partition, offset)

    def _forget(self, partitions: set[TopicPartition]) -> None:
        """Drop pending records of these partitions, and those that were read ahead."""
        self.ahead.forget(partitions)
        if self.pending is None:
            return
        retrying, self.pending = self.pending.retrying, self.pending.without(partitions)
        if self.pending is None:
            self.runtime.metrics.traces.end()
            if retrying and not self.paused:
                self._resume_all()

    # -- rebalances

    def on_assign(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        """Partitions were assigned: only the new ones if ``cooperative``, otherwise all."""
        came = names(partitions)
        try:
            self.consumer.member.joined(time.monotonic())
            self._end_put()
            starts = positions(consumer, partitions, self.consumer.offset_reset)
            self.context.assign(came)
            self.offsets.assigned(starts)
            self.runtime.metrics.put("partition-count", len(self.context.assignment))
            if came:
                with self.runtime.control.calls.entered("open"):
                    self.task.open(came)
            rewinds = self.context.take_rewinds(came)
            for partition, offset in rewinds.items():
                self.offsets.rewound(partition, offset)
            targets = [
                ClientPartition(p.topic, p.partition, rewinds.get(p, starts.get(p, given.offset)))
                for p, given in zip(came, partitions, strict=True)
            ]
            if self.consumer.cooperative:
                consumer.incremental_assign(targets)
            else:
                consumer.assign(targets)
            held = self.context.assignment if self.paused or self.retrying else self.context.paused
            # In librdkafka a pause outlives the assignment in which it was made.
            resume(consumer, set(came) - held)
            pause(consumer, held)
        except Exception as e:
            self.reading.failed(e)

    def on_revoke(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        self._remove(names(partitions), lost=False)

    def on_lost(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        self._remove(names(partitions), lost=True)

    def _remove(self, partitions: list[TopicPartition], lost: bool) -> None:
        self.consumer.member.left(time.monotonic())
        if self.closed or not partitions:
            return
        try:
            self._end_put()
        except Exception as e:
            self.reading.failed(e)
        try:
            self._close(partitions, lost)
        except Exception as e:
            self.reading.failed(e)
        self.reading.removed |= set(partitions)

    def _close(self, partitions: list[TopicPartition], lost: bool) -> None:
        self._forget(set(partitions))
        # A put that has just ended may have asked for records again, which the next task of the partition must read.
        for partition, offset in self.context.rewinds.items():
            self.offsets.limited(partition, offset)
        try:
            if not lost and not self.runtime.control.aborted:
                self._commit(partitions, closing=True)
        finally:
            try:
                with self.runtime.control.calls.entered("close"):
                    self.task.close(partitions)
            finally:
                self.offsets.gone(partitions)
                self.consumer.watch.forget(partitions)
                self.context.revoke(partitions)
                self.runtime.metrics.put("partition-count", len(self.context.assignment))

    def _commit(self, partitions: Iterable[TopicPartition], closing: bool = False) -> None:
        self._end_put()
        began = time.monotonic()
        settle = self.context.settling(self.steps.queue, max(self.offsets.timing.timeout, QUEUE_FLUSH_SECONDS))
        settle()
        with self.runtime.control.calls.entered("flush or pre_commit"):
            rewinds = self.offsets.commit(self.task, partitions, closing, settle)
        self.context.offset(rewinds)
        self.runtime.metrics.spent("commit", time.monotonic() - began)

    # -- the end

    def close_all(self) -> None:
        """Called when the loop has ended, for whatever reason: commit what the task has taken, close its partitions."""
        self.closed = True
        running, self.end_put = self.end_put, None
        self.ahead.abandon(running)
        if self.context.assignment:
            self._close(sorted(self.context.assignment), lost=False)

    def leave(self) -> None:
        """Called last: leave the group at once, so that other members need not wait for the end of a session."""
        self.closed = True
        self.consumer.client.close()

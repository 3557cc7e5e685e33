"""The loop of a sink task: fetch → converters → transforms → ``put`` → ``pre_commit`` → commit, on whole batches.

Offsets are committed up to what the task has taken and its ``pre_commit`` agrees to. A RetriableError of ``put`` keeps
the batch: the consumer is paused, but polled to stay in the group, and the same records are put again.
Java: ``WorkerSinkTask``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, Message
from confluent_kafka import TopicPartition as Place

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.dead_letters import DeadLetterQueue, OriginalRecords
from penstock.pipeline.errors import ErrorHandler, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.context import SinkContext, WorkerErrantRecordReporter, names, pause, resume
from penstock.pipeline.sink.fetch import fetch, raw_batch
from penstock.pipeline.sink.offsets import SinkTaskOffsets
from penstock.pipeline.sink.positions import positions
from penstock.pipeline.sink.subscription import Subscription
from penstock.pipeline.task import TaskControl, TaskHost

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
TURN_SECONDS = 0.1


@dataclass(slots=True)
class SinkLoop:
    """What the loop works with; ``run`` is the loop, the ``on_…`` methods are the consumer's callbacks from within
    ``fetch``.
    """

    task: SinkTask
    control: TaskControl
    host: TaskHost
    consumer: Consumer
    offsets: SinkTaskOffsets
    context: SinkContext
    reporter: WorkerErrantRecordReporter | None
    queue: DeadLetterQueue | None
    errors: ErrorHandler
    steps: list[Step]
    letters: OriginalRecords
    metrics: Metrics
    subscription: Subscription
    most: int
    interval: float
    timeout: float
    reset: str
    """librdkafka's ``auto.offset.reset``."""
    gradual: bool
    """Whether partitions come and go a few at a time (cooperative assignors)."""
    paused: bool = False
    waiting: Batch | None = None
    """Converted records that the task has not taken yet, and below the offsets after them."""
    waiting_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    retrying: bool = False
    retry_at: float = 0.0
    next_commit: float = 0.0
    next_put: float = 0.0
    failure: Exception | None = None
    removed: set[TopicPartition] = field(default_factory=set)
    """Partitions that were taken away within the fetch that is going on."""
    last_time: int | None = None
    """The timestamp of the last record that was read."""
    closed: bool = False

    def run(self) -> None:
        self.next_commit = time.monotonic() + self.interval
        while not self.control.stopping:
            now = time.monotonic()
            self.metrics.tick(now)
            self.subscription.update(self.consumer, now, self.on_assign, self.on_revoke, self.on_lost)
            if self.paused != self.control.pausing:
                self._pause_or_go_on()
            if not self.offsets.committing and (self.context.commit_requested or now >= self.next_commit):
                self._commit(self.context.assigned)
                self.next_commit = now + self.interval
                self.context.commit_requested = False
            self._steer()
            self._rewind()
            messages = self._fetch(TURN_SECONDS if self.waiting is None else self._until_retry(now))
            if messages:
                self._take(messages)
            if self.waiting is not None:
                if time.monotonic() >= self.retry_at:
                    self._deliver()
            elif not self.paused and now >= self.next_put:
                self._put(Batch.of_sink_records([]))

    def measure(self) -> None:
        """How far the task is behind: gauges for those who ask for its health. From what the consumer knows already."""
        behind = 0
        for partition in self.context.assigned:
            position = self._position(partition)
            try:
                end = self.consumer.get_watermark_offsets(Place(*partition), cached=True)[1]
            except KafkaException:  # not known yet; it must not be why a task fails
                continue
            if position is not None and end >= 0:
                behind += max(end - position, 0)
        times = self.waiting.timestamps[:1] if self.waiting is not None else [self.last_time]
        seconds = time.time() - times[0] / 1000 if times and times[0] is not None else 0.0
        self.metrics.put("penstock-records-behind", behind)
        self.metrics.put("penstock-seconds-behind", max(seconds, 0.0) if behind else 0.0)
        self.metrics.put("penstock-retrying", float(self.retrying))

    def _position(self, partition: TopicPartition) -> int | None:
        """The next offset that the task will take; None if nothing was read of the partition yet."""
        if partition in self.offsets.current:
            return self.offsets.current[partition]
        if self.waiting is None or not isinstance(origin := self.waiting.origin, SinkOrigin):
            return None
        places = zip(origin.topics, origin.partitions, origin.offsets, strict=True)
        return next((offset for topic, number, offset in places if (topic, number) == partition), None)

    def _until_retry(self, now: float) -> float:
        return min(max(self.retry_at - now, 0.0), TURN_SECONDS)

    # -- records

    def _fetch(self, seconds: float) -> list[Message]:
        messages: list[Message] = []
        try:
            messages = fetch(self.consumer, self.most, seconds, self.removed)
        except Exception as e:  # what a callback has met within the fetch came first
            self.failure = self.failure or e
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if messages and self.context.rewinds:
            messages = [m for m in messages if (m.topic(), m.partition()) not in self.context.rewinds]
        return messages

    def _take(self, messages: list[Message]) -> None:
        assigned = self.context.assigned
        only = next(iter(assigned)) if len(assigned) == 1 else None
        raw = raw_batch(messages, only)
        self.metrics.add("sink-record-read-total", len(raw))
        self.letters.raw = raw
        kind, written = messages[-1].timestamp()
        self.last_time = written if kind else None
        self.waiting = self.errors.run(self.steps, raw)
        origin = raw.origin
        assert isinstance(origin, SinkOrigin)
        if only is not None:
            self.waiting_offsets = {only: origin.offsets[-1] + 1}
        else:
            last = dict(zip(zip(origin.topics, origin.partitions, strict=True), origin.offsets, strict=True))
            self.waiting_offsets = {TopicPartition(*place): offset + 1 for place, offset in last.items()}
        self.retry_at = 0.0

    def _deliver(self) -> None:
        """Put the records that wait; they wait on if the task asks for that."""
        assert self.waiting is not None
        if not self._put(self.waiting):
            return
        self.offsets.taken(self.waiting_offsets)
        self.waiting, self.waiting_offsets = None, {}
        if self.retrying:
            self.retrying = False
            if not self.paused:
                self._resume_all()

    def _put(self, batch: Batch) -> bool:
        started = time.monotonic()
        self.next_put = started + 1.0
        try:
            self.task.put_batch(batch)
        except RetriableError as e:
            if not len(batch):
                return True
            self.metrics.survived(e)
            log.log(
                logging.DEBUG if self.retrying else logging.ERROR, "RetriableException from SinkTask", exc_info=True
            )
            after, self.context.retry_after = self.context.retry_after, None
            self.retry_at = time.monotonic() + (RETRY_SECONDS if after is None else after)
            if not self.retrying:
                self.retrying = True
                pause(self.consumer, self.context.assigned)
            return False
        except Exception as e:
            raise ConnectError("Exiting WorkerSinkTask due to unrecoverable exception.") from e
        if self.reporter is not None:
            self.reporter.check()
        self.context.retry_after = None
        if len(batch):
            self.metrics.add("sink-record-send-total", len(batch))
            self.metrics.observe("batch-size", len(batch))
            self.metrics.observe("put-batch", (time.monotonic() - started) * 1000, "-time-ms")
        return True

    # -- pauses and rewinds

    def _pause_or_go_on(self) -> None:
        self.paused = self.control.pausing
        if self.paused:
            pause(self.consumer, self.context.assigned)
            self._commit(self.context.assigned)
            self.host.paused()
        else:
            if not self.retrying:
                self._resume_all()
            self.host.running()

    def _resume_all(self) -> None:
        resume(self.consumer, self.context.assigned - self.context.paused)

    def _steer(self) -> None:
        """Pause and resume partitions as the task wants."""
        while self.context.steered:
            what, partitions = self.context.steered.popleft()
            partitions &= self.context.assigned
            if what == "pause":
                pause(self.consumer, partitions)
            elif not self.paused and not self.retrying:
                resume(self.consumer, partitions)

    def _rewind(self) -> None:
        """Go where the task wants. A partition that is not fetched yet can't be moved; it is tried again at the next
        turn.
        """
        for partition, offset in list(self.context.rewinds.items()):
            if partition in self.context.assigned:
                try:
                    self.consumer.seek(Place(*partition, offset))
                except KafkaException as e:
                    log.debug("Can't rewind %s to offset %d yet: %s", partition, offset, e.args[0].str())
                    continue
                self.offsets.rewound(partition, offset)
                self._forget({partition})
            del self.context.rewinds[partition]

    def _forget(self, partitions: set[TopicPartition]) -> None:
        """Records of these that wait are not to be put any more."""
        for partition in partitions:
            self.waiting_offsets.pop(partition, None)
        if self.waiting is not None and isinstance(origin := self.waiting.origin, SinkOrigin):
            places = list(zip(origin.topics, origin.partitions, strict=True))
            kept = [i for i, place in enumerate(places) if place not in partitions]
            self.waiting = self.waiting.select(kept) if kept else None
            if self.waiting is None and self.retrying:
                self.retrying = False
                if not self.paused:
                    self._resume_all()

    # -- rebalances

    def on_assign(self, consumer: Consumer, partitions: list[Place]) -> None:
        """Partitions came: only those that are new if ``gradual``, otherwise all."""
        came = names(partitions)
        try:
            where = positions(consumer, partitions, self.reset)
            self.context.assigned |= frozenset(came)
            self.offsets.assigned(where)
            self.metrics.put("partition-count", len(self.context.assigned))
            if came:
                self.task.open(came)
            wishes = {p: self.context.rewinds.pop(p) for p in came if p in self.context.rewinds}
            for partition, offset in wishes.items():
                self.offsets.rewound(partition, offset)
            targets = [
                Place(p.topic, p.partition, wishes.get(p, where.get(p, place.offset)))
                for p, place in zip(came, partitions, strict=True)
            ]
            if self.gradual:
                consumer.incremental_assign(targets)
            else:
                consumer.assign(targets)
            self.context.paused &= self.context.assigned
            held = self.context.assigned if self.paused or self.retrying else frozenset(self.context.paused)
            # A pause outlives the assignment in which it was made.
            resume(consumer, set(came) - held)
            pause(consumer, held)
        except Exception as e:
            self.failure = self.failure or e

    def on_revoke(self, consumer: Consumer, partitions: list[Place]) -> None:
        self._remove(names(partitions), lost=False)

    def on_lost(self, consumer: Consumer, partitions: list[Place]) -> None:
        self._remove(names(partitions), lost=True)

    def _remove(self, partitions: list[TopicPartition], lost: bool) -> None:
        if self.closed or not partitions:
            return
        try:
            self._close(partitions, lost)
        except Exception as e:
            self.failure = self.failure or e
        self.removed |= set(partitions)

    def _close(self, partitions: list[TopicPartition], lost: bool) -> None:
        self._forget(set(partitions))
        try:
            if not lost and not self.control.aborted:
                self._commit(partitions, closing=True)
        finally:
            try:
                self.task.close(partitions)
            finally:
                self.offsets.gone(partitions)
                self.context.assigned -= frozenset(partitions)
                self.context.paused -= set(partitions)
                self.metrics.put("partition-count", len(self.context.assigned))

    def _commit(self, partitions: Iterable[TopicPartition], closing: bool = False) -> None:
        if self.queue is not None:
            self.queue.flush(max(self.timeout, 30.0))
        back_to = self.offsets.commit(self.task, partitions, closing)
        self.context.rewinds.update(back_to)

    # -- the end

    def close_all(self) -> None:
        """Called when the loop has ended, for whatever reason: commit what the task has taken, close its partitions."""
        self.closed = True
        if self.context.assigned:
            self._close(sorted(self.context.assigned), lost=False)

    def leave(self) -> None:
        """Called last: leave the group at once, so that others need not wait for the end of a session."""
        self.closed = True
        self.consumer.close()

"""The loop of a sink task: fetch → converters → transforms → ``put`` → ``pre_commit`` → commit, on whole batches.

Offsets are committed up to what the task has taken and its ``pre_commit`` agrees to. While records are to be put again
the consumer is polled to stay in its group. Without records there is a put each second, and when the task has asked for
one by ``timeout``. Everything else waits for the end of the put that runs in a JVM and of the one behind it
(``puts.delivery``), rebalances too.
Java: ``WorkerSinkTask``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.sink.context import Flow, SinkContext
from penstock.pipeline.sink.offsets import SinkTaskOffsets
from penstock.pipeline.sink.partitions import names, pause, positions, resume
from penstock.pipeline.sink.parts import GroupConsumer, SinkSteps
from penstock.pipeline.sink.puts.delivery import Delivery
from penstock.pipeline.sink.reading import Reading

log = logging.getLogger(__name__)

TURN_SECONDS = 0.1
LEAST_SECONDS = 0.001
"""The consumer waits for whole milliseconds, and not at all for less: the loop would spin."""
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
    next_commit: float = 0.0
    closed: bool = False
    reading: Reading = field(init=False)
    delivery: Delivery = field(init=False)

    def __post_init__(self) -> None:
        self.reading = Reading(self.consumer, self.context, self.runtime.metrics)
        self.delivery = Delivery(
            self.runtime, self.task, self.context, self.consumer, self.steps, self.offsets, self.reading
        )

    def run(self) -> None:
        control, delivery = self.runtime.control, self.delivery
        self.next_commit = time.monotonic() + self.offsets.timing.interval
        while not control.stopping:
            now = time.monotonic()
            self.runtime.metrics.tick(now)
            if delivery.running is not None and self._due(now):
                delivery.end()
            self.consumer.subscription.update(self.consumer.client, now, self.on_assign, self.on_revoke, self.on_lost)
            self.consumer.member.update(now)
            if delivery.paused != control.pausing:
                self._pause_or_resume()
            self._commit_if_due(now)
            self._apply_flow()
            self._rewind()
            if delivery.idle and not delivery.paused and self.consumer.watch.due(now):
                self.consumer.watch.look(self._waited_for(), now)
            if not delivery.retrying and (after := self.context.take_retry_after()):
                delivery.next_put = min(delivery.next_put, now + after)
            if delivery.running is None:
                raw = delivery.fetch(self._until_put(now))
                if raw is not None:
                    delivery.take(raw)
            if delivery.pending is not None:
                if time.monotonic() >= delivery.pending.retry_at:
                    delivery.put(delivery.pending)
            elif not delivery.paused and now >= delivery.next_put:
                delivery.put_nothing()
        delivery.end()

    def _until_put(self, now: float) -> float:
        """Seconds until something is to be put, however little is fetched; the length of a turn at most."""
        delivery = self.delivery
        if delivery.pending is not None:
            return delivery.pending.until_retry(now, TURN_SECONDS)
        if delivery.paused:
            return TURN_SECONDS
        left = delivery.next_put - now
        return min(max(left, LEAST_SECONDS), TURN_SECONDS) if left > 0 else 0.0

    def _due(self, now: float) -> bool:
        """Whether something is to be done that waits for the end of the put that runs."""
        pausing = self.runtime.control.pausing
        return self.delivery.paused != pausing or self._commit_due(now) or bool(self.context.rewinds)

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

    def _waited_for(self) -> dict[TopicPartition, int]:
        """The partitions that are fetched, with their positions."""
        fetched = self.context.assignment - self.context.paused
        return {partition: at for partition, at in self.offsets.current.items() if partition in fetched}

    # -- pauses and rewinds

    def _pause_or_resume(self) -> None:
        self.delivery.paused = self.runtime.control.pausing
        if self.delivery.paused:
            pause(self.consumer.client, self.context.assignment)
            self._commit(self.context.assignment)
            self.runtime.host.paused()
        else:
            if not self.delivery.retrying:
                self.delivery.resume_all()
            self.runtime.host.running()

    def _apply_flow(self) -> None:
        """Pause and resume partitions as the task asked."""
        for flow, asked in self.context.take_flow():
            partitions = asked & self.context.assignment
            if flow is Flow.PAUSE:
                pause(self.consumer.client, partitions)
            elif not self.delivery.held:
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
                self.delivery.forget({partition})
            self.context.end_rewind(partition, offset)

    # -- rebalances

    def on_assign(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        """Partitions were assigned: only the new ones if ``cooperative``, otherwise all."""
        came = names(partitions)
        try:
            self.consumer.member.joined(time.monotonic())
            self.delivery.end()
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
            held = self.context.assignment if self.delivery.held else self.context.paused
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
            self.delivery.end()
        except Exception as e:
            self.reading.failed(e)
        try:
            self._close(partitions, lost)
        except Exception as e:
            self.reading.failed(e)
        self.reading.removed |= set(partitions)

    def _close(self, partitions: list[TopicPartition], lost: bool) -> None:
        self.delivery.forget(set(partitions))
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
                self.context.revoke(partitions, for_good=self.consumer.cooperative)
                self.runtime.metrics.put("partition-count", len(self.context.assignment))

    def _commit(self, partitions: Iterable[TopicPartition], closing: bool = False) -> None:
        self.delivery.end()
        began = time.monotonic()
        settle = self.context.settling(self.steps.queue, max(self.offsets.timing.timeout, QUEUE_FLUSH_SECONDS))
        if settle():
            # The task may have asked for records again, which it, or the next task of the partition, must read.
            for partition, offset in self.context.rewinds.items():
                self.offsets.limited(partition, offset)
            with self.runtime.control.calls.entered("flush or pre_commit"):
                rewinds = self.offsets.commit(self.task, partitions, closing, settle)
            self.context.offset(rewinds)
        else:
            self.runtime.metrics.committed(time.monotonic() - began, success=False)
        self.runtime.metrics.spent("commit", time.monotonic() - began)

    # -- the end

    def close_all(self) -> None:
        """Called when the loop has ended, for whatever reason: commit what the task has taken, close its partitions."""
        self.closed = True
        self.delivery.abandon()
        if self.context.assignment:
            self._close(sorted(self.context.assignment), lost=False)

    def leave(self) -> None:
        """Called last: leave the group at once, so that other members need not wait for the end of a session."""
        self.closed = True
        self.consumer.client.close()

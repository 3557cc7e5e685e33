"""The loop of a sink task: it carries out the actions of the machine (``machine``) on the consumer and the task.

Fetch → converters → transforms → ``put`` → ``pre_commit`` → commit, on whole batches.
Java: ``WorkerSinkTask``.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.errors import ConnectError, NotReadyError, RetriableError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.hosts.jvm.tasks.sink_task import NotConvertedError
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import Step
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.sink import messages as m
from penstock.pipeline.sink import standstill
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.commits import OffsetCommits, agreed_offsets
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.fetch import FetchedRecords
from penstock.pipeline.sink.machine import SinkMachine
from penstock.pipeline.sink.member import MemberReport
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.sink.partitions import names, pause, positions, resume
from penstock.pipeline.sink.puts import NO_RECORDS, BegunSinkPut, SinkPuts
from penstock.pipeline.sink.state import SinkSettings
from penstock.pipeline.sink.subscription import Subscription

log = logging.getLogger(__name__)

QUEUE_FLUSH_SECONDS = 30.0
PUT_FAILED = "Exiting WorkerSinkTask due to unrecoverable exception."


@dataclass(frozen=True, slots=True)
class GroupConsumer:
    """The consumer of the task and how it reads."""

    client: Consumer
    subscription: Subscription
    max_records: int
    """The maximum number of records of a ``put``."""
    offset_reset: str
    """librdkafka's ``auto.offset.reset``."""
    cooperative: bool
    """Whether partitions are assigned and revoked a few at a time (cooperative assignors)."""
    watch: standstill.PartitionWatch
    member: MemberReport


@dataclass(frozen=True, slots=True)
class SinkSteps:
    """The way of fetched bytes to the task, and the queue for records that fail on it."""

    steps: list[Step]
    originals: OriginalRecords
    queue: DeadLetterQueue | None
    puts: SinkPuts


@dataclass(slots=True)
class SinkLoop:
    """``run`` is the loop; the ``on_…`` methods are the consumer's callbacks from within a fetch."""

    runtime: TaskRuntime
    task: SinkTask
    context: SinkContext
    consumer: GroupConsumer
    steps: SinkSteps
    commits: OffsetCommits
    timing: CommitTiming
    machine: SinkMachine = field(init=False)
    records: FetchedRecords = field(init=False)
    running: BegunSinkPut | None = None
    """The put that runs."""
    behind: BegunSinkPut | None = None
    """The put that has begun behind it."""
    settle: Callable[[], bool] = lambda: True
    """Waits for the dead letters of the commit that has begun; see ``SinkContext.settling``."""

    def __post_init__(self) -> None:
        self.machine = SinkMachine(
            SinkSettings(
                self.timing.interval,
                self.timing.timeout,
                self.consumer.cooperative,
                self.steps.puts.convert,
                standstill.LOOK_SECONDS,
            )
        )
        self.records = FetchedRecords(self.consumer.client, self.consumer.max_records, self.consumer.watch.ends)
        self.commits.on_answer = self.handle

    def run(self) -> None:
        control = self.runtime.control
        while not control.stopping:
            now = time.monotonic()
            self.runtime.metrics.tick(now)
            self.consumer.subscription.update(self.consumer.client, now, self.on_assign, self.on_revoke, self.on_lost)
            self.consumer.member.update(now)
            if (pausing := control.pausing) != self.machine.state.pause_wanted:
                self.handle(m.PauseWanted() if pausing else m.ResumeWanted())
            self.handle(m.Ticked())
        self.handle(m.StopWanted())

    def meanwhile(self) -> None:
        """Called while a record waits for its next attempt: what the task has taken is committed meanwhile."""
        self.runtime.metrics.tick(time.monotonic())
        self.handle(m.ConversionDelayed())

    def close_all(self) -> None:
        """Called when the loop has ended, for whatever reason: commit what the task has taken, close its partitions."""
        self.handle(m.LoopBroken())

    def leave(self) -> None:
        """Called last: leave the group at once, so that other members need not wait for the end of a session."""
        self.consumer.client.close()

    # -- the machine

    def handle(self, event: m.SinkEvent) -> None:
        """Give the event to the machine, after what the task has requested, and carry out what follows from it."""
        for request in self.context.take_requests():
            self._carry_out(self.machine.step(request, time.monotonic()))
        actions = self.machine.step(event, time.monotonic())
        match event:
            case m.StartsFound() | m.TaskClosed():
                self.runtime.metrics.put("partition-count", len(self.machine.state.assigned))
                self._measure()
            case m.PutTaken() | m.PutRefused() | m.PartitionSought() | m.TaskOpened() | m.CommitAnswered():
                self._measure()
        self._carry_out(actions)

    def _measure(self) -> None:
        lag = self.machine.state.lag
        self.runtime.metrics.put("sink-record-active-count", lag)
        self.runtime.metrics.observe("sink-record-active-count", lag)

    def _carry_out(self, actions: list[m.SinkAction]) -> None:
        """Partitions are closed whatever fails before; the first failure is raised."""
        failure: Exception | None = None
        for action in actions:
            if failure is None or isinstance(action, m.CloseTask):
                try:
                    self._do(action)
                except Exception as e:
                    failure = failure or e
        if failure is not None:
            raise failure

    def _do(self, action: m.SinkAction) -> None:
        client = self.consumer.client
        match action:
            case m.ContinueTurn():
                self.handle(m.TurnContinued())
            case m.FetchRecords(seconds, ahead):
                self._fetch(seconds, ahead)
            case m.PausePartitions(partitions):
                pause(client, partitions)
            case m.ResumePartitions(partitions):
                resume(client, partitions)
            case m.SeekPartition(partition, offset):
                self._seek(partition, offset)
            case m.LookUpStarts(partitions):
                self._look_up_starts(partitions)
            case m.AssignPartitions():
                self._assign(action)
            case m.LookForStandstill(at):
                self.consumer.watch.look(at, time.monotonic())
            case m.StartBatch(batch):
                self._start_batch(batch)
            case m.ConvertBatch(batch):
                records = self.runtime.errors.run(self.steps.steps, batch.records)
                self.handle(m.Converted(FetchedBatch(records, batch.ends, converted=True)))
            case m.PutBatch(batch):
                self._put(NO_RECORDS if batch is None else batch)
            case m.PutBehind(batch):
                self._put_behind(batch)
            case m.PrepareBatch(batch):
                self._prepare(batch)
            case m.AwaitPut():
                self._await_put()
            case m.AbandonPuts():
                self._abandon_puts()
            case m.FinishBatch():
                self.runtime.metrics.traces.end()
            case m.OpenTask(partitions):
                self._open(partitions)
            case m.CloseTask(partitions):
                self._close(partitions)
            case m.BeginCommit():
                self._begin_commit(action)
            case m.AskForOffsets(offsets, closing):
                self._ask_for_offsets(offsets, closing)
            case m.WriteOffsets():
                self.commits.write(client, action)
            case m.ReportCommit():
                self.commits.report(action)
            case m.ReportPaused():
                self.runtime.host.paused()
            case m.ReportRunning():
                self.runtime.host.running()
            case m.LogMessage(level, text):
                log.log(level, "%s", text)
            case m.LogRetry(error, again):
                self._log_retry(error, again)
            case m.FailTask(error):
                raise error
            case _:
                assert_never(action)

    # -- the consumer

    def _fetch(self, seconds: float, ahead: bool) -> None:
        if ahead and self.runtime.control.stopping:
            self.handle(m.Fetched(None, drained=False))
            return
        batch, drained = None, False
        began = time.monotonic()
        try:
            messages = self.records.poll(seconds)
            drained = len(messages) < self.consumer.max_records
            if messages:
                self.runtime.metrics.spent("poll", time.monotonic() - began)
                assigned = self.machine.state.assigned
                batch = self.records.batch(messages, next(iter(assigned)) if len(assigned) == 1 else None)
        except Exception as e:  # an error of a callback within the fetch came first
            self.handle(m.FailureFound(e))
        self.handle(m.Fetched(batch, drained))

    def _seek(self, partition: TopicPartition, offset: int) -> None:
        """A partition that is not fetched yet can't seek; it is tried again in the next turn."""
        try:
            self.consumer.client.seek(ClientPartition(*partition, offset))
        except KafkaException as e:
            log.debug("Can't rewind %s to offset %d yet: %s", partition, offset, e.args[0].str())
            return
        self.consumer.watch.forget({partition})
        self.handle(m.PartitionSought(partition, offset))

    def _look_up_starts(self, partitions: tuple[TopicPartition, ...]) -> None:
        client = [ClientPartition(*partition) for partition in partitions]
        starts = positions(self.consumer.client, client, self.consumer.offset_reset)
        self.handle(m.StartsFound(partitions, starts))

    def _assign(self, action: m.AssignPartitions) -> None:
        client = self.consumer.client
        targets = [ClientPartition(*partition, offset) for partition, offset in action.offsets.items()]
        if self.consumer.cooperative:
            client.incremental_assign(targets)
        else:
            client.assign(targets)
        resume(client, action.resumed)
        pause(client, action.paused)

    def on_assign(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        """Partitions were assigned: only the new ones if ``cooperative``, otherwise all."""
        self.consumer.member.joined(time.monotonic())
        offsets = {name: given.offset for name, given in zip(names(partitions), partitions, strict=True)}
        self._rebalance(m.PartitionsAssigned(offsets))

    def on_revoke(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        self._remove(names(partitions), lost=False)

    def on_lost(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        self._remove(names(partitions), lost=True)

    def _remove(self, partitions: list[TopicPartition], lost: bool) -> None:
        self.consumer.member.left(time.monotonic())
        if partitions:
            self._rebalance(m.PartitionsRevoked(tuple(partitions), lost))
            self.records.removed |= set(partitions)

    def _rebalance(self, event: m.Rebalance) -> None:
        """Called within a fetch, after which a failure fails the task."""
        try:
            self.handle(event)
        except Exception as e:
            self.handle(m.FailureFound(e))

    # -- batches and puts

    def _start_batch(self, batch: FetchedBatch) -> None:
        metrics = self.runtime.metrics
        metrics.traces.begin(batch.records.headers)
        metrics.traces.polled(batch.records)
        metrics.add("sink-record-read-total", len(batch))
        self.steps.originals.fetched(batch.records, batch.ends, self.machine.state.committed)

    def _put(self, batch: FetchedBatch) -> None:
        try:
            self.running = self.steps.puts.begin(batch)
        except Exception as e:  # what a transform has made of a record has no counterpart in Java
            self.handle(m.PutFailed(_put_failed(e)))
            return
        if not self.steps.puts.elsewhere:
            self._await_put()

    def _put_behind(self, batch: FetchedBatch) -> None:
        try:
            self.behind = self.steps.puts.begin(batch, behind=True)
        except Exception as e:
            self.handle(m.FailureFound(_put_failed(e)))

    def _prepare(self, batch: FetchedBatch) -> None:
        try:
            self.steps.puts.prepare(batch)
        except Exception as e:
            self.handle(m.FailureFound(e))

    def _await_put(self) -> None:
        put, self.running = self.running, None
        if put is not None:
            event = self._end(put)
            if not isinstance(event, m.PutFailed):  # after which both are abandoned
                clear = isinstance(event, m.PutTaken) and event.clear
                self.running, self.behind = self.behind if clear else None, None
            self.handle(event)

    def _end(self, put: BegunSinkPut) -> m.PutEnded:
        """Wait for the end of the put."""
        batch, size, started = put.batch, len(put.batch), time.monotonic()
        try:
            with self.runtime.control.calls.entered("put"):
                known = put.end()
        except NotConvertedError:
            return m.PutUnconverted()
        except RetriableError as e:
            return m.PutRefused(e, None if put.batch is batch else put.batch)
        except Exception as e:
            return m.PutFailed(_put_failed(e))
        try:
            self.context.check_reported()
        except ConnectError as e:
            return m.PutFailed(e)
        if size:
            metrics = self.runtime.metrics
            metrics.add("sink-record-send-total", size)
            metrics.observe("batch-size", size)
            seconds = time.monotonic() - started if known is None else known
            metrics.observe("put-batch", seconds * 1000, "-time-ms")
            metrics.spent("put", seconds)
        return m.PutTaken(put.clear, put.quick)

    def _abandon_puts(self) -> None:
        running, self.running = self.running, None
        behind, self.behind = self.behind, None
        for put in (running, behind):
            if put is not None:
                with contextlib.suppress(Exception):
                    put.end()

    def _log_retry(self, error: Exception, again: bool) -> None:
        waiting = isinstance(error, NotReadyError)
        if not waiting:
            self.runtime.metrics.survived(error)
        level = logging.DEBUG if waiting or again else logging.ERROR
        log.log(level, "RetriableException from SinkTask", exc_info=error)

    # -- the task

    def _open(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.context.assign(self.machine.state.assigned)
        with self.runtime.control.calls.entered("open"):
            self.task.open(list(partitions))
        self.handle(m.TaskOpened(partitions))

    def _close(self, partitions: tuple[TopicPartition, ...]) -> None:
        try:
            with self.runtime.control.calls.entered("close"):
                self.task.close(list(partitions))
        finally:
            self.consumer.watch.forget(partitions)
            self.handle(m.TaskClosed(partitions))
            self.context.assign(self.machine.state.assigned)

    def _begin_commit(self, action: m.BeginCommit) -> None:
        if action.closing and self.runtime.control.aborted:
            return
        metrics, began = self.runtime.metrics, time.monotonic()
        self.settle = self.context.settling(self.steps.queue, max(self.timing.timeout, QUEUE_FLUSH_SECONDS))
        if self.settle():
            self.handle(m.LettersArrived(action.partitions, action.closing))
        else:
            metrics.committed(time.monotonic() - began, success=False)
        metrics.spent("commit", time.monotonic() - began)

    def _ask_for_offsets(self, offsets: Mapping[TopicPartition, int], closing: bool) -> None:
        metrics, partitions = self.runtime.metrics, tuple(offsets)
        self.commits.count()
        try:
            with self.runtime.control.calls.entered("flush or pre_commit"):
                answer = self.task.pre_commit(dict(offsets))
        except Exception:
            metrics.committed(0.0, success=False)
            if closing:
                log.warning("Offset commit failed during close", exc_info=True)
            else:
                log.exception("Offset commit failed, rewinding to last committed offsets")
            self.handle(m.PreCommitFailed(partitions, closing))
            return
        try:
            settled = self.settle()
        except Exception:
            self.handle(m.LettersLost(partitions))
            raise
        if settled:
            self.handle(m.OffsetsAgreed(offsets, agreed_offsets(answer), closing))
        else:
            metrics.committed(0.0, success=False)


def _put_failed(cause: Exception) -> ConnectError:
    error = ConnectError(PUT_FAILED)
    error.__cause__ = cause
    return error

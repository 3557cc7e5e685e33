"""The loop of a sink task: it carries out the actions of the machine (``machine``) on the consumer and the task.

Fetch → converters → transforms → ``put`` → ``pre_commit`` → commit, on whole batches.
Java: ``WorkerSinkTask``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.errors import NotReadyError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import Step
from penstock.pipeline.retry_status import RetryStatus
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.sink import actions, events, standstill
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.commits import OffsetCommits, agreed_offsets
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.fetch import FetchedRecords
from penstock.pipeline.sink.identities import AssignedTopicIds
from penstock.pipeline.sink.machine import SinkMachine
from penstock.pipeline.sink.member import MemberReport
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.sink.partitions import names, no_renewed_start, pause, positions, resume
from penstock.pipeline.sink.puts import NO_RECORDS, RunningPuts, SinkPuts
from penstock.pipeline.sink.skips import SkippedRecords
from penstock.pipeline.sink.state import SinkLoopSettings
from penstock.pipeline.sink.subscription import Subscription

log = logging.getLogger(__name__)

QUEUE_FLUSH_SECONDS = 30.0


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
    identities: AssignedTopicIds
    member: MemberReport


@dataclass(frozen=True, slots=True)
class SinkSteps:
    """The way of fetched bytes to the task, and the queue for records that fail on it."""

    steps: list[Step]
    originals: OriginalRecords
    queue: DeadLetterQueue | None
    puts: SinkPuts
    skipped: SkippedRecords = field(default_factory=SkippedRecords)


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
    puts: RunningPuts = field(init=False)
    _retries: RetryStatus = field(init=False)
    settle: Callable[[], bool] = lambda: True
    """Waits for the dead letters of the commit that has begun; see ``SinkContext.settling``."""

    def __post_init__(self) -> None:
        self.machine = SinkMachine(
            SinkLoopSettings(
                self.timing.interval,
                self.timing.timeout,
                self.consumer.cooperative,
                self.steps.puts.convert,
                standstill.LOOK_SECONDS,
            )
        )
        self.records = FetchedRecords(self.consumer.client, self.consumer.max_records, self.consumer.watch.ends)
        self.puts = RunningPuts(
            self.steps.puts, self.runtime, self.context.check_reported, self.handle, self.steps.originals
        )
        self._retries = RetryStatus(self.runtime.host)
        self.commits.on_answer = self.handle

    def run(self) -> None:
        control = self.runtime.control
        while not control.stopping:
            now = time.monotonic()
            self.runtime.metrics.tick(now)
            self.consumer.subscription.update(self.consumer.client, now, self.on_assign, self.on_revoke, self.on_lost)
            self.consumer.member.update(now)
            if (pausing := control.pausing) != self.machine.state.pause_wanted:
                self.handle(events.PauseWanted() if pausing else events.ResumeWanted())
            self.handle(events.Ticked())
        self.handle(events.StopWanted())

    def meanwhile(self) -> None:
        """Called while a record waits for its next attempt: what the task has taken is committed meanwhile."""
        self.runtime.metrics.tick(time.monotonic())
        self.handle(events.ConversionDelayed())

    def close_all(self) -> None:
        """Called when the loop has ended, for whatever reason: commit what the task has taken, close its partitions."""
        self.handle(events.LoopBroken())

    def leave(self) -> None:
        """Called last: leave the group at once, so that other members need not wait for the end of a session."""
        self.consumer.client.close()

    # -- the machine

    def handle(self, event: events.SinkEvent) -> None:
        """Give the event to the machine, after what the task has requested, and carry out what follows from it."""
        for request in self.context.take_requests():
            self._carry_out(self.machine.step(request, time.monotonic()))
        following = self.machine.step(event, time.monotonic())
        match event:
            case events.StartsFound() | events.TaskClosed():
                self.runtime.metrics.put("partition-count", len(self.machine.state.assigned))
                self._measure()
            case (
                events.PutTaken()
                | events.PutRefused()
                | events.PartitionSought()
                | events.TaskOpened()
                | events.CommitAnswered()
            ):
                self._measure()
        if isinstance(event, events.CommitAnswered | events.StartsFound):
            self.steps.skipped.committed(self.machine.state.committed)
        if isinstance(event, events.PutTaken):
            self._retries.over(reports=not self.machine.state.connector_paused)
        self._carry_out(following)

    def _measure(self) -> None:
        lag = self.machine.state.lag
        self.runtime.metrics.put("sink-record-active-count", lag)
        self.runtime.metrics.observe("sink-record-active-count", lag)

    def _carry_out(self, following: list[actions.SinkAction]) -> None:
        """Partitions are closed whatever fails before; the first failure is raised."""
        failure: BaseException | None = None
        for action in following:
            if failure is None or isinstance(action, actions.CloseTask):
                try:
                    self._do(action)
                except BaseException as e:  # SystemExit, too
                    failure = failure or e
        if failure is not None:
            raise failure

    def _do(self, action: actions.SinkAction) -> None:
        client = self.consumer.client
        match action:
            case actions.ContinueTurn():
                self.handle(events.TurnContinued())
            case actions.FetchRecords(seconds, ahead):
                self._fetch(seconds, ahead)
            case actions.StartBatch(batch):
                self._start_batch(batch)
            case actions.ConvertBatch(batch):
                records = self.runtime.errors.run(self.steps.steps, batch.records)
                self.handle(events.Converted(FetchedBatch(records, batch.ends, converted=True)))
            case actions.PutBatch(batch):
                self.puts.put(NO_RECORDS if batch is None else batch)
            case actions.PutBehind(batch):
                self.puts.put_behind(batch)
            case actions.PrepareBatch(batch):
                self.puts.prepare(batch)
            case actions.AwaitPut():
                self.puts.await_end()
            case actions.AbandonPuts():
                self.puts.abandon()
            case actions.FinishBatch():
                self.runtime.metrics.traces.end()
            case actions.PausePartitions(partitions):
                pause(client, partitions)
            case actions.ResumePartitions(partitions):
                resume(client, partitions)
            case actions.SeekPartition(partition, offset):
                self._seek(partition, offset)
            case actions.LookUpStarts(partitions):
                self._look_up_starts(partitions)
            case actions.ReopenPartitions(partitions):
                self.steps.originals.forget(partitions)
                self.handle(events.StartsFound(partitions, dict.fromkeys(partitions, 0)))
            case actions.AssignPartitions():
                self._assign(action)
            case actions.LookForStandstill(at):
                self.consumer.watch.look(at, time.monotonic())
            case actions.OpenTask(partitions):
                self._open(partitions)
            case actions.CloseTask(partitions):
                self._close(partitions)
            case actions.BeginCommit():
                self._begin_commit(action)
            case actions.AskForOffsets(offsets, closing):
                self._ask_for_offsets(offsets, closing)
            case actions.CommitOffsets():
                self.commits.write(client, action)
            case actions.ReportCommit():
                self.commits.report(action)
            case actions.ReportPaused():
                self.runtime.host.paused()
                self._retries.paused()
            case actions.ReportRunning():
                self.runtime.host.running()
            case actions.LogMessage(level, text):
                log.log(level, "%s", text)
            case actions.LogRetry(error, again):
                self._log_retry(error, again)
            case actions.FailTask(error):
                raise error
            case _:
                assert_never(action)

    # -- the consumer

    def _fetch(self, seconds: float, ahead: bool) -> None:
        if ahead and self.runtime.control.stopping:
            self.handle(events.Fetched(None, drained=False))
            return
        batch, drained = None, False
        began = time.monotonic()
        try:
            messages = self.records.poll(seconds)
            drained = len(messages) < self.consumer.max_records
            if messages:
                self.runtime.metrics.spent("poll", time.monotonic() - began)
                assigned = self.machine.state.assigned
                fetched = self.records.batch(messages, next(iter(assigned)) if len(assigned) == 1 else None)
                if (rest := self._of_known_topics(fetched)) is not None:
                    batch = self.steps.skipped.without(rest)
                    if batch is not rest:
                        self.context.request_commit()  # the user who has asked for it waits for that
        except Exception as e:
            self.handle(events.FailureFound(e))
        self.handle(events.Fetched(batch, drained))

    def _of_known_topics(self, batch: FetchedBatch) -> FetchedBatch | None:
        """Return the records without those that the consumer has gone back for, as ``auto.offset.reset`` says, since
        their topic was deleted and created again: they are read once more when the task knows.
        """
        back = {p for p, end in batch.ends.items() if end <= self.machine.state.taken.get(p, -1)}
        if back:
            self._compare_topics(at_once=True)
            return batch.divided(back & self.machine.state.recreated)[1]
        return batch

    def _compare_topics(self, at_once: bool) -> None:
        if recreated := self.consumer.identities.recreated(self.machine.state.assigned, at_once):
            self.handle(events.TopicsRecreated(recreated))
            if self.consumer.offset_reset == "error":
                self.handle(events.FailureFound(no_renewed_start(recreated)))

    def _seek(self, partition: TopicPartition, offset: int) -> None:
        """A partition that is not fetched yet can't seek; it is tried again in the next turn."""
        try:
            self.consumer.client.seek(ClientPartition(*partition, offset))
        except KafkaException as e:
            log.debug("Can't rewind %s to offset %d yet: %s", partition, offset, e.args[0].str())
            return
        self.consumer.watch.forget({partition})
        self.handle(events.PartitionSought(partition, offset))

    def _look_up_starts(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.consumer.identities.learn(partitions)
        client = [ClientPartition(*partition) for partition in partitions]
        starts = positions(self.consumer.client, client, self.consumer.offset_reset)
        self.handle(events.StartsFound(partitions, starts))

    def _assign(self, action: actions.AssignPartitions) -> None:
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
        self._rebalance(events.PartitionsAssigned(offsets))

    def on_revoke(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        self._remove(names(partitions), lost=False)

    def on_lost(self, consumer: Consumer, partitions: list[ClientPartition]) -> None:
        self._remove(names(partitions), lost=True)

    def _remove(self, partitions: list[TopicPartition], lost: bool) -> None:
        self.consumer.member.left(time.monotonic())
        if partitions:
            self._rebalance(events.PartitionsRevoked(tuple(partitions), lost))
            self.records.removed |= set(partitions)

    def _rebalance(self, event: events.Rebalance) -> None:
        """Called within a fetch, after which a failure fails the task."""
        try:
            self.handle(event)
        except Exception as e:
            self.handle(events.FailureFound(e))

    # -- batches and puts

    def _start_batch(self, batch: FetchedBatch) -> None:
        metrics = self.runtime.metrics
        metrics.traces.begin(batch.records.headers)
        metrics.traces.polled(batch.records)
        metrics.add("sink-record-read-total", len(batch))
        self.steps.originals.fetched(batch.records, batch.ends, self.machine.state.committed)

    def _log_retry(self, error: Exception, again: bool) -> None:
        waiting = isinstance(error, NotReadyError)
        if not waiting:
            self.runtime.metrics.survived(error)
            self._retries.failed(error, reports=not self.machine.state.connector_paused)
        level = logging.DEBUG if waiting or again else logging.ERROR
        log.log(level, "RetriableException from SinkTask", exc_info=error)

    # -- the task

    def _open(self, partitions: tuple[TopicPartition, ...]) -> None:
        self.context.assign(self.machine.state.assigned)
        with self.runtime.control.calls.entered("open"):
            self.task.open(list(partitions))
        self.handle(events.TaskOpened(partitions))

    def _close(self, partitions: tuple[TopicPartition, ...]) -> None:
        try:
            with self.runtime.control.calls.entered("close"):
                self.task.close(list(partitions))
        finally:
            self.consumer.watch.forget(partitions)
            self.handle(events.TaskClosed(partitions))
            self.context.assign(self.machine.state.assigned)
            self.consumer.identities.keep(self.machine.state.assigned | self.machine.state.reopening)

    def _begin_commit(self, action: actions.BeginCommit) -> None:
        if action.closing and self.runtime.control.aborted:
            return
        state, metrics, began = self.machine.state, self.runtime.metrics, time.monotonic()
        uncommitted = any(state.taken.get(p) != state.committed.get(p) for p in action.partitions)
        if uncommitted or not action.closing:
            self._compare_topics(at_once=uncommitted)
        self.settle = self.context.settling(self.steps.queue, max(self.timing.timeout, QUEUE_FLUSH_SECONDS))
        if self.settle():
            self.handle(events.LettersArrived(action.partitions, action.closing))
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
            self.handle(events.PreCommitFailed(partitions, closing))
            return
        try:
            settled = self.settle()
        except Exception:
            self.handle(events.LettersLost(partitions))
            raise
        if settled:
            self.handle(events.OffsetsAgreed(offsets, agreed_offsets(answer), closing))
        else:
            metrics.committed(0.0, success=False)

"""The loop of a source task: poll → transforms → converters → produce → commit offsets, on whole batches.

Nothing is done per record in Python but the call of ``produce``. A policy decides when offsets are committed
(``commit``, ``transactions``). Java: ``AbstractWorkerSourceTask``, ``WorkerSourceTask``,
``ExactlyOnceWorkerSourceTask``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SourceRecord
from penstock.api.returned import idle_seconds, polled_batch
from penstock.api.runtime_hooks import RuntimeHooks, hooks_of
from penstock.api.source import SourceTask
from penstock.kafka.topic_guard import TopicGuard
from penstock.pipeline.errors import Step, StoppedError, origin_of
from penstock.pipeline.retry_status import RetryStatus
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.source.commit import CommitPolicy, Ending
from penstock.pipeline.source.failed_records import SourceDeadLetters, SourceLogReporter
from penstock.pipeline.source.long_polls import LongPolls
from penstock.pipeline.source.sending.delivery_tracking import tracked
from penstock.pipeline.source.topic_creation import TopicCreator
from penstock.pipeline.topics import TopicReporter
from penstock.values.repeated import distinct

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.1
RETRYING = "penstock-retrying"


@dataclass(frozen=True, slots=True)
class SourceSteps:
    """The steps that turn a polled batch into bytes, and the reporters of records that fail in them."""

    steps: list[Step]
    dead_letters: SourceDeadLetters | None
    failure_log: SourceLogReporter


def check_topics(topics: Iterable[object], batch: Batch) -> None:
    """Raise ConnectError, which names the record, if one of the batch has no topic; ``topics`` are its different ones.

    Java: the IllegalArgumentException of ``ProducerRecord``. No record of the batch is sent.
    """
    if all(isinstance(topic, str) and topic for topic in topics):
        return
    row = next(i for i, topic in enumerate(batch.topics) if not (isinstance(topic, str) and topic))
    shown = "Topic cannot be null" if batch.topics[row] is None else f"Invalid topic: {batch.topics[row]!r}"
    raise ConnectError(f"{shown}. The task has returned a record that can't be sent ({origin_of(batch, row)})")


@dataclass(slots=True)
class TargetTopics:
    """The topics that records are sent to: checked, created if a rule says so, and reported to the worker once a record
    has arrived.
    """

    active: TopicReporter
    creator: TopicCreator
    guard: TopicGuard
    awaited: set[str] = field(default_factory=set)
    """New topics in which no record has arrived yet."""

    def new(self, topics: Iterable[str]) -> set[str]:
        """Return the topics that were not used before; they are awaited from now on."""
        new = self.active.unknown(topics) - self.awaited
        self.awaited |= new
        return new

    def ensure(self, topics: set[str]) -> None:
        """Create those that a rule wants. Raises InternalTopicError if a record may not be sent to one of them, and
        what ``TopicCreator.ensure`` raises.
        """
        self.guard.check_written(topics)
        self.creator.ensure(topics)

    def arrived(self, topics: set[str]) -> None:
        self.active.used(topics)
        self.awaited -= topics


@dataclass(slots=True)
class SourceLoop:
    """The loop of a source task; ``run`` is the loop itself."""

    runtime: TaskRuntime
    task: SourceTask
    commit: CommitPolicy
    steps: SourceSteps
    topics: TargetTopics
    hooks: RuntimeHooks = field(init=False)
    _polls: LongPolls | None = field(init=False)
    _retry: str | None = field(init=False, default=None)
    """The error after which something is tried again; None if there is none."""

    _status: RetryStatus = field(init=False)

    def __post_init__(self) -> None:
        self._status = RetryStatus(self.runtime.host)
        self.hooks = hooks_of(self.task)
        # A poll that goes on elsewhere lets the loop go round, and commit.
        self._polls = None if self.hooks.polls_aside else self.commit.polls()

    def run(self) -> None:
        """Poll and send until the task is to stop. Before a stop or a pause, the records of a poll that goes on
        elsewhere are sent.
        """
        with nullcontext() if self._polls is None else self._polls.begun():
            self._run()

    def _run(self) -> None:
        control, metrics = self.runtime.control, self.runtime.metrics
        metrics.put(RETRYING, 0.0)
        while not control.stopping or (self.hooks.awaited and not control.aborted):
            if control.pausing and (control.aborted or not self.hooks.begun):
                self._pause()
                continue
            started = time.monotonic()
            metrics.traces.begin()
            polled = self._poll()
            now = time.monotonic()
            active = self.commit.unacknowledged()
            metrics.put("source-record-active-count", active)
            metrics.tick(now)
            if polled is None or (batch := polled_batch(polled)) is None:
                metrics.traces.idle()
                with self._committing():
                    self._store_uncarried()
                    wanted = self.commit.idle(now) if self._polled_out() else self.commit.tick(now)
                self._report_topics(0.0)
                if not control.stopping:
                    control.wait(min(idle_seconds(self.task.idle()), wanted))
                continue
            metrics.add("source-record-poll-total", len(batch))
            metrics.observe("poll-batch", (now - started) * 1000, "-time-ms")
            metrics.observe("source-record-active-count", active)
            metrics.observe("source-record-active-count", active + len(batch))
            metrics.observe("batch-size", len(batch))
            metrics.traces.polled(batch)
            metrics.spent("poll", now - started)
            newest = batch.timestamps[-1]
            metrics.put("penstock-newest-record-timestamp", time.time() * 1000 if newest is None else newest)
            for part, then in self.commit.parts(polled, batch):
                self._process(part)
                if then is not None:
                    then()
            with self._committing():
                self._store_uncarried()
                self.commit.sent()
            self._report_topics(0.0)
            metrics.traces.end()

    def finish(self, how: Ending) -> None:
        """Commit what has arrived and report its topics; called when the task has been stopped."""
        self.commit.finish(how)
        self._report_topics(0.0)

    def _store_uncarried(self) -> None:
        if uncarried := self.hooks.uncarried_offsets():
            self.commit.uncarried(SourceOrigin(*map(list, zip(*uncarried, strict=True))))

    def _polled_out(self) -> bool:
        """Return whether a poll that brought no records has ended: one that was begun elsewhere may still run."""
        return not self.runtime.control.stopping and not self.hooks.begun

    def meanwhile(self) -> None:
        """Commit what was sent before a record that waits for its next attempt; called while it waits."""
        now = time.monotonic()
        self.runtime.metrics.tick(now)
        with self._committing():
            self.commit.meanwhile(now)

    @contextmanager
    def _committing(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.runtime.metrics.spent("commit", time.monotonic() - began)

    def _poll(self) -> Sequence[SourceRecord] | Batch | None:
        control, poll = self.runtime.control, self.task.poll
        if self.hooks.polls_aside and (control.stopping or control.pausing):
            poll = self.hooks.poll_begun
        try:
            with control.calls.entered("poll"), nullcontext() if self._polls is None else self._polls.polling():
                polled = poll()
        except RetriableError as e:
            level = logging.WARNING if self._retries(e) else logging.DEBUG
            log.log(level, "Failed to poll records from SourceTask. Will retry operation.", exc_info=True)
            return None
        if polled is not None or not self.hooks.begun:
            self._works()
        return polled

    def _retries(self, error: RetriableError) -> bool:
        """Count and report an error after which something is tried again; return whether it is another than before."""
        before, self._retry = self._retry, str(error)
        metrics = self.runtime.metrics
        metrics.survived(error)
        metrics.put(RETRYING, 1.0)
        self._status.failed(error, reports=not self.runtime.control.pausing)
        return self._retry != before

    def _works(self) -> None:
        if self._retry is not None:
            self._retry = None
            self.runtime.metrics.put(RETRYING, 0.0)
            self._status.over(reports=not self.runtime.control.pausing)

    def _process(self, part: Batch) -> None:
        """Transform, convert and send; raises what ended it after the records before the failed one were sent."""
        if self.steps.dead_letters is not None:
            part = tracked(part)
        part = self.steps.failure_log.processed(part)
        ready, error = self.runtime.errors.run_until(self.steps.steps, part)
        self._send(part, ready, complete=error is None)
        if error is not None:
            raise error
        if len(ready) < len(part) and self.hooks.stores_dropped:
            assert isinstance(part.origin, SourceOrigin)
            self.commit.uncarried(part.origin)

    def _send(self, part: Batch, ready: Batch, complete: bool) -> None:
        topics = distinct(ready.topics)
        check_topics(topics, ready)
        new = self.topics.new(topics)
        if new:
            self.commit.expect(new)
        if topics:
            self._create_topics(topics)
        if self.steps.dead_letters is not None:
            ready = self.steps.dead_letters.among(part, ready, complete)
        self.commit.send(part, self.runtime.metrics.traces.carried(ready))
        self._report_topics(1.0 if new else 0.0)

    def _create_topics(self, topics: set[str]) -> None:
        """Check them and create those that a rule wants. Raises StoppedError if the task is stopped while brokers can't
        be reached: nothing that was polled after these records may be sent. Raises InternalTopicError: no record of the
        batch is sent.
        """
        while True:
            try:
                self.topics.ensure(topics)
                self._works()
                return
            except RetriableError as error:
                log.warning("Failed to send records. Backing off before retrying", exc_info=self._retries(error))
                self.runtime.metrics.tick(time.monotonic())
                if self.runtime.control.halted.wait(RETRY_SECONDS):
                    raise StoppedError("The task was stopped while its topics were to be created") from error

    def _report_topics(self, seconds: float) -> None:
        if self.topics.awaited and (arrived := self.commit.arrived(seconds)):
            self.topics.arrived(arrived)

    def _pause(self) -> None:
        control, host = self.runtime.control, self.runtime.host
        self.commit.pause()
        host.paused()
        self._status.paused()
        while control.pausing and not control.stopping:
            now = time.monotonic()
            self.runtime.metrics.tick(now)
            control.wait(min(self.commit.tick(now), 5.0))
            self._report_topics(0.0)
        if not control.stopping:
            host.running()

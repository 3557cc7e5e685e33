"""The loop of a source task: poll → transforms → converters → produce → commit offsets, on whole batches.

Nothing is done per record in Python but the call of ``produce``. When offsets are committed is the matter of a policy
(``commit``, ``transactions``). Java: ``AbstractWorkerSourceTask``, ``WorkerSourceTask``,
``ExactlyOnceWorkerSourceTask``.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask, TransactionContext
from penstock.core.model.tasks import TaskId
from penstock.core.topic_creation.groups import TopicCreation, uses_topic_creation
from penstock.java.regex import compile_regex
from penstock.kafka.client_settings import connector_admin, connector_producer, internal, transactional_producer
from penstock.kafka.clients import admin_like, make_admin, new_producer, producer_config
from penstock.kafka.security.settings import Security
from penstock.pipeline.chain import Chain, Resolve
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.dead_letters import make_queue, queue_of
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, FailureReporter, LogReporter, Step, StoppedError
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.commit import AtLeastOnce, Commit, RecordByRecord
from penstock.pipeline.source.dead_letters import SourceDeadLetters
from penstock.pipeline.source.delivery_tracking import tracked, wants_acknowledgements
from penstock.pipeline.source.offset_log import HostOffsetLog, OffsetCopies, OffsetLog, TopicOffsetLog
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.sender import STATISTICS_SECONDS, Sender
from penstock.pipeline.source.topic_creation import TopicCreator
from penstock.pipeline.source.topic_limits import TopicLimits
from penstock.pipeline.source.transaction_boundaries import Boundaries
from penstock.pipeline.source.transactions import ExactlyOnce, unsent
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec, await_start, seconds_of
from penstock.pipeline.topics import ActiveTopics

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.1
TOTALS = ("source-record-poll-total", "source-record-write-total", "source-record-active-count")


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The ``SourceTaskContext`` that tasks get."""

    configs: Mapping[str, str]
    offset_reader: SourceTaskOffsets
    transaction: TransactionContext | None


@dataclass(slots=True)
class Stopper:
    """Calls ``stop`` of a task once, whoever is first: the host's thread or the end of the loop."""

    stop: Callable[[], None]
    lock: threading.Lock
    done: bool = False

    def __call__(self) -> None:
        with self.lock:
            if self.done:
                return
            self.done = True
        try:
            self.stop()
        except Exception:
            log.warning("Could not stop task", exc_info=True)


def run_source_task(
    spec: TaskSpec, task_class: Callable[[], SourceTask], control: TaskControl, host: TaskHost, resolve: Resolve
) -> None:
    """Run the task until it is stopped; returns when everything it held is closed.

    Raises what ended it otherwise, after the same cleanup; ``trace.trace`` makes the text of its status. ``resolve``
    finds plugin classes.
    """
    id = TaskId(spec.connector, spec.task)
    with contextlib.ExitStack() as stack:
        metrics = Metrics(host.metrics, TOTALS)
        settings = ErrorSettings.of(spec.connector_config)
        reporters: list[FailureReporter] = [LogReporter(id, settings, metrics)]
        letters = _letters(spec, id, metrics)
        if letters is not None:
            reporters.insert(0, letters)
        errors = ErrorHandler(settings, metrics, control.halted.wait, tuple(reporters))
        conversion = Conversion.build(spec.connector_config, spec.worker_config, resolve)
        stack.callback(conversion.close)
        chain = Chain.build(spec.connector_config, resolve)
        stack.callback(chain.close)
        offsets = SourceTaskOffsets(spec)
        if not await_start(control, host):
            return
        task = task_class()
        commit, sender = _commit_policy(spec, id, task, offsets, metrics, control, host, errors)
        stack.callback(commit.close)
        sender.insists = None if letters is None else letters.topic
        transaction = None
        if isinstance(commit, ExactlyOnce):
            commit.begin()
            transaction = commit.context
        topics = ActiveTopics(spec, control, host)
        creator = TopicCreator(_admin(spec, id), _rules(spec), lambda: _principal(spec))
        creator.adjust = task.settings_for_new_topic
        task.context = SourceContext(dict(spec.config), offsets, transaction)
        stopper = Stopper(task.stop, threading.Lock())
        stack.callback(stopper)
        control.on_stop = stopper
        task.start(dict(spec.config))
        log.info("%s Source task finished initialization and start", id)
        host.running()
        steps = [*chain.steps, *conversion.from_connect()]
        loop = _Loop(task, control, host, commit, sender, errors, steps, topics, creator, metrics, letters)
        try:
            loop.run()
        except StoppedError as stopped:
            log.info("%s %s; it will be polled again after the next start", id, stopped)
        except Exception:
            if not control.aborted:
                _finish_failed(commit)
            raise
        if not control.aborted:
            commit.finish(failed=False)


def _finish_failed(commit: Commit) -> None:
    try:
        commit.finish(failed=True)
    except Exception:
        log.exception("Failed to commit offsets for already-failing task")


@dataclass(slots=True)
class _Loop:
    """What the loop works with; ``run`` is the loop."""

    task: SourceTask
    control: TaskControl
    host: TaskHost
    commit: Commit
    sender: Sender
    errors: ErrorHandler
    steps: list[Step]
    topics: ActiveTopics
    creator: TopicCreator
    metrics: Metrics
    letters: SourceDeadLetters | None
    awaited: set[str] = field(default_factory=set)
    """Topics that count as used as soon as a record has arrived in them."""

    def run(self) -> None:
        while not self.control.stopping:
            if self.control.pausing:
                self._pause()
                continue
            started = time.monotonic()
            polled = self._poll()
            now = time.monotonic()
            self.metrics.put("source-record-active-count", len(self.sender.producer))
            self.metrics.tick(now)
            if polled is None or not len(polled):
                wanted = self.commit.tick(now)
                self._report(0.0)
                if not self.control.stopping:
                    self.control.wait(min(self.task.idle(), wanted))
                continue
            batch = polled if isinstance(polled, Batch) else Batch.of_source_records(polled)
            self.metrics.add("source-record-poll-total", len(batch))
            self.metrics.observe("poll-batch", (now - started) * 1000, "-time-ms")
            self.metrics.observe("batch-size", len(batch))
            for piece, afterwards in self.commit.pieces(polled, batch):
                if self.letters is not None:
                    piece = tracked(piece)
                ready, error = self.errors.run_until(self.steps, piece)
                self._send(piece, ready, complete=error is None)
                if error is not None:
                    raise error
                if afterwards is not None:
                    afterwards()
            self.commit.sent()

    def _poll(self) -> Sequence[SourceRecord] | Batch | None:
        try:
            return self.task.poll()
        except RetriableError as e:
            log.warning("Failed to poll records from SourceTask. Will retry operation.", exc_info=True)
            self.metrics.survived(e)
            return None

    def _send(self, piece: Batch, ready: Batch, complete: bool) -> None:
        new = self.topics.unknown(ready.topics) - self.awaited
        if new:
            self.awaited |= new
            self.commit.expect(new)
        if len(ready) and not self._created(ready.topics):
            return
        if self.letters is not None:
            ready = self.letters.among(piece, ready, complete)
        self.commit.send(piece, ready)
        self._report(1.0 if new else 0.0)

    def _created(self, topics: list[str]) -> bool:
        """Create them if they are to be; False if the task is stopped while the brokers can't be reached."""
        while True:
            try:
                self.creator.ensure(topics)
                return True
            except RetriableError:
                log.warning("Failed to send records. Backing off before retrying", exc_info=True)
                if self.control.halted.wait(RETRY_SECONDS):
                    return False

    def _report(self, seconds: float) -> None:
        if self.awaited and (arrived := self.commit.arrived(seconds)):
            self.topics.used(arrived)
            self.awaited -= arrived

    def _pause(self) -> None:
        self.commit.pause()
        self.host.paused()
        while self.control.pausing and not self.control.stopping:
            now = time.monotonic()
            self.metrics.tick(now)
            self.control.wait(min(self.commit.tick(now), 5.0))
            self._report(0.0)
        if not self.control.stopping:
            self.host.running()


def _commit_policy(
    spec: TaskSpec,
    id: TaskId,
    task: SourceTask,
    offsets: SourceTaskOffsets,
    metrics: Metrics,
    control: TaskControl,
    host: TaskHost,
    errors: ErrorHandler,
) -> tuple[Commit, Sender]:
    interval = seconds_of(spec, "offset.flush.interval.ms", "60000")
    tells = wants_acknowledgements(type(task))
    client_id = f"connector-producer-{id}"
    copies = OffsetCopies(_worker_producer(spec, id), spec.global_offsets_topic)
    if spec.exactly_once:
        if spec.offsets_topic is None:
            raise ConnectError(f"Task {id} can't be exactly once: no offsets topic was given to it")
        kind = spec.connector_config.get("transaction.boundary", "poll").strip().lower()
        given = spec.connector_config.get("transaction.boundary.interval.ms")
        boundaries = Boundaries(kind, interval if given is None else int(given) / 1000)
        transactional_id = f"{spec.group_id}-{id}"
        java = transactional_producer(spec.worker_config, spec.connector_config, client_id, transactional_id)
        sender = Sender(id, control, errors, False, lambda error: unsent(id, error))
        native = {"delivery.report.only.error": not tells, "on_delivery": sender.failed}
        sender.attach(new_producer(java, **native), _largest(java), _limits(java))
        once = ExactlyOnce(id, sender, offsets, spec.offsets_topic, copies, boundaries, metrics, control)
        once.task = task
        return once, sender
    java = connector_producer(spec.worker_config, spec.connector_config, client_id)
    sender = Sender(id, control, errors, errors.settings.tolerate)
    native = {"delivery.report.only.error": not tells, "on_delivery": sender.failed}
    native |= {"stats_cb": sender.counted, "statistics.interval.ms": int(STATISTICS_SECONDS * 1000)}
    sender.attach(new_producer(java, **native), _largest(java), _limits(java))
    offset_log: OffsetLog = HostOffsetLog(host)
    if spec.offsets_topic is not None:
        # A topic of the connector's own is where its records are, on another cluster perhaps.
        own = spec.global_offsets_topic is not None
        make = _own_producer(spec, id) if own else _worker_producer(spec, id)
        offset_log = TopicOffsetLog(make, spec.offsets_topic, copies)
    timeout = seconds_of(spec, "offset.flush.timeout.ms", "5000")
    kind_of_commit = RecordByRecord if tells else AtLeastOnce
    commit = kind_of_commit(sender, offsets, offset_log, metrics, control, interval, timeout)
    commit.task = task
    return commit, sender


def _letters(spec: TaskSpec, id: TaskId, metrics: Metrics) -> SourceDeadLetters | None:
    """The connector's dead letter queue, whose topic is there then."""
    if queue_of(spec.connector_config, "source") is None:
        return None
    admin = make_admin(spec.worker_config, spec.connector_config, client_id=f"connector-dlq-adminclient-{id}")
    make_queue(admin, spec.connector_config, "source")
    return SourceDeadLetters(id, spec.connector_config, metrics)


def _largest(java: Mapping[str, str]) -> int:
    return int(java.get("max.request.size", 1_048_576))


def _limits(java: Mapping[str, str]) -> TopicLimits:
    return TopicLimits(lambda: admin_like(java), producer_config(java)["batch.size"])


def _worker_producer(spec: TaskSpec, id: TaskId) -> Callable[[], Producer]:
    return lambda: new_producer(internal(spec.worker_config, "producer", f"{id}-offsets"))


def _own_producer(spec: TaskSpec, id: TaskId) -> Callable[[], Producer]:
    client_id = f"connector-producer-{id}-offsets"
    return lambda: new_producer(connector_producer(spec.worker_config, spec.connector_config, client_id))


def _admin(spec: TaskSpec, id: TaskId) -> Callable[[], AdminClient]:
    return lambda: make_admin(spec.worker_config, spec.connector_config, client_id=f"connector-adminclient-{id}")


def _principal(spec: TaskSpec) -> str:
    return Security.of(connector_admin(spec.worker_config, spec.connector_config, "")).principal


def _rules(spec: TaskSpec) -> TopicCreation:
    if spec.worker_config.get("topic.creation.enable", "true").strip().lower() != "true":
        if spec.task == 0 and uses_topic_creation(spec.connector_config):
            log.warning(
                "The topic.creation settings of connector %s have no effect, since this worker has "
                "topic.creation.enable=false: topics that are missing are left to the broker",
                spec.connector,
            )
        return TopicCreation()
    return TopicCreation.from_config(spec.connector_config, compile_regex)

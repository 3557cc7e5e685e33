"""A run of a source task: makes what its loop works with, runs it, and closes all of it.

Java: ``Worker.startTask``, ``SourceTaskBuilder``, ``ExactlyOnceSourceTaskBuilder``.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConnectError
from penstock.api.kafka import KafkaClients
from penstock.api.paths import folders_of, limit_to_folders
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.runtime_hooks import hooks_of
from penstock.api.source import SourceTask, TransactionContext
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS, InternalTopics
from penstock.core.config.runtime_settings import value_of
from penstock.core.config.source import TRANSACTION_BOUNDARY, TRANSACTION_INTERVAL
from penstock.core.model.tasks import TaskId
from penstock.core.topic_creation.groups import TopicCreation, uses_topic_creation
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.java.regex import compile_regex
from penstock.kafka.client_settings import connector_admin, connector_producer, internal, transactional_producer
from penstock.kafka.clients import admin_like, make_admin, new_producer, producer_config
from penstock.kafka.connector_clients import ConnectorClients
from penstock.kafka.security.settings import Security
from penstock.kafka.topic_guard import Latest, TopicGuard, guard_of
from penstock.pipeline.broker_errors import unsent
from penstock.pipeline.chain import Resolve
from penstock.pipeline.conversion import conversion_and_chain
from penstock.pipeline.dead_letters import make_queue, queue_guards, queue_of
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, FailureReporter, PipelineStage, Step, StoppedError
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, StopOnce, TaskRuntime
from penstock.pipeline.source.commit import AtLeastOnce, CommitPolicy, Ending, RecordByRecord
from penstock.pipeline.source.failed_records import SourceDeadLetters, SourceLogReporter
from penstock.pipeline.source.figures import SourceFigures
from penstock.pipeline.source.loop import SourceLoop, SourceSteps, TargetTopics
from penstock.pipeline.source.offset_log import HostOffsetLog, OffsetCopies, OffsetLog, TopicOffsetLog
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.sending.delivery_tracking import wants_acknowledgements
from penstock.pipeline.source.sending.sender import (
    LONG_STATISTICS_SECONDS,
    STATISTICS_SECONDS,
    LossPolicy,
    RequestLimits,
    Sender,
)
from penstock.pipeline.source.sending.topic_limits import TopicLimits
from penstock.pipeline.source.topic_creation import TopicCreator, creates_topics
from penstock.pipeline.source.transaction_boundaries import TransactionBoundaries
from penstock.pipeline.source.transactions import ExactlyOnce, TransactionalOffsets
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec, await_start
from penstock.pipeline.telemetry.open_traces import open_traces
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.pipeline.telemetry.stages import timed
from penstock.pipeline.telemetry.topic_schemas import noting
from penstock.pipeline.topics import TopicReporter

log = logging.getLogger(__name__)

MAX_REQUEST_SIZE, MAX_BLOCK_MS = "max.request.size", "max.block.ms"
CLUSTER_SECONDS = 10.0
"""The time to wait for the ID of a cluster."""
TOTALS = ("source-record-poll-total", "source-record-write-total", "source-record-active-count")


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The ``SourceTaskContext`` of a run."""

    configs: Mapping[str, str]
    offset_reader: SourceTaskOffsets
    transaction: TransactionContext | None
    plugin_metrics: PluginMetrics
    metrics: Metrics
    """The metrics of the run, for tasks of our own whose records are sent elsewhere."""
    internal: InternalTopics = NO_INTERNAL_TOPICS
    """The topics that no record may be read from or written to, as they were known at the start."""
    latest: Latest = lambda: None

    @property
    def kafka(self) -> KafkaClients:
        return ConnectorClients(lambda: self.latest() or self.internal)


def run_source_task(
    spec: TaskSpec,
    task_class: Callable[[], SourceTask],
    control: TaskControl,
    host: TaskHost,
    resolve: Resolve,
    timing: CommitTiming | None = None,
) -> None:
    """Run the task until it is stopped; returns when everything it held is closed.

    Raises what ended it otherwise, after the same cleanup; ``trace.trace`` makes the text of its status. ``resolve``
    finds plugin classes. ``timing``: another one than the worker's, without exactly once.
    """
    id = TaskId(spec.connector, spec.task)
    limit_to_folders(folders_of(spec.worker_config))
    with contextlib.ExitStack() as stack:
        jvm = stack.enter_context(task_jvm(spec))
        plugins = MetricsOfPlugins({"connector": id.connector, "task": str(id.task)})
        metrics = Metrics(
            host.metrics,
            TOTALS,
            traces=open_traces(spec),
            plugins=lambda: [*plugins.read(), *jvm.plugin_metrics()],
        )
        stack.callback(metrics.traces.close)
        settings = ErrorSettings.of(spec.connector_config)
        failure_log = SourceLogReporter(id, settings, metrics)
        reporters: list[FailureReporter] = [failure_log]
        dead_letters = _dead_letters(spec, id, metrics)
        if dead_letters is not None:
            reporters.insert(0, dead_letters)
        errors = ErrorHandler(settings, metrics, control.halted.wait, tuple(reporters))
        runtime = TaskRuntime(id, control, host, metrics, errors)
        conversion, chain = stack.enter_context(
            conversion_and_chain(spec.connector_config, spec.worker_config, resolve, plugins)
        )
        offsets = SourceTaskOffsets(spec)
        if not await_start(control, host):
            return
        task = task_class()
        must_deliver = None if dead_letters is None else dead_letters.topic
        commit, sender = _commit_policy(spec, runtime, task, offsets, must_deliver, timing or CommitTiming.of(spec))
        stack.callback(commit.close)
        transaction = None
        if isinstance(commit, ExactlyOnce):
            if not commit.begin():
                return
            offsets.load(host.committed_offsets())
            transaction = commit.context
        creator = TopicCreator(
            _admin(spec, id),
            _rules(spec),
            task.settings_for_new_topic,
            lambda: _principal(spec),
            _admin_guard(spec).follow(lambda: control.internal_topics),
        )
        task.context = SourceContext(
            dict(spec.config),
            offsets,
            transaction,
            plugins.of(),
            metrics,
            spec.internal_topics,
            lambda: control.internal_topics,
        )
        stop = StopOnce(task.stop, control.calls)
        stack.callback(stop)
        hooks = hooks_of(task)
        control.on_stop = partial(hooks.end_polls, stop)
        if hooks.polls_aside:
            control.calls.watch("poll", hooks.polling_since)
        with control.calls.entered("start"):
            task.start(dict(spec.config))
        log.info("%s Source task finished initialization and start", id)
        host.running()
        name = getattr(type(task), "java_name", None) or type(task).__qualname__
        checking = [Step(PipelineStage.TASK_POLL, name, hooks.checked)] if hooks.checks else []
        chained = [*checking, *chain.steps, *noting(spec, metrics), *conversion.from_java()]
        steps = SourceSteps(timed(chained, metrics, control.calls), dead_letters, failure_log)
        topics = TargetTopics(
            TopicReporter(spec, control, host), creator, _guard(spec).follow(lambda: control.internal_topics)
        )
        loop = SourceLoop(runtime, task, commit, steps, topics)
        errors.meanwhile = loop.meanwhile
        metrics.before_report = SourceFigures(task, offsets, sender.statistics, metrics, spec.offsets_topic).measure
        how = Ending.STOPPED
        try:
            loop.run()
        except StoppedError as stopped:
            how = Ending.HALFWAY
            log.info("%s %s; it will be polled again after the next start", id, stopped)
        except Exception as error:
            metrics.traces.end(error)
            if not control.aborted:
                _finish_failed(commit)
            raise
        if not control.aborted:
            loop.finish(how)


def _finish_failed(commit: CommitPolicy) -> None:
    try:
        commit.finish(Ending.FAILED)
    except Exception:
        log.exception("Failed to commit offsets for already-failing task")


def _commit_policy(
    spec: TaskSpec,
    runtime: TaskRuntime,
    task: SourceTask,
    offsets: SourceTaskOffsets,
    must_deliver: str | None,
    timing: CommitTiming,
) -> tuple[CommitPolicy, Sender]:
    """Make the policy that the settings ask for, and the sender that it uses."""
    if spec.exactly_once:
        if spec.offsets_topic is None:
            raise ConnectError(f"Task {runtime.id} can't be exactly once: no offsets topic was given to it")
        losses = LossPolicy(must_deliver=must_deliver, failure=lambda error: unsent(runtime.id, error))
        sender = _sender(spec, runtime, task, losses)
        stored = TransactionalOffsets(offsets, spec.offsets_topic, _copies(spec, runtime.id, sender))
        return ExactlyOnce(runtime, task, sender, stored, _boundaries(spec)), sender
    sender = _sender(spec, runtime, task, LossPolicy(runtime.errors.settings.tolerate, must_deliver))
    offset_log: OffsetLog = HostOffsetLog(runtime.host)
    if spec.offsets_topic is not None:
        # A topic of the connector's own is where its records are, on another cluster perhaps.
        own = spec.global_offsets_topic is not None
        make = _own_producer(spec, runtime.id) if own else _worker_producer(spec, runtime.id)
        offset_log = TopicOffsetLog(make, spec.offsets_topic, _copies(spec, runtime.id, sender))
    policy = RecordByRecord if wants_acknowledgements(type(task)) else AtLeastOnce
    return policy(runtime, task, sender, offsets, offset_log, timing), sender


def _sender(spec: TaskSpec, runtime: TaskRuntime, task: SourceTask, losses: LossPolicy) -> Sender:
    """Make the sender of the task's records; its producer is transactional with exactly once."""
    client_id = f"connector-producer-{runtime.id}"
    if spec.exactly_once:
        transactional_id = f"{spec.group_id}-{runtime.id}"
        java = transactional_producer(spec.worker_config, spec.connector_config, client_id, transactional_id)
    else:
        java = connector_producer(spec.worker_config, spec.connector_config, client_id)
    seconds = LONG_STATISTICS_SECONDS if spec.exactly_once else STATISTICS_SECONDS
    native = {
        "delivery.report.only.error": not wants_acknowledgements(type(task)),
        "statistics.interval.ms": int(seconds * 1000),
    }
    limits = TopicLimits(lambda: admin_like(java), producer_config(java)["batch.size"])
    most = parse_type(MAX_REQUEST_SIZE, java.get(MAX_REQUEST_SIZE, 1_048_576), ConfigType.INT)
    max_block = parse_type(MAX_BLOCK_MS, java.get(MAX_BLOCK_MS, 60_000), ConfigType.LONG) / 1000
    return Sender(
        runtime,
        losses,
        lambda callbacks: new_producer(java, **native, **callbacks),
        limits,
        RequestLimits(most, max_block),
        java["client.id"],
    )


def _copies(spec: TaskSpec, id: TaskId, sender: Sender) -> OffsetCopies:
    """Make the copies to the worker's offsets topic; they do nothing unless the connector has a topic of its own."""
    producer = _worker_producer(spec, id)
    return OffsetCopies(producer, spec.global_offsets_topic, lambda: _has_one_topic(spec, sender.producer))


def _has_one_topic(spec: TaskSpec, producer: Producer) -> bool:
    """Return whether the connector's own offsets topic is the worker's, though their brokers have been given by
    different addresses. Raises KafkaException.
    """
    topic = spec.offsets_topic
    if topic is None or topic != spec.global_offsets_topic or not spec.kafka_cluster_id:
        return False
    return bool(producer.list_topics(topic, timeout=CLUSTER_SECONDS).cluster_id == spec.kafka_cluster_id)


def _boundaries(spec: TaskSpec) -> TransactionBoundaries:
    kind = value_of(spec.connector_config, TRANSACTION_BOUNDARY).strip().lower()
    given = parse_type(TRANSACTION_INTERVAL, spec.connector_config.get(TRANSACTION_INTERVAL), ConfigType.LONG)
    return TransactionBoundaries(kind, CommitTiming.of(spec).interval if given is None else given / 1000)


def _dead_letters(spec: TaskSpec, id: TaskId, metrics: Metrics) -> SourceDeadLetters | None:
    """Make the connector's dead letter queue, if it has one; its topic is created if it does not exist."""
    if queue_of(spec.connector_config, "source") is None:
        return None
    admin = make_admin(spec.worker_config, spec.connector_config, client_id=f"connector-dlq-adminclient-{id}")
    make_queue(admin, spec.connector_config, queue_guards(spec, spec.connector_config), "source")
    return SourceDeadLetters(id, spec.connector_config, metrics)


def _worker_producer(spec: TaskSpec, id: TaskId) -> Callable[..., Producer]:
    return lambda **native: new_producer(internal(spec.worker_config, "producer", f"{id}-offsets"), **native)


def _own_producer(spec: TaskSpec, id: TaskId) -> Callable[..., Producer]:
    client_id = f"connector-producer-{id}-offsets"
    java = connector_producer(spec.worker_config, spec.connector_config, client_id)
    return lambda **native: new_producer(java, **native)


def _guard(spec: TaskSpec) -> TopicGuard:
    return guard_of(spec.internal_topics, connector_producer(spec.worker_config, spec.connector_config, ""))


def _admin_guard(spec: TaskSpec) -> TopicGuard:
    return guard_of(spec.internal_topics, connector_admin(spec.worker_config, spec.connector_config, ""))


def _admin(spec: TaskSpec, id: TaskId) -> Callable[[], AdminClient]:
    return lambda: make_admin(spec.worker_config, spec.connector_config, client_id=f"connector-adminclient-{id}")


def _principal(spec: TaskSpec) -> str:
    return Security.of(connector_admin(spec.worker_config, spec.connector_config, "")).principal


def _rules(spec: TaskSpec) -> TopicCreation:
    if not creates_topics(spec.worker_config):
        if spec.task == 0 and uses_topic_creation(spec.connector_config):
            log.warning(
                "The topic.creation settings of connector %s have no effect, since this worker has "
                "topic.creation.enable=false: topics that are missing are left to the broker",
                spec.connector,
            )
        return TopicCreation()
    return TopicCreation.from_config(spec.connector_config, compile_regex)

"""A run of a sink task: the parts of its loop are made, run and closed. Java: ``Worker.startTask``."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable

from confluent_kafka import KafkaException

from penstock.api.paths import folders_of, limit_to_folders
from penstock.api.sink import SinkTask
from penstock.core.model.tasks import TaskId
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.java.text import java_class_name
from penstock.kafka.admin import sentence, topic_ids
from penstock.kafka.client_settings import connector_consumer, connector_producer, max_poll_records
from penstock.kafka.clients import admin_like, consumer_config, make_admin, new_consumer, new_producer
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.chain import Resolve
from penstock.pipeline.conversion import conversion_and_chain
from penstock.pipeline.dead_letters import DeadLetterQueue, make_queue, queue_guards, queue_of
from penstock.pipeline.errors import (
    ErrorHandler,
    ErrorSettings,
    FailureReporter,
    LogReporter,
    PipelineStage,
    Step,
    StoppedError,
)
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, StopOnce, TaskRuntime
from penstock.pipeline.sink.commits import OffsetCommits
from penstock.pipeline.sink.context import SinkContext, WorkerErrantRecordReporter
from penstock.pipeline.sink.figures import SinkFigures
from penstock.pipeline.sink.identities import AssignedTopicIds, TopicIdRequests
from penstock.pipeline.sink.loop import GroupConsumer, SinkLoop, SinkSteps
from penstock.pipeline.sink.member import MemberReport, SinkGroupMember, consumer_settings
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.sink.puts import JavaPuts, LocalPuts, SinkPuts
from penstock.pipeline.sink.skips import SkippedRecords
from penstock.pipeline.sink.standstill import PartitionWatch
from penstock.pipeline.sink.subscription import Subscription
from penstock.pipeline.task import TaskControl, TaskFencedError, TaskHost, TaskSpec, await_start
from penstock.pipeline.telemetry.open_traces import open_traces
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.pipeline.telemetry.stages import timed
from penstock.pipeline.telemetry.topic_schemas import noting
from penstock.pipeline.topics import TopicReporter

log = logging.getLogger(__name__)

TOTALS = (
    "sink-record-read-total",
    "sink-record-send-total",
    "offset-commit-completion-total",
    "offset-commit-skip-total",
    "sink-record-active-count",
    "partition-count",
)
MAX_RECORDS = 2000
"""The maximum number of records of a ``put``, unless ``max.poll.records`` is set."""


def run_sink_task(
    spec: TaskSpec, task_class: type[SinkTask], control: TaskControl, host: TaskHost, resolve: Resolve
) -> None:
    """Run the task until it is stopped; returns when everything it held is closed.

    Raises what ended it otherwise, after the same cleanup; ``trace.trace`` makes the text of its status. ``resolve``
    finds plugin classes.
    """
    id = TaskId(spec.connector, spec.task)
    connector = {**spec.connector_config, "name": spec.connector}
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
        originals = OriginalRecords()
        settings = ErrorSettings.of(connector)
        reporters: list[FailureReporter] = [LogReporter(id, settings, metrics)]
        queue = None
        if queue_of(connector) is not None:
            java = connector_producer(spec.worker_config, connector, f"connector-dlq-producer-{id}")
            admin = make_admin(spec.worker_config, connector, client_id=f"connector-dlq-adminclient-{id}")
            make_queue(admin, connector, queue_guards(spec, connector))
            of_queue = ClientStatistics("producer", java["client.id"])
            letters = new_producer(java, **of_queue.settings())
            queue = DeadLetterQueue(id, connector, letters, metrics, originals.original, of_queue)
            reporters.insert(0, queue)
        errors = ErrorHandler(settings, metrics, control.halted.wait, tuple(reporters))
        conversion, chain = stack.enter_context(conversion_and_chain(connector, spec.worker_config, resolve, plugins))
        originals.conversion = conversion
        if not await_start(control, host):
            return
        task = task_class()
        reporter = WorkerErrantRecordReporter(errors) if queue is not None or settings.log else None
        task.context = context = SinkContext(dict(spec.config), reporter, plugins.of())
        commits = OffsetCommits(metrics)
        statistics, consumer = _consumer(spec, control, host, connector, commits)
        active = TopicReporter(spec, control, host).step()
        seen = [active, *noting(spec, metrics)]
        steps = timed([*conversion.to_connect(), *seen, *chain.steps], metrics, control.calls)
        puts: SinkPuts = LocalPuts(task)
        if isinstance(task, JavaSinkTask):
            steps.insert(0, Step(PipelineStage.KAFKA_CONSUME, java_class_name(task_class), task.send))
            converters = conversion.in_java() if seen == [active] and not chain.steps else None
            puts = JavaPuts(task, converters, active, metrics)
        # A JVM that converts the records holds them as they were read itself.
        originals.keeps = queue is not None and not puts.convert
        runtime = TaskRuntime(id, control, host, metrics, errors)
        parts = SinkSteps(steps, originals, queue, puts, _skipped(spec, connector, host, metrics, queue))
        loop = SinkLoop(runtime, task, context, consumer, parts, commits, CommitTiming.of(spec))
        context.member = SinkGroupMember(consumer.client, lambda: loop.machine.state.positions)
        errors.meanwhile = loop.meanwhile
        metrics.before_report = SinkFigures(loop, statistics, queue).measure
        stack.callback(loop.leave)
        stack.callback(StopOnce(task.stop, control.calls))
        with control.calls.entered("start"):
            task.start(dict(spec.config))
        log.info("%s Sink task finished initialization and start", id)
        host.running()
        try:
            loop.run()
        except StoppedError as stopped:
            log.info("%s %s; it will be read again after the next start", id, stopped)
        except BaseException as error:
            metrics.traces.end(error)
            _close_failed(loop)
            raise
        loop.close_all()


def _skipped(
    spec: TaskSpec, connector: dict[str, str], host: TaskHost, metrics: Metrics, queue: DeadLetterQueue | None
) -> SkippedRecords:
    client = connector_consumer(spec.worker_config, connector, f"connector-skip-{spec.connector}-{spec.task}")

    def ids(topics: Iterable[str]) -> dict[str, str]:
        try:
            return topic_ids(admin_like(client), topics)
        except KafkaException as error:
            raise TaskFencedError(f"The IDs of topics with skipped records can't be read: {sentence(error)}") from error

    return SkippedRecords(spec.skips, ids, host.skip_over, metrics, queue)


def _close_failed(loop: SinkLoop) -> None:
    """Close the partitions of a failing task. A failure meanwhile is only logged: it is not why the task ends, and does
    not decide whether it is lost.
    """
    try:
        loop.close_all()
    except Exception:
        log.exception("Failed to close the partitions of an already-failing task")


def _consumer(
    spec: TaskSpec, control: TaskControl, host: TaskHost, connector: dict[str, str], commits: OffsetCommits
) -> tuple[ClientStatistics, GroupConsumer]:
    java = consumer_settings(spec)
    native = consumer_config(java)
    statistics = ClientStatistics("consumer", java["client.id"])
    ids = TopicIdRequests(lambda: admin_like({**java, "client.id": f"{java['client.id']}-topics"}))
    cooperative = "cooperative" in str(native.get("partition.assignment.strategy", ""))
    # PartitionWatch needs the events at the ends of partitions.
    client = new_consumer(java, on_commit=commits.answered, **{"enable.partition.eof": True, **statistics.settings()})
    return statistics, GroupConsumer(
        client,
        Subscription(
            connector,
            java,
            native["metadata.max.age.ms"] / 1000,
            spec.internal_topics,
            lambda: control.internal_topics,
        ),
        max_poll_records(spec.worker_config, connector) or MAX_RECORDS,
        str(native["auto.offset.reset"]),
        cooperative or native.get("group.protocol") == "consumer",
        PartitionWatch(client, statistics, native.get("fetch.wait.max.ms", 500) / 1000),
        AssignedTopicIds(ids.ask),
        MemberReport(client, native, host.group_member),
    )

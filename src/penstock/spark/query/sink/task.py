"""A Spark sink's one task, from its start to its stop, as ``pipeline.sink.task`` is for a hosted sink.

A query that ends with an error of the brokers starts again until they answer; a batch that could not be written is
written again as long as ``errors.retry.timeout`` says.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.api.drift import SchemaDrift
from penstock.api.errors import RetriableError
from penstock.api.paths import PathReader
from penstock.api.query import QuerySinkTask
from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings
from penstock.connectors.spark.sink_settings import ON_DATA_LOSS, SinkSettings
from penstock.core.model.tasks import TaskId
from penstock.kafka.client_settings import connector_consumer, connector_producer, consumer_group
from penstock.kafka.clients import admin_like, consumer_config, make_admin, new_consumer, new_producer
from penstock.kafka.fencing import query_transactional_id
from penstock.kafka.offsets.groups import committed_offsets
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.chain import Resolve
from penstock.pipeline.conversion import conversion_and_chain
from penstock.pipeline.dead_letters import DeadLetterQueue, make_queue, queue_guards, queue_of
from penstock.pipeline.errors import ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.task import TOTALS
from penstock.pipeline.task import TaskControl, TaskFencedError, TaskHost, TaskSpec
from penstock.pipeline.telemetry.open_traces import open_traces
from penstock.pipeline.telemetry.traces import TRACES, is_on
from penstock.pipeline.topics import TopicReporter
from penstock.spark.query.asking import SECONDS, check_brokers
from penstock.spark.query.dataframes import DriverContext, full_text
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.batches import Pace, QueryInput, QueryReport, SinkWriter
from penstock.spark.query.sink.direct import DirectWriter, direct_value, goes_direct
from penstock.spark.query.sink.gaps import Gaps
from penstock.spark.query.sink.offsets import QueryOffsets, committing_producer
from penstock.spark.query.sink.progress import requested_root
from penstock.spark.query.sink.query import LOOK_SECONDS, SinkQuery
from penstock.spark.query.sink.retries import BatchRetries, CountedRetries, Retries, RetryReport
from penstock.spark.query.sink.skips import SkippedRows
from penstock.spark.query.sink.tables.target import SinkOwner, target_of, writes_once
from penstock.spark.query.sink.topics import KafkaReader, Topics, kafka_options
from penstock.spark.query.sink.writer import BatchWriter, NotWrittenError, PipelineError, RowTrial
from penstock.spark.task import named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

MAX_PATIENCE = 30.0
"""Maximum of seconds between two starts of a query that does not reach the brokers."""
STATISTICS_MS = 30_000
"""Interval of the reports of the consumers, which only answer requests."""
PAUSED_SECONDS = 60.0
"""Interval in seconds at which a paused task checks whether its offsets are to be committed again."""
_PASSING = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(Timeout|Disconnect|Network|LeaderNotAvailable|NotLeaderOrFollower|"
    r"FencedLeaderEpoch|UnknownLeaderEpoch|OffsetNotAvailable|ReplicaNotAvailable|KafkaStorage|"
    r"CoordinatorNotAvailable|CoordinatorLoadInProgress|NotCoordinator|BrokerNotAvailable|UnknownTopicOrPartition)"
)


def run_sink_query(
    spec: TaskSpec,
    session: SparkSession,
    control: TaskControl,
    host: TaskHost,
    resolve: Resolve,
    entered: Callable[[], None] = lambda: None,
) -> None:
    """Run the task until it is stopped; as ``run_sink_task``. ``session`` is the task's own.

    ``writes`` of the task's class names what writes its batches.
    ``entered`` is called at the beginning of each batch, in the thread that writes it.
    """
    connector = {**spec.connector_config, "name": spec.connector}
    task_class: type[QuerySinkTask] = named(spec.task_class)
    kind = _KINDS[task_class.writes](task_class, connector)
    with contextlib.ExitStack() as stack:
        if queue_of(connector) is not None:
            name = f"connector-dlq-adminclient-{spec.connector}-{spec.task}"
            admin = make_admin(spec.worker_config, connector, client_id=name)
            make_queue(admin, connector, queue_guards(spec, connector))
        # A wrong setting fails the task now, not with the first record.
        conversion, chain = stack.enter_context(conversion_and_chain(connector, spec.worker_config, resolve))
        source = _input(spec, connector, kind.pace, session, control, stack)
        owner = SinkOwner(spec.kafka_cluster_id, consumer_group(spec.worker_config, connector), spec.connector)
        own = str(session.conf.get("spark.driver.host"))
        safe = stack.enter_context(Safe(own, control.may_write))
        metrics = Metrics(host.metrics, TOTALS, traces=open_traces(spec))
        stack.callback(metrics.traces.close)
        writer = kind.writer(spec, session, owner, safe, direct_value(conversion, chain))
        _run(spec, source, writer, kind.retries, control, host, metrics, entered)


def _input(
    spec: TaskSpec,
    connector: dict[str, str],
    pace: Pace,
    session: SparkSession,
    control: TaskControl,
    stack: contextlib.ExitStack,
) -> QueryInput:
    """Opens the clients of a task; ``stack`` closes them."""

    def aborted() -> bool:
        return control.aborted

    id, worker = TaskId(spec.connector, spec.task), spec.worker_config
    java = connector_consumer(worker, connector, f"connector-consumer-{id}")
    statistics = [ClientStatistics("consumer", java["client.id"]) for _ in range(2)]
    consumer = new_consumer(java, **statistics[0].settings(STATISTICS_MS))
    stack.callback(consumer.close)
    transactional_id = query_transactional_id(spec.group_id, spec.connector)
    read_committed = {**java, "isolation.level": "read_committed"}
    committing = new_consumer(read_committed, **statistics[1].settings(STATISTICS_MS))
    stack.callback(committing.close)
    group = QueryOffsets(
        lambda: committed_offsets(java, java["client.id"], java["group.id"], SECONDS),
        committing,
        lambda: committing_producer(worker, connector, f"connector-producer-{id}", transactional_id),
        aborted,
        requested_root(spec.connector, spec.offsets),
    )
    return QueryInput(
        Topics(
            consumer,
            connector,
            java,
            aborted,
            spec.internal_topics,
            lambda: control.internal_topics,
            lambda: admin_like({**java, "client.id": f"connector-topic-ids-{id}"}),
        ),
        group,
        KafkaReader(session, kafka_options(worker, connector)),
        consumer_config(java)["metadata.max.age.ms"] / 1000,
        pace,
        lambda: check_brokers(list(zip((consumer, committing), statistics, strict=True))),
    )


def _run(
    spec: TaskSpec,
    source: QueryInput,
    writer: SinkWriter,
    retries: Retries,
    control: TaskControl,
    host: TaskHost,
    metrics: Metrics,
    entered: Callable[[], None],
) -> None:
    id = TaskId(spec.connector, spec.task)
    group = source.group

    retry, gaps = RetryReport(), Gaps(str(id), metrics, spec.connector_config.get(ON_DATA_LOSS, "").strip() == "fail")
    shown: str | None = None

    # Of brokers that are away, while the query waits for its next start.
    away, waiting = RetryReport(), False

    def degraded() -> str | None:
        return "; ".join(each for each in (group.unfenced, gaps.reason()) if each is not None) or None

    def claimed() -> None:
        if group.unfenced is not None:
            host.running(degraded())

    def written() -> None:
        if (seconds := retry.over()) is not None:
            log.info("%s writes again after retrying for %.0f s", id, seconds)
        nonlocal shown
        if retries.over() or gaps.reason() != shown:
            shown = gaps.reason()
            host.running(degraded())

    skipped = SkippedRows(spec.skips, host.skip_over, source.topics.ids, metrics, _dead_letters(spec, metrics))
    report = QueryReport(metrics, TopicReporter(spec, control, host), claimed, entered, written, gaps, skipped)
    query = SinkQuery(str(id), source, writer, control, report)

    def measure() -> None:
        source.check_brokers()
        if not waiting and (seconds := away.over()) is not None:
            log.info("The query of %s runs again after retrying for %.0f s", id, seconds)
            host.running(degraded())
        metrics.put("penstock-retrying", float(waiting or retries.failing))
        query.measure()

    metrics.before_report = measure
    log.info("%s Sink task finished initialization and start", id)
    if not control.pausing:
        host.running()
    patience = 1.0
    while not control.stopping:
        if control.pausing:
            _pause(control, host, query, source.check_brokers)
            if not control.stopping:
                host.running(degraded())
            continue
        try:
            source.check_brokers()
            query.run()
            patience = 1.0
        except Exception as error:
            if control.aborted:
                raise
            if not control.may_write():
                reason = "No heartbeat of the worker has come for so long that another run may have begun"
                raise TaskFencedError(reason) from error
            if passes(error):
                status, waiting = away.failed(error, patience, None), True
                if away.logs:
                    log.warning("The query of %s has ended; starting it again in %g s: %s", id, patience, error)
                metrics.survived(error)
                if status is not None:
                    host.running(status)
                _wait(control, metrics, patience)
                waiting = False
                patience = min(patience * 2, MAX_PATIENCE)
            elif isinstance(error, NotWrittenError) and (delay := retries.after(time.monotonic())) is not None:
                status = retry.failed(error, delay, retries.allowed_by)
                if retry.logs:
                    log.warning("%s: %s; retrying in %g s, as long as %s allows", id, error, delay, retries.allowed_by)
                metrics.add("total-retries")
                metrics.survived(error)
                if status is not None:
                    host.running(status)
                _wait(control, metrics, delay)
            else:
                if (span := query.unwritten) is not None:
                    error.add_note(f"In a batch of {span.named()}")
                raise


def _dead_letters(spec: TaskSpec, metrics: Metrics) -> Callable[[], DeadLetterQueue] | None:
    """Return a function that makes the dead letter queue of records as they were read; None if there is no queue."""
    connector, id = {**spec.connector_config, "name": spec.connector}, TaskId(spec.connector, spec.task)
    if queue_of(connector) is None:
        return None

    def make() -> DeadLetterQueue:
        java = connector_producer(spec.worker_config, connector, f"connector-dlq-producer-{id}")
        return DeadLetterQueue(id, connector, new_producer(java), metrics, lambda record: record)

    return make


def _pause(control: TaskControl, host: TaskHost, query: SinkQuery, check_brokers: Callable[[], None]) -> None:
    """Wait for the end of a pause."""
    host.paused()
    while control.pausing and not control.stopping:
        check_brokers()
        query.renew()
        control.wait(PAUSED_SECONDS)


def _wait(control: TaskControl, metrics: Metrics, seconds: float) -> None:
    """Wait for so long, or until the task pauses or stops."""
    now = time.monotonic()
    until = now + seconds
    while not (control.stopping or control.pausing) and now < until:
        metrics.tick(now)
        control.wait(min(until - now, LOOK_SECONDS))
        now = time.monotonic()


def passes(error: Exception) -> bool:
    """Whether it is an error of brokers that may come back; Java's consumer waits for them without an error."""
    if isinstance(error, PipelineError):
        return False
    text = error.text if isinstance(error, NotWrittenError) else full_text(error)
    return isinstance(error, RetriableError) or _PASSING.search(text) is not None


@dataclass(frozen=True, slots=True)
class _Kind:
    """The differences between sinks whose tasks are queries."""

    pace: Pace
    retries: Retries
    writer: Callable[[TaskSpec, SparkSession, SinkOwner, Safe, str | None], SinkWriter]
    """The last argument is that of ``direct_value``."""


def _of_target(task_class: type[QuerySinkTask], connector: dict[str, str]) -> _Kind:
    shape = task_class.shape(connector)
    settings = SinkSettings(
        format=task_class.__qualname__,
        path=None,
        table=None,
        mode="append",
        keys=None,
        deletes=False,
        partition_by=(),
        sql=shape.sql,
        schema=shape.schema,
        drift=SchemaDrift.EVOLVE,
        interval=shape.interval,
        most=shape.max_records,
        options={},
    )
    errors = ErrorSettings.of(connector)

    def writer(spec: TaskSpec, session: SparkSession, owner: SinkOwner, safe: Safe, _: str | None) -> SinkWriter:
        target = task_class.target(connector, DriverContext(session, owner.connector, owner.cluster, owner.group))
        select = QueryLimits.of(spec.worker_config, task_class).select(session, settings.sql)
        return BatchWriter(safe.keep_spec(spec), settings, session, target, select, tolerates=errors.tolerate)

    return _Kind(settings, BatchRetries(errors), writer)


def _of_spark(task_class: type[QuerySinkTask], connector: dict[str, str]) -> _Kind:
    errors = ErrorSettings.of(connector)
    settings = SinkSettings.of(connector).at_once() if errors.tolerate else SinkSettings.of(connector)

    def writer(
        spec: TaskSpec, session: SparkSession, owner: SinkOwner, safe: Safe, value_sql: str | None
    ) -> SinkWriter:
        limits = QueryLimits.of(spec.worker_config, task_class)
        limits.check_path("path", settings.path, PathReader.HADOOP)
        if settings.iceberg is None:
            target = limits.target(target_of(settings, owner, session, spec.internal_topics), settings)
        else:
            from penstock.spark.query.iceberg.target import IcebergTarget  # needs the extra `iceberg`

            target = IcebergTarget(settings, owner, safe, limits)
        select = limits.select(session, settings.sql, writes_once(settings))
        trial: RowTrial | None = None
        if settings.format == "jdbc":
            from penstock.spark.query.jdbc.trial import JdbcTrial

            trial = JdbcTrial(spec, settings, session, safe)
        kept = safe.keep_spec(spec)
        rows = BatchWriter(kept, settings, session, target, select, tolerates=errors.tolerate, trial=trial)
        if value_sql is not None and goes_direct(settings) and not is_on(spec.worker_config, TRACES):
            return DirectWriter(value_sql, settings, session, target, safe.may_write, rows)
        return rows

    return _Kind(settings, BatchRetries(errors), writer)


def _of_jdbc(_: type[QuerySinkTask], connector: dict[str, str]) -> _Kind:
    settings = JdbcSinkSettings.of(connector)

    def writer(spec: TaskSpec, session: SparkSession, owner: SinkOwner, safe: Safe, _: str | None) -> SinkWriter:
        from penstock.spark.query.jdbc.writer import JdbcWriter

        return JdbcWriter(spec, settings, session, owner, safe)

    return _Kind(settings, CountedRetries(settings.retries, settings.backoff), writer)


_KINDS: dict[str, Callable[[type[QuerySinkTask], dict[str, str]], _Kind]] = {
    "target": _of_target,
    "spark": _of_spark,
    "jdbc": _of_jdbc,
}

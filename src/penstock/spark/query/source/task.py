"""A Spark source's one task: the batches of a streaming query, by the loop of every source task.

Spark calls ``_batch`` for each batch, in a thread of its own. Its processes send the rows to their topics. With exactly
once they send them to ``poll``, and the loop sends them. A batch is over for Spark when its number is committed as
Connect's source offset, with its rows in one transaction if the source is exactly once. So a batch that was cut short
comes again, whole; one that came so far, but not into Spark's notes, is passed by.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, DataError
from penstock.api.origin import ON_ORIGIN_CHANGED, IdentifiedDict, OriginPolicy, identity_of
from penstock.api.paths import PathReader
from penstock.api.query import BATCH, QuerySourceTask, batch_of, query_partition
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.source import SourceProgress, SourceTask
from penstock.connectors.spark.connectors import SparkSourceTask
from penstock.connectors.spark.sink_settings import format_named
from penstock.core.config.source import TRANSACTION_BOUNDARY
from penstock.core.model.tasks import TaskId
from penstock.hosts.errors import HostLost
from penstock.pipeline.chain import Resolve
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.task import SourceContext, run_source_task
from penstock.pipeline.task import TaskFencedError, TaskHost, TaskSpec
from penstock.pipeline.topics import TopicReporter
from penstock.spark.query.dataframes import DriverContext, full_text, root_cause
from penstock.spark.query.kafka_topics import read_settings
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.object_stores import check_connector, prepare_log_store
from penstock.spark.query.progress_report import source_progress
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.rows.plan import reported
from penstock.spark.query.source.checkpoint import SourceCheckpoint, owner_of
from penstock.spark.query.source.executors import Counts, InExecutors
from penstock.spark.query.source.files import SourceFiles
from penstock.spark.query.source.partitions import BatchLostError
from penstock.spark.query.source.pausing import BetweenBatches
from penstock.spark.query.source.schemas import Records, TopicRecordMaker, refuse_malformed
from penstock.spark.query.source.sending import spec_of_partitions
from penstock.spark.query.source.transfer import BatchEnd, ToTask, Transfer
from penstock.spark.query.source.transport import LOOK_SECONDS
from penstock.spark.query.sql.select import SqlSelect
from penstock.spark.query.table_files import NAMING_FILES, files_of_stream
from penstock.spark.query.trigger_clock import TriggerClock
from penstock.spark.task import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

SENT_BY = "penstock-sent-by"


def run_source_query(
    spec: TaskSpec,
    session: SparkSession,
    control: BetweenBatches,
    host: TaskHost,
    resolve: Resolve,
    entered: Callable[[], None] = lambda: None,
) -> None:
    """Run the task until it is stopped: ``run_source_task``, with ``session`` and ``entered`` of ``run_sink_query``."""
    owner = owner_of(spec.kafka_cluster_id, spec.group_id)
    own = str(session.conf.get("spark.driver.host"))
    with Safe(own) as safe:

        def transfer(metrics: Metrics) -> Transfer:
            if spec.exactly_once:
                return ToTask(own)
            counts = Counts(metrics, TopicReporter(spec, control, host))
            return InExecutors(session, safe.keep_spec(spec_of_partitions(spec)), counts)

        context = DriverContext(session, spec.connector, spec.kafka_cluster_id, spec.group_id or "")
        kind = named(spec.task_class)
        limits = QueryLimits.of(spec.worker_config, kind)
        id = TaskId(spec.connector, spec.task)
        task = QuerySource(kind, context, id, control, entered, owner, transfer, limits, once=spec.exactly_once)
        connector = {**spec.connector_config, TRANSACTION_BOUNDARY: "connector"}
        try:
            run_source_task(replace(spec, connector_config=connector), lambda: task, control, host, resolve)
        finally:
            task.end()


class _OverError(Exception):
    """The task has ended before a batch was committed; Spark then takes the batch for failed."""


class QuerySource(SourceTask, RuntimeHooks):
    java_name = "penstock.connectors.SparkSourceTask"
    checks = True

    def __init__(
        self,
        kind: type[QuerySourceTask],
        query: DriverContext,
        id: TaskId,
        control: BetweenBatches,
        entered: Callable[[], None],
        owner: str,
        transfer: Callable[[Metrics], Transfer],
        limits: QueryLimits,
        checkpoint: str | None = None,
        once: bool = False,
    ) -> None:
        """``owner``: see ``checkpoint.owner_of``. ``checkpoint``: the folder in place of the configured one. ``once``:
        whether batches are sent exactly once.
        """
        self._kind, self._query_context, self._folder = kind, query, checkpoint
        self._id, self._session, self._control, self._entered = id, query.session, control, entered
        self._owner, self._make_transfer, self._limits, self._once = owner, transfer, limits, once
        self._select: SqlSelect | None = None
        self._files: SourceFiles | None = None
        self._query: Any = None
        self._failure: BaseException | None = None
        self._sent = -1
        """The last batch whose rows have all been given to the loop, or sent."""
        self._committed = -1
        self._changed = threading.Condition()
        self._stopped = False
        self._transfer: Transfer | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self._shape = self._kind.shape(config)
        self._partition = query_partition(self._id.connector)
        assert isinstance(self.context, SourceContext)
        self._offsets = offsets = self.context.offset_reader
        stored = offsets.offset(self._partition)
        known = batch_of(stored)
        try:
            self._limits.check_path("path", config.get("path"), PathReader.HADOOP_PATTERN)
            check_connector(self._session, "path", config.get("path"))
            if format_named(config.get("format") or "") == "delta":
                prepare_log_store(self._session, config.get("path"))
            if self._folder is None:
                self._limits.check_path("checkpoint.location", self._shape.checkpoint, PathReader.HADOOP)
                check_connector(self._session, "checkpoint.location", self._shape.checkpoint)
            self._select = self._limits.select(self._session, self._shape.sql, self._once)
            settings = read_settings(config, self.context.internal)
            if issubclass(self._kind, SparkSourceTask):
                self._files = SourceFiles(settings, self._query_context)
                stream = self._files.stream()
                columns = self._files.shaped(stream, self._select)
            else:
                stream = self._kind.stream(settings, self._query_context)
                columns = self._shaped(stream).schema
            self._records = Records(columns, self._shape.key)
            self._notes = checkpoint = self._checkpoint()
            policy = OriginPolicy(config.get(ON_ORIGIN_CHANGED, OriginPolicy.FAIL))
            known = checkpoint.follow(known, identity_of(stored), policy)
            self._sent = self._committed = -1 if known is None else known
            self._partition = IdentifiedDict(self._partition, checkpoint.identity())
            self._transfer = self._make_transfer(self.context.metrics)
            self.context.metrics.say(SENT_BY, self._transfer.sent_by)
            log.info("The records of %s are sent by Spark's %s", self._id, self._transfer.sent_by)
            query = (
                stream.writeStream.queryName(str(self._id))
                .option("checkpointLocation", checkpoint.path)
                .trigger(processingTime=f"{int(self._shape.interval * 1000)} milliseconds")
                .foreachBatch(self._batch)
                .start()
            )
            self._clock = TriggerClock(self._shape.interval)
            with self._changed:
                self._query = query
                self._changed.notify_all()
        except (PySparkException, Py4JJavaError) as error:
            why = str(error if isinstance(error, PySparkException) else error.java_exception)
            raise ConnectError(f"Spark can't read {self._shape.name} as a stream: {why.splitlines()[0]}") from None

    def checked(self, batch: Batch) -> Batch:
        return refuse_malformed(batch)

    def poll(self) -> Batch | None:
        if self._failure is not None:
            raise self._failure
        if self._stopped or self._sent > self._committed:
            return None
        assert self._transfer is not None
        item = self._transfer.take(LOOK_SECONDS)
        if item is None:
            self._look()
        elif isinstance(item, BatchEnd):
            self._sent = item.number
            self._offsets.put(self._partition, {BATCH: item.number}, urgent=True)
            if self.context.transaction is not None:
                self.context.transaction.commit_transaction()
        else:
            return item
        return None

    def idle(self) -> float:
        return 0.0 if self._sent <= self._committed else 0.1

    def progress(self) -> list[SourceProgress]:
        return source_progress(self._query)

    def commit(self) -> None:
        known = batch_of(self._offsets.offset(self._partition))
        if self._sent == self._committed or known != self._sent:
            return
        self._control.end()
        with self._changed:
            self._committed = known
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._transfer is not None:
            self._transfer.close()

    def end(self) -> None:
        """End the task; called last. Returns when the query is over."""
        self.stop()
        if self._query is not None:
            with contextlib.suppress(Exception):
                self._query.stop()

    def _checkpoint(self) -> SourceCheckpoint:
        configuration = self._session.sparkContext._jsc.hadoopConfiguration()
        return SourceCheckpoint(
            self._session._jvm, configuration, self._folder or self._shape.checkpoint, self._id.connector, self._owner
        )

    def _look(self) -> None:
        if not self._query.isActive and self._failure is None and not self._stopped:
            error = self._query.exception()
            raise ConnectError("The query has ended" + ("" if error is None else f": {root_cause(error)}"))
        if (back := self._clock.set_back()) > 0:
            raise TaskFencedError(f"The time of day was set back by {back:.0f} s, and Spark would wait for as long")

    def _shaped(self, frame: DataFrame) -> DataFrame:
        return frame if self._select is None else self._select.of(frame)

    def _batch(self, frame: DataFrame, number: int) -> None:
        """Called by Spark, and again with the same number and the same rows if it did not return."""
        self._entered()
        assert self._transfer is not None
        if number <= self._committed:
            log.info("Batch %d of %s is in the topic already", number, self._id)
            return
        with self._changed:
            while not self._stopped and not self._control.begin():
                self._changed.wait(LOOK_SECONDS)
            if self._stopped:
                raise _OverError
        try:
            with self._control.calls.entered("batch"):
                records = TopicRecordMaker(self._shape.topic, self._records, self._partition, {BATCH: self._committed})
                one_by_one = self._files is not None and self._files.one_by_one
                files = self._notes.files_of(number) if one_by_one or self._limits.folders is not None else []
                self._limits.check_files(files)
                self._check_table()
                if self._files is None:
                    rows = self._shaped(frame)
                else:
                    rows = self._files.rows(frame, files, self._select)
                self._transfer.run(rows, records, number)
        except Exception as error:
            if not self._stopped:
                self._failure = self._failure_of(number, error)
            raise _OverError from None
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._committed >= number)
            if self._committed < number:
                raise _OverError

    def _check_table(self) -> None:
        """Raise ConnectError if a table names files that are not in the allowed folders."""
        format = self._files.settings.format.casefold() if self._files is not None else ""
        if self._limits.folders is None or format not in NAMING_FILES:
            return
        with self._changed:  # Spark may begin the first batch before it returns its handle
            self._changed.wait_for(lambda: self._query is not None or self._stopped)
            if self._query is None:
                raise _OverError
        self._limits.check_files(files_of_stream(self._query._jsq, format))

    def _failure_of(self, number: int, error: Exception) -> BaseException:
        if isinstance(error, BatchLostError | DataError):
            return error
        try:
            if self._files is not None:
                self._files.explain(error)
        except DataError as malformed:
            return malformed
        return _unsent(number, error)


def _unsent(number: int, error: Exception) -> BaseException:
    try:
        reported(full_text(error))
    except HostLost as lost:
        return lost
    return ConnectError(f"Batch {number} of the query could not be read or sent: {root_cause(error)}")

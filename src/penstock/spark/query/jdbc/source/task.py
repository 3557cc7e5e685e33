"""A JDBC source's one task: rows that Spark's executors read, through the loop of every source task.

``poll`` looks which table is due, begins its read, and then takes its rows as they come. Connect's offset of a table is
the position after the rows that are in its topic, so a read that was cut short continues there, and one that failed is
begun again. With exactly once, the task starts again if rows of a time that has not been read completely have been
sent: their transaction is aborted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError
from penstock.api.origin import ON_ORIGIN_CHANGED, IdentifiedDict, OriginPolicy, identity_of, origin_changed
from penstock.api.source import SourceProgress, SourceTask
from penstock.connectors.jdbc.source.definition import PROCEED, RESTART
from penstock.connectors.jdbc.source.offsets import QUERY, TablePosition
from penstock.connectors.jdbc.source.settings import BOUNDARY, JdbcSourceSettings
from penstock.connectors.jdbc.source.tables import SourceTable, check_names
from penstock.core.model.tasks import TaskId
from penstock.pipeline.chain import Resolve
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.task import SourceContext, run_source_task
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec
from penstock.spark.query.jdbc.java import JdbcJava, refused
from penstock.spark.query.jdbc.source.database import Database, DatabaseError, NoTableError
from penstock.spark.query.jdbc.source.origins import DatabaseOrigin, database_origin_of
from penstock.spark.query.jdbc.source.reading import RangesEnd, ReadError, TableRead
from penstock.spark.query.jdbc.source.records import ReadShape, offsets_of
from penstock.spark.query.jdbc.source.source import ReadSource
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.retries import RetryReport
from penstock.spark.query.source.arrivals import InOrder
from penstock.spark.query.source.partitions import BatchLostError
from penstock.spark.query.source.transport import LOOK_SECONDS, Receiver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

IDLE_SECONDS = 0.5
"""Maximum of seconds that the loop waits before it looks whether a table is due."""


def run_jdbc_source(
    spec: TaskSpec,
    session: SparkSession,
    control: TaskControl,
    host: TaskHost,
    resolve: Resolve,
    entered: Callable[[], None] = lambda: None,
) -> None:
    """Run the task until it is stopped, see ``run_source_query``."""
    connector = {**spec.connector_config, BOUNDARY: "connector"}
    with Safe(str(session.conf.get("spark.driver.host")), control.may_write) as safe:
        task = JdbcSource(spec, session, safe, entered, host.running)
        try:
            run_source_task(replace(spec, connector_config=connector), lambda: task, control, host, resolve)
        finally:
            task.end()


class JdbcSource(SourceTask):
    java_name = "io.confluent.connect.jdbc.source.JdbcSourceTask"

    def __init__(
        self,
        spec: TaskSpec,
        session: SparkSession,
        safe: Safe,
        entered: Callable[[], None],
        running: Callable[[str | None], None] = lambda reason: None,
    ) -> None:
        """``running``: of the task's host, to report why it retries."""
        self._spec, self._session, self._safe, self._entered = spec, session, safe, entered
        self._id = TaskId(spec.connector, spec.task)
        self._receiver: Receiver | None = None
        self._database: Database | None = None
        self._sources: dict[SourceTable | None, ReadSource] = {}
        self._tables_due = 0.0
        self._origin: DatabaseOrigin | None = None
        """The database's server or file, as far as it is known; None with ``bulk``, which has no positions in it."""
        self._compared = False
        """Whether it has been compared since the database was last out of reach."""
        self._reading: TableRead | None = None
        self._source: ReadSource | None = None
        """The source of the rows that are taken."""
        self._shape: ReadShape | None = None
        self._group: TablePosition | None = None
        """The position of a group of rows, see ``records.Offsets``."""
        self._held: Batch | None = None
        """The end of a batch, which is of the next transaction."""
        self._failures = 0
        """Number of consecutive failures to list the tables; a ``ReadSource`` counts its own failures."""
        self._retry, self._running = RetryReport(), running
        self._metrics: Metrics | None = None
        """None in a preview."""
        self._stopped = False

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = JdbcSourceSettings.of(config)
        offsets = self.context.offset_reader
        assert isinstance(offsets, SourceTaskOffsets)
        self._offsets = offsets
        self._metrics = self.context.metrics if isinstance(self.context, SourceContext) else None
        self._session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(settings.batch_rows))
        drivers = self._spec.worker_config.get("penstock.jdbc.drivers", "")
        self._java = JdbcJava(self._session, settings.connection, drivers, self._spec.plugin_path, self._safe)
        self._database = Database(self._java, settings.connection)
        self._receiver = Receiver(str(self._session.conf.get("spark.driver.host")), InOrder())
        if settings.query is not None:
            offset = self._offsets.offset(QUERY)
            self._sources[None] = source = ReadSource(settings, self._database, None, TablePosition.of(offset))
            source.partition = self._identified(source.partition, offset)

    def poll(self) -> Batch | None:
        if self._stopped:
            return None
        if self._held is not None:
            held, self._held = self._held, None
            return held
        try:
            if self._reading is None:
                self._begin()
                return None
            assert self._receiver is not None
            item = self._receiver.take(LOOK_SECONDS)
            if item is None:
                self._reading.check()
                return None
        except (DatabaseError, NoTableError, ReadError) as error:
            self._failed(error)
            return None
        if isinstance(item, RangesEnd):
            if item.last or self._settings.by_number or self._settings.by_time:
                assert self._source is not None
                self._source.failures = 0
                self._works_again()
            if item.last:
                self._finish()
            return None
        return self._as_records(item)

    def idle(self) -> float:
        if self._reading is not None:
            return 0.0
        now = time.monotonic()
        waiting = [source.due for source in self._sources.values()]
        if self._settings.query is None:
            waiting.append(self._tables_due)
        return max(0.0, min([*(due - now for due in waiting), IDLE_SECONDS]))

    def progress(self) -> list[SourceProgress]:
        """Return how far each table has been read; finding its end would take another query."""
        return [
            SourceProgress(source.partition, position, None, unit)
            for source in self._sources.values()
            for unit, position in (
                ("ids", source.position.number),
                ("ms since 1970", None if source.position.time is None else source.position.time // 1_000_000),
            )
            if position is not None
        ]

    def stop(self) -> None:
        self._stopped = True
        if self._receiver is not None:
            self._receiver.close()

    def end(self) -> None:
        """End the task; called last. Returns when nothing is read any more."""
        self.stop()
        if self._reading is not None:
            self._reading.cancel()
        if self._database is not None:
            self._database.close()

    def _begin(self) -> None:
        """Begin to read a table that is due, if there is something new in it."""
        now = time.monotonic()
        if self._settings.query is None and now >= self._tables_due:
            self._source = None
            self._compare_origin()
            self._look_for_tables()
            self._tables_due, self._failures = time.monotonic() + self._settings.table_interval, 0
        due = [source for source in self._sources.values() if source.due <= now]
        if not due:
            return
        self._source = min(due, key=lambda source: source.due)
        self._source.due = time.monotonic() + self._settings.interval
        self._compare_origin()
        found = self._source.next_read()
        if found is None:
            self._source.failures = 0
            self._works_again()
            return
        assert self._receiver is not None
        self._shape, self._group = found.shape, None
        self._reading = TableRead(self._session, self._java, self._receiver, self._settings, found, self._entered)

    def _compare_origin(self) -> None:
        """Compare the server with the one of the offsets, once after each failure, and the database's file each time;
        do what ``on.origin.changed`` says of another one, if there are positions in the old one.

        Raises OriginChangedError, and DatabaseError.
        """
        assert self._database is not None
        if self._compared and not self._database.is_replaced():
            return
        found, before = self._database.origin(), self._origin
        if found is not None and self._settings.has_positions:
            self._origin = found
            positions = any(source.position != TablePosition() for source in self._sources.values())
            changed = positions and before is not None and not before.is_same(found)
            restarts = changed and before is not None and not self._is_continued(before)
            for table, source in self._sources.items():
                first = before is None and table is None  # that of the query is made before the server is known
                if restarts or (first and not self._is_of_origin(self._offsets.offset(QUERY))):
                    source.position = TablePosition()
                source.partition = self._identified(source.partition)
        self._compared = True

    def _is_of_origin(self, offset: Mapping[str, Any] | None) -> bool:
        """Return whether an offset is to be used. Raises OriginChangedError."""
        stored = database_origin_of(offset)
        if stored is None or self._origin is None or TablePosition.of(offset) == TablePosition():
            return True
        return stored.is_same(self._origin) or self._is_continued(stored)

    def _identified(self, partition: dict[str, Any], offset: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return a source partition with the identity of what is read now, or with that of a stored offset which this
        mode does not use and may store again.
        """
        if self._origin is not None:
            return IdentifiedDict(partition, self._origin.members())
        stored = None if self._settings.has_positions else identity_of(offset)
        return partition if stored is None else IdentifiedDict(partition, stored)

    def _is_continued(self, before: DatabaseOrigin) -> bool:
        """Return whether ``on.origin.changed`` says to continue at positions of another server; raise
        OriginChangedError if it says to fail.
        """
        policy = self._settings.policy
        change = self._settings.connection.dialect.other_origin.format(found=self._origin, before=before)
        if policy is OriginPolicy.FAIL:
            raise origin_changed(change, RESTART, PROCEED)
        log.warning("%s. %s=%s", change, ON_ORIGIN_CHANGED, policy)
        return policy is OriginPolicy.CONTINUE

    def _look_for_tables(self) -> None:
        settings, database = self._settings, self._database
        assert database is not None
        there = database.tables(settings.catalog, settings.schema, settings.types)
        chosen = [table for table in there if settings.choice.takes(table)]
        try:
            check_names(chosen, settings.prefix)
        except ConnectError as error:
            if not self._sources:
                raise
            log.error("No new tables are read, only those that were read before: %s", error)
            chosen = [table for table in chosen if table in self._sources]
        for table in [table for table in self._sources if table not in chosen]:
            log.info("Table %s is not there any more", table)
            del self._sources[table]
        for table in chosen:
            if table not in self._sources:
                log.info("Reading table %s", table)
                self._sources[table] = self._source_of(table, database)
        if not chosen:
            log.warning(
                "None of the %d tables of the database is to be read; looking again in %g s",
                len(there),
                settings.table_interval,
            )

    def _source_of(self, table: SourceTable, database: Database) -> ReadSource:
        offset: Mapping[str, Any] | None = None
        for partition in table.known_partitions():
            if (offset := self._offsets.offset(partition)) is not None:
                position = TablePosition.of(offset) if self._is_of_origin(offset) else TablePosition()
                source = ReadSource(self._settings, database, table, position)
                if "protocol" in partition:
                    source.partition = partition
                break
        else:
            source = ReadSource(self._settings, database, table, TablePosition())
        source.partition = self._identified(source.partition, offset)
        return source

    def _as_records(self, rows: pa.RecordBatch) -> Batch:
        source, shape = self._source, self._shape
        assert source is not None
        assert shape is not None
        values = shape.values(rows)
        offsets = offsets_of(shape.positions(rows), shape, source.position, self._group)
        source.position, self._group = offsets.behind, offsets.group
        origin = SourceOrigin([source.partition] * len(values), offsets.rows)
        batch = Batch.of(source.topic, values, value_schema=shape.schema, origin=origin)
        transaction = self.context.transaction
        if transaction is None or not offsets.complete:
            return batch
        if offsets.complete < len(batch):
            self._held = batch.select(range(offsets.complete, len(batch)))
            batch = batch.select(range(offsets.complete))
        if not shape.by_number:
            # They are committed together, and whichever of them is filtered out, what is behind them is read next.
            partitions, behind = [source.partition] * len(batch), [offsets.behind.offset()] * len(batch)
            batch = batch.with_(origin=SourceOrigin(partitions, behind))
        transaction.commit_transaction()
        return batch

    def _finish(self) -> None:
        """Finish a read whose rows have all been taken."""
        source = self._source
        assert source is not None
        assert self._reading is not None
        self._reading.cancel()
        self._reading = None
        if self._group is not None:
            source.position, self._group = self._group, None
            self._offsets.put(source.partition, source.position.offset())
            if self.context.transaction is not None:
                self.context.transaction.commit_transaction()
        source.due = time.monotonic() + self._settings.interval
        self._works_again()

    def _works_again(self) -> None:
        """Take back the status of a task that retries."""
        if (seconds := self._retry.over()) is not None:
            log.info("%s reads again after retrying for %.0f s", self._id, seconds)
            self._running(None)
            self._measure(0.0)

    def _measure(self, retrying: float, error: Exception | None = None) -> None:
        if self._metrics is not None:
            self._metrics.put("penstock-retrying", retrying)
            if error is not None:
                self._metrics.survived(error)

    def _failed(self, error: Exception) -> None:
        """Read again later, from the position on. Raises what ends the task."""
        self._compared = False
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if isinstance(error, ReadError) and error.permanent:
            what = f"{self._source} can't be read"
            if error.failure is None or str(error) != str(error.failure):
                raise ConnectError(f"{what}: {error}")
            raise refused(what, error.failure)
        if self._group is not None and self.context.transaction is not None:
            raise BatchLostError(f"{self._source} could not be read to its end: {error}")
        if isinstance(error, NoTableError):
            if self._source is not None and self._source.is_query:
                raise ConnectError(f"The database refuses `query`: {error}")
            self._tables_due = 0.0
        elif isinstance(error, ReadError) and error.changed:
            if self._source is not None:
                self._source.due = 0.0
            return
        again = time.monotonic() + self._settings.interval
        if self._source is not None:
            self._source.failures += 1
            self._source.due, failures = again, self._source.failures
        else:
            self._failures += 1
            self._tables_due, failures = again, self._failures
        if 0 <= self._settings.retries < failures:
            raise ConnectError(f"The database could not be read {failures} times in a row: {error}")
        what = "The list of tables" if self._source is None else str(self._source)
        failure = ConnectError(f"{what} could not be read: {error}")
        if (status := self._retry.failed(failure, self._settings.interval, "query.retry.attempts")) is not None:
            self._running(status)
        self._measure(1.0, failure)
        if self._retry.logs:
            log.warning(
                "%s; retrying in %g s, as long as query.retry.attempts allows", failure, self._settings.interval
            )

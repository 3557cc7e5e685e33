"""Writes batches of a JDBC sink, in as many passes as they have new shapes and refused rows.

In a pass each of Spark's partitions is one transaction. What is written is not written again when another part of the
batch fails: the next pass or try continues after it. Across crashes only the table of ``penstock.delivery`` knows.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.jdbc.columns import RowShape
from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings
from penstock.connectors.jdbc.sql_errors import SqlVerdict
from penstock.connectors.jdbc.statements import LedgerStatements, statement_of
from penstock.pipeline.errors import ErrorSettings
from penstock.pipeline.task import TaskSpec
from penstock.spark.query.dataframes import full_text, narrowed
from penstock.spark.query.jdbc.java import JdbcJava, caused, lacks_driver, refused
from penstock.spark.query.jdbc.plan import PassPlan, PassTotals, Stops
from penstock.spark.query.jdbc.row_maker import SINK_CLASS
from penstock.spark.query.jdbc.rows import TableRows, refused_row
from penstock.spark.query.jdbc.tables import SinkTables
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.progress import Partition, later_of
from penstock.spark.query.sink.rows.plan import reported
from penstock.spark.query.sink.rows.refused import Refused, RefusedRows, refusal
from penstock.spark.query.sink.tables.files import folder_name
from penstock.spark.query.sink.tables.target import SinkOwner
from penstock.spark.query.sink.totals import BatchTotals, SumOf
from penstock.spark.query.sink.writer import RECORDS, NotWrittenError, PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Progress:
    """Progress of a batch."""

    version: BatchVersion
    done: dict[Partition, int] = field(default_factory=dict)
    """The offsets after what has been written."""
    starts: dict[Partition, int] | None = None
    """Offsets at which the next pass starts, see ``PassPlan``."""
    refused: Refused = field(default_factory=dict)
    """Records whose rows the database has refused: dead letters already, or to be sent as such."""
    letters: Refused = field(default_factory=dict)
    """Refused records that are still to be sent as dead letters."""
    totals: BatchTotals = field(default_factory=BatchTotals)


class JdbcWriter:
    """The ``SinkWriter`` of one run of a JDBC sink."""

    def __init__(
        self, spec: TaskSpec, settings: JdbcSinkSettings, session: SparkSession, owner: SinkOwner, safe: Safe
    ) -> None:
        connector = {**spec.connector_config, "name": spec.connector}
        self._spec, self._settings, self._session = safe.keep_spec(spec), settings, session
        self._tolerates = ErrorSettings.of(connector).tolerate
        self._sink = folder_name(*owner)
        drivers = spec.worker_config.get("penstock.jdbc.drivers", "")
        driver = settings.connection.driver
        opening = () if driver is None else driver.sink_opening
        self._java = JdbcJava(session, settings.connection, drivers, spec.plugin_path, safe, opening)
        self._tables = SinkTables(self._java, settings)
        self._ledger = LedgerStatements.of(settings.connection.dialect, settings.ledger) if settings.ledger else None
        self._totals = session.sparkContext.accumulator(PassTotals(), SumOf())
        self._letter_totals = session.sparkContext.accumulator(BatchTotals(), SumOf())
        self._shapes: list[RowShape] = []
        self._drifted: dict[RowShape, str] = {}
        """The shapes whose tables lack columns, with what dead letters say about it."""
        self._generation: str | None = None
        """The name under which this run has claimed the ledger; None before, and after a failure."""
        self._progress: _Progress | None = None

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """Return the last batch that the ledger has, see ``SinkTarget.later``."""
        if self._ledger is None:
            return None
        try:
            return later_of(version, self._tables.ledger(self._ledger, self._sink))
        except Exception as error:
            self._raise(error)

    def committed_offsets(self) -> dict[Partition, int]:
        """Return the offsets in the ledger, see ``OffsetKeeper``."""
        if self._ledger is None:
            return {}
        try:
            return {place: offset for place, (_, offset) in self._tables.stored(self._ledger, self._sink).items()}
        except Exception as error:
            self._raise(error)

    def begin(self, version: BatchVersion, offsets: Mapping[Partition, int]) -> None:
        """Fence earlier runs, and take over the offsets, see ``OffsetKeeper``."""
        self._claim(version)
        if self._ledger is None or not offsets:
            return
        try:
            for place, (written, before) in self._tables.stored(self._ledger, self._sink).items():
                if place in offsets and written.number <= version.number:
                    self._tables.store(self._java_ledger(written), place, before, offsets[place])
        except Exception as error:
            self._raise(error)

    def _claim(self, version: BatchVersion) -> None:
        """Let this run write, and no earlier one, unless it may do so already.

        To be called before ``confirm``: a run that has a successor then fails, whichever of the two was the last to
        claim the ledger. The successor's transactions may conflict with it, and are tried again.
        """
        if self._ledger is None or self._generation is not None:
            return
        self._generation = secrets.token_hex(8)
        try:
            self._tables.claim(self._java_ledger(version))
        except Exception as error:
            self._generation = None
            self._raise(error)
        log.debug("Generation %s of %s may write", self._generation, self._sink)

    def _java_ledger(self, version: BatchVersion) -> Any:
        sql = self._ledger
        assert sql is not None
        texts = sql.select, sql.update, sql.insert, sql.fence
        return self._java.entry.ledger(*texts, self._sink, version.epoch, version.number, self._generation)

    def write(self, records: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> BatchTotals:
        """Write a batch, see ``SinkWriter.write``; called again after a failure, it continues where the batch was."""
        records = records.selectExpr(*RECORDS)
        if self._progress is None or self._progress.version != version:
            self._progress = _Progress(version)
            self._look_again()
        progress = self._progress
        self._claim(version)
        confirm()
        while True:
            try:
                if progress.letters:
                    self._report(records, progress)
                stops = self._pass(records, progress)
            except Exception as error:
                self._tables.forget()
                # Of tables that may have been altered or dropped since, unless records of this batch still need them.
                self._shapes, self._drifted = [], {}
                self._generation = None
                self._raise(error)
            if stops is None:
                continue
            if not stops.starts:
                return progress.totals
            self._shapes += [shape for shape in stops.shapes if shape not in self._shapes]
            progress.starts = stops.starts

    def _look_again(self) -> None:
        """Look up the tables that have lacked columns, before a batch."""
        self._tables.look_again()
        self._shapes += self._drifted
        self._drifted = {}

    def _pass(self, records: DataFrame, progress: _Progress) -> Stops | None:
        """Write what is left of a batch; None if rows were refused that have to be dead letters first."""
        # A deletion does not tell the columns of a table that is missing; other records of the batch may.
        for shape in sorted(self._shapes, key=lambda shape: shape.delete):
            if (drifted := self._tables.prepare(shape)) is not None:
                self._drifted[shape] = drifted
        self._shapes = [shape for shape in self._shapes if shape not in self._drifted]
        plan = PassPlan(tuple(self._shapes), progress.starts, dict(progress.done), dict(self._drifted))
        self._totals.value = PassTotals()
        rows = narrowed(records.mapInArrow(TableRows(self._spec, plan, self._totals), plan.row_type()))
        if self._settings.connection.dialect.single_writer:
            rows = rows.coalesce(1)
        writer = self._java_writer(progress)
        try:
            writer.run(self._session._jsparkSession, rows._jdf)
        finally:
            self._take(writer, progress)
        stops = self._totals.value.stops
        if progress.letters and not self._tolerates:
            raise refusal(progress.letters, "The database")
        if progress.letters and self._ledger is not None:
            return None
        progress.totals.add(self._totals.value.batch)
        if progress.letters:
            self._report(records, progress)
        return stops

    def _java_writer(self, progress: _Progress) -> Any:
        java, settings = self._java, self._settings
        dialect, entry = settings.connection.dialect, java.entry
        shapes = []
        for shape in map(self._tables.known, self._shapes):
            statement = statement_of(dialect, settings.mode, shape)
            names = [column.name for column in shape.columns]
            fields = [names.index(name) for name in statement.parameters]
            kinds = [dialect.binding(shape.columns[index]) for index in fields]
            copy = self._tables.copy(shape)
            rooms = self._tables.rooms(shape)
            parameters = java.list(list(statement.parameters)), java.list(kinds), java.list(fields)
            held = java.list([rooms.get(name, "") for name in statement.parameters])
            shapes.append(entry.shape(statement.sql, copy, *parameters, held, *settings.zones))
        ledger = None if self._ledger is None else self._java_ledger(progress.version)
        known = [
            f"{topic}\t{partition}\t{offset}"
            for (topic, partition), found in progress.refused.items()
            for offset in found
        ]
        return entry.writer(
            java.connections,
            java.list(shapes),
            settings.batch_size,
            ledger,
            java.verdicts(),
            java.list(known),
            self._ledger is not None or not self._tolerates,
        )

    def _take(self, writer: Any, progress: _Progress) -> None:
        """Remember what Spark's partitions have reported, those of a failed pass too."""
        for line in writer.report():
            match str(line).split("\t"):
                case ["done", topic, partition, offset]:
                    progress.done[topic, int(partition)] = int(offset)
                case ["refused", topic, partition, offset, shape, column, state, text]:
                    place, its = (topic, int(partition)), self._tables.known(self._shapes[int(shape)])
                    row = refused_row(text, its.table, [each.name for each in its.columns], column, state)
                    for found in (progress.refused, progress.letters):
                        found.setdefault(place, {})[int(offset)] = row

    def _report(self, records: DataFrame, progress: _Progress) -> None:
        """Send the dead letters; the records are read once more for it."""
        self._letter_totals.value = BatchTotals()
        rows = RefusedRows(self._spec, dict(progress.letters), self._letter_totals, SINK_CLASS)
        records.mapInArrow(rows, "value STRING").write.format("noop").mode("overwrite").save()
        progress.totals.add(self._letter_totals.value)
        progress.letters = {}

    def _raise(self, error: Exception) -> NoReturn:
        """Raise what ``_raised`` returns. Its cause is the one that it has, such as the database's own error."""
        raised = self._raised(error)
        if raised is error:
            raise error
        raise raised from raised.__cause__ or error

    def _raised(self, error: Exception) -> Exception:
        """Return the error to raise: one that ends the task, or one of a database that may recover."""
        if isinstance(error, ConnectError):
            return error
        text = full_text(error)
        if trace := reported(text).get("trace"):
            return PipelineError(trace)
        if (lacking := lacks_driver(text, self._settings.connection)) is not None:
            return lacking
        found = self._java.sql_error(error)
        if found is None:
            return NotWrittenError(error)
        if self._settings.connection.dialect.errors.verdict(found) is SqlVerdict.TRANSIENT:
            return caused(NotWrittenError(error, str(found)), found)
        return refused("The database refuses a batch", found)

"""Records to rows of tables, in Spark's Python processes, by the connector's converters and transforms; and the dead
letters of rows that the database has refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

import pyarrow as pa
from pyspark import Accumulator

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import DataError
from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings
from penstock.hosts.errors import HostLost
from penstock.pipeline.errors import PipelineStage, Step
from penstock.pipeline.trace import trace
from penstock.spark.query.jdbc.plan import PassPlan, PassTotals, Stops
from penstock.spark.query.jdbc.row_maker import SINK_CLASS, TableRowMaker
from penstock.spark.query.safe import SafeSpec
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.rows.held_letters import HeldFailures
from penstock.spark.query.sink.rows.pipeline import Pipeline
from penstock.spark.query.sink.rows.plan import RowsError, lost_host
from penstock.spark.query.sink.rows.row_maker import raw_batch


@dataclass(frozen=True, slots=True)
class TableRows:
    """The function of ``mapInArrow`` that makes the rows of a plan."""

    spec: SafeSpec
    plan: PassPlan
    totals: Accumulator[PassTotals]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            try:
                held, spec = HeldFailures(), self.spec.spec()
                pipeline = Pipeline.start(self.spec, stack, report=True, held=held)
                settings = JdbcSinkSettings.of({**spec.connector_config, "name": spec.connector})
                yield from self._rows(pipeline, held, TableRowMaker(settings, self.plan), batches)
            except HostLost as lost:
                raise lost_host(lost) from lost
            except Exception as error:
                raise RowsError(trace=trace(error)) from error

    def _rows(
        self, pipeline: Pipeline, held: HeldFailures, maker: TableRowMaker, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        with pipeline.one_try():
            for arrow in batches:
                wanted = self._wanted(arrow, maker.stops)
                if not wanted.num_rows:
                    continue
                try:
                    made = maker.rows(pipeline.process(raw_batch(wanted)), pipeline.errors)
                finally:
                    held.release(maker.stops)
                if made is not None:
                    pipeline.metrics.add("sink-record-send-total", made.num_rows)
                    yield made
        self.totals.add(PassTotals(pipeline.totals(), Stops(list(maker.new), dict(maker.stops))))

    def _wanted(self, arrow: pa.RecordBatch, stops: Mapping[Partition, int]) -> pa.RecordBatch:
        """Leave out records that are written already, and those of partitions in which this pass has stopped."""
        plan = self.plan
        if plan.starts is None and not plan.done and not stops:
            return arrow
        places = zip(
            arrow["topic"].to_pylist(), arrow["partition"].to_pylist(), arrow["offset"].to_pylist(), strict=True
        )
        kept = [
            i
            for i, (topic, partition, offset) in enumerate(places)
            if (topic, partition) not in stops and plan.wants((topic, partition), offset)
        ]
        return arrow if len(kept) == arrow.num_rows else arrow.take(pa.array(kept, pa.int64()))


_COLUMNS = (
    re.compile(r"[Cc]olumn (?:`[^`]*`\.)*[`'\"]([^`'\"]+)[`'\"]"),  # MySQL's, MariaDB's, PostgreSQL's, Derby's
    re.compile(r"constraint failed: [^.\s()]+\.([^,\s()]+)"),  # SQLite's
    re.compile(r"cannot store [A-Z]+ value in [A-Z]+ column [^.\s()]+\.([^,\s()]+)"),  # SQLite's, of STRICT tables
)
"""Patterns of the names of columns in databases' messages."""


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that the database has refused: its message with Java's class, and the row's table; the column if it is
    known, else empty.
    """

    text: str
    table: str
    column: str = ""
    state: str = ""

    @classmethod
    def of(cls, text: str, table: str, columns: Sequence[str], column: str, state: str) -> Self:
        """``column``: as the server tells it beside its message, empty if it does not. ``columns``: of the row."""
        named = (found[1] for each in _COLUMNS if (found := each.search(text)) is not None)
        return cls(text, table, column or next((name for name in named if name in columns), ""), state)


class RefusedRowError(DataError):
    """The database refuses the row of a record."""

    def __init__(self, row: RefusedRow) -> None:
        super().__init__(row.text)
        self.letter_headers = {
            name: text for name, text in (("table", row.table), ("column", row.column), ("sqlstate", row.state)) if text
        }


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """The function of ``mapInArrow`` that reports records whose rows the database has refused, as ``errors.*`` says."""

    spec: SafeSpec
    refused: Mapping[Partition, Mapping[int, RefusedRow]]
    """By partition and offset."""
    totals: Accumulator[PassTotals]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            try:
                pipeline = Pipeline.start(self.spec, stack, report=True)
                step = Step(PipelineStage.TASK_PUT, SINK_CLASS, self._refuse)
                for arrow in batches:
                    raw = raw_batch(arrow)
                    if kept := self._refused(raw):
                        pipeline.errors.run([step], pipeline.process(raw.select(kept)))
                pipeline.finish()
            except HostLost as lost:
                raise lost_host(lost) from lost
            except Exception as error:
                raise RowsError(trace=trace(error)) from error
            self.totals.add(PassTotals(pipeline.totals().errors()))
        yield from ()

    def _refused(self, raw: Batch) -> list[int]:
        return [i for i in range(len(raw)) if self._said(raw, i) is not None]

    def _said(self, batch: Batch, row: int) -> RefusedRow | None:
        origin = batch.origin
        assert isinstance(origin, SinkOrigin)
        return self.refused.get((origin.topics[row], origin.partitions[row]), {}).get(origin.offsets[row])

    def _refuse(self, batch: Batch) -> Batch:
        """Refuse every record; those of a batch one by one, since each has its own message."""
        row = self._said(batch, 0)
        raise DataError("The database refuses this row") if row is None else RefusedRowError(row)

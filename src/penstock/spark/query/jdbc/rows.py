"""Records to rows of tables, in Spark's Python processes, by the connector's converters and transforms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
from pyspark import Accumulator

from penstock.connectors.jdbc.sink_settings import JdbcSinkSettings
from penstock.hosts.errors import HostLost
from penstock.pipeline.trace import trace
from penstock.spark.query.jdbc.plan import PassPlan, PassTotals, Stops
from penstock.spark.query.jdbc.row_maker import TableRowMaker
from penstock.spark.query.safe import SafeSpec
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.rows.held_letters import HeldFailures
from penstock.spark.query.sink.rows.pipeline import Pipeline
from penstock.spark.query.sink.rows.plan import RowsError, lost_host
from penstock.spark.query.sink.rows.refused import RefusedRow
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


def refused_row(text: str, table: str, columns: Sequence[str], column: str, state: str) -> RefusedRow:
    """Return the refused row. ``text``: the database's message with Java's class. ``column``: as the server tells it
    beside its message, empty if it does not. ``columns``: of the row.
    """
    named = (found[1] for each in _COLUMNS if (found := each.search(text)) is not None)
    return RefusedRow(text, table, column or next((name for name in named if name in columns), ""), state)

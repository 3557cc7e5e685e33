"""Rows that a database or a table refuses: their records fail as ``errors.*`` says, with the target's own message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
from pyspark import Accumulator

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError, DataError
from penstock.hosts.errors import HostLost
from penstock.pipeline.errors import PipelineStage, Step
from penstock.pipeline.trace import trace
from penstock.spark.query.safe import SafeSpec
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.rows.pipeline import Pipeline
from penstock.spark.query.sink.rows.plan import RowsError, lost_host
from penstock.spark.query.sink.rows.row_maker import raw_batch
from penstock.spark.query.sink.totals import BatchTotals


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that the target has refused: the target's message, and the row's table; the column if it is known, else
    empty, and the same for the SQLSTATE.
    """

    text: str
    table: str
    column: str = ""
    state: str = ""


Refused = dict[Partition, dict[int, RefusedRow]]
"""Refused rows by the partition and offset of their records."""


class RefusedRowError(DataError):
    """The target refuses the row of a record."""

    def __init__(self, row: RefusedRow) -> None:
        super().__init__(row.text)
        self.letter_headers = {
            name: text for name, text in (("table", row.table), ("column", row.column), ("sqlstate", row.state)) if text
        }


def refusal(refused: Refused, target: str) -> ConnectError:
    """Return the error that ends a task whose ``target`` refuses rows; it names the first of them."""
    (topic, partition), found = next(iter(sorted(refused.items())))
    offset = min(found)
    place = f"topic {topic}, partition {partition}, offset {offset}"
    error = ConnectError(
        f"{target} refuses the row of {place}: {found[offset].text} "
        "(errors.tolerance=all skips such rows, errors.deadletterqueue.topic.name keeps them)"
    )
    error.add_note(f"In the row of {place}")
    return error


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """The function of ``mapInArrow`` that reports records whose rows the target has refused, as ``errors.*`` says."""

    spec: SafeSpec
    refused: Mapping[Partition, Mapping[int, RefusedRow]]
    totals: Accumulator[BatchTotals]
    plugin: str
    """The sink's class."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            try:
                pipeline = Pipeline.start(self.spec, stack, report=True)
                step = Step(PipelineStage.TASK_PUT, self.plugin, self._refuse)
                for arrow in batches:
                    raw = raw_batch(arrow)
                    if kept := [i for i in range(len(raw)) if self._of(raw, i) is not None]:
                        pipeline.errors.run([step], pipeline.process(raw.select(kept)))
                pipeline.finish()
            except HostLost as lost:
                raise lost_host(lost) from lost
            except Exception as error:
                raise RowsError(trace=trace(error)) from error
            self.totals.add(pipeline.totals().errors())
        yield from ()

    def _of(self, batch: Batch, row: int) -> RefusedRow | None:
        origin = batch.origin
        assert isinstance(origin, SinkOrigin)
        return self.refused.get((origin.topics[row], origin.partitions[row]), {}).get(origin.offsets[row])

    def _refuse(self, batch: Batch) -> Batch:
        """Refuse every record; those of a batch one by one, since each has its own message."""
        row = self._of(batch, 0)
        raise DataError("The target refuses this row") if row is None else RefusedRowError(row)

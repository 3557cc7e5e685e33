"""Records that the query of a sink leaves out, as ``pipeline.sink.skips`` does for hosted tasks.

Spark leaves them out of what a batch reads, so that it does not matter which writer, step or target fails for them. The
driver writes their dead letters before the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import RetriableError
from penstock.core.model.skips import Skip
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.skips import PendingSkips, TopicIds, leave_out
from penstock.spark.query.sink.progress import Partition, Span
from penstock.spark.query.sink.rows.row_maker import raw_batch
from penstock.spark.query.sink.writer import RECORDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LETTER_SECONDS = 30.0


class SkippedRows:
    """The records that one run of a task leaves out. Called by the thread that writes batches."""

    def __init__(
        self,
        skips: Iterable[Skip],
        over: Callable[[Skip], None],
        topic_ids: TopicIds,
        metrics: Metrics,
        queue: Callable[[], DeadLetterQueue] | None,
    ) -> None:
        """``over`` and ``topic_ids`` as for ``PendingSkips``.

        ``queue`` makes the dead letter queue, if the connector has one.
        """
        self._pending = PendingSkips(skips, topic_ids, over, RetriableError)
        self._metrics, self._make_queue = metrics, queue
        self._queue: DeadLetterQueue | None = None

    def without(self, records: DataFrame, span: Span) -> DataFrame:
        """Return the records of a batch without those to leave out, whose dead letters have arrived.

        Raises ConnectError, and RetriableError if the IDs of topics can't be had now.
        """
        found = self._pending.current([skip for skip in self._pending.skips if _is_in(skip, span)])
        if not found:
            return records
        left_out = reduce(or_, map(_condition, found))
        read = records.where(left_out).selectExpr(*RECORDS).toArrow()
        count = 0
        for arrow in read.to_batches():
            batch = raw_batch(arrow)
            for row in range(len(batch)):
                record = batch.select((row,))
                leave_out(record, _skip_of(record, found), self._opened())
                count += 1
        if self._queue is not None:
            self._queue.flush(LETTER_SECONDS)
        self._metrics.add("sink-record-read-total", count)
        self._metrics.add("total-records-skipped", count)
        return records.where(~left_out)

    def committed(self, offsets: Mapping[Partition, int]) -> None:
        """Called with the offsets from which the next batch goes on."""
        self._pending.committed(offsets)

    def _opened(self) -> DeadLetterQueue | None:
        if self._queue is None and self._make_queue is not None:
            self._queue = self._make_queue()
        return self._queue


def _is_in(skip: Skip, span: Span) -> bool:
    partition = skip.topic, skip.partition
    end = span.end.get(partition)
    return end is not None and skip.first < end and skip.last >= span.start[partition]


def _condition(skip: Skip) -> Column:
    offsets = f.col("offset").between(skip.first, skip.last)
    return (f.col("topic") == skip.topic) & (f.col("partition") == skip.partition) & offsets


def _skip_of(record: Batch, skips: Iterable[Skip]) -> Skip:
    origin = record.origin
    assert isinstance(origin, SinkOrigin)
    place = origin.topics[0], origin.partitions[0], origin.offsets[0]
    return next(skip for skip in skips if skip.has(*place))

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
from penstock.pipeline.sink.skips import PendingSkips, TopicIds, discard, leave_out
from penstock.spark.query.sink.progress import Partition, Span
from penstock.spark.query.sink.rows.row_maker import raw_batch
from penstock.spark.query.sink.writer import RECORDS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LETTER_SECONDS = 30.0
Place = tuple[str, int, int]
"""Topic, partition and offset of a record."""


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
        self._done: set[Place] = set()
        """The records that this run has left out: a batch may be attempted again."""
        self._uncounted: set[Place] = set()
        """The left-out records whose offsets are not committed yet."""

    def without(self, records: DataFrame, span: Span) -> DataFrame:
        """Return the records of a batch without those to leave out, whose dead letters have arrived.

        Raises ConnectError, and RetriableError if the IDs of topics can't be had now.
        """
        found = self._pending.current([skip for skip in self._pending.skips if _is_in(skip, span)])
        if not found:
            return records
        to_queue = [skip for skip in found if skip.to == "dead-letters"]
        discarded = [skip for skip in found if skip.to == "discard"]
        if to_queue:
            self._write_letters(records, to_queue)
        if discarded:
            # A record that two skips name goes to the queue.
            chosen = _any(discarded) & ~_any(to_queue) if to_queue else _any(discarded)
            rows = records.where(chosen).select("topic", "partition", "offset").collect()
            places = {(row["topic"], row["partition"], row["offset"]) for row in rows} - self._done
            for place in sorted(places):
                discard(*place)
            self._left_out(places)
        return records.where(~_any(found))

    def _write_letters(self, records: DataFrame, skips: Iterable[Skip]) -> None:
        """Write the dead letters that this run has not written yet, for an earlier attempt of the batch."""
        chosen = _any(skips)
        for topic, partition in {(skip.topic, skip.partition) for skip in skips}:
            written = [place[2] for place in self._done if place[:2] == (topic, partition)]
            chosen &= ~((f.col("topic") == topic) & (f.col("partition") == partition) & f.col("offset").isin(written))
        places = set()
        for arrow in records.where(chosen).selectExpr(*RECORDS).toArrow().to_batches():
            batch = raw_batch(arrow)
            for row in range(len(batch)):
                record = batch.select((row,))
                place = _place(record)
                leave_out(record, next(skip for skip in skips if skip.has(*place)), self._opened())
                places.add(place)
        if self._queue is not None:
            self._queue.flush(LETTER_SECONDS)
        self._left_out(places)

    def committed(self, offsets: Mapping[Partition, int]) -> None:
        """Called with the offsets from which the next batch goes on."""
        passed = {place for place in self._uncounted if offsets.get(place[:2], -1) > place[2]}
        if passed:
            self._uncounted -= passed
            self._metrics.add("sink-record-read-total", len(passed))
            self._metrics.add("total-records-skipped", len(passed))
        self._pending.committed(offsets)

    def _left_out(self, places: set[Place]) -> None:
        self._done |= places
        self._uncounted |= places

    def _opened(self) -> DeadLetterQueue | None:
        if self._queue is None and self._make_queue is not None:
            self._queue = self._make_queue()
        return self._queue


def _is_in(skip: Skip, span: Span) -> bool:
    partition = skip.topic, skip.partition
    end = span.end.get(partition)
    return end is not None and skip.first < end and skip.last >= span.start[partition]


def _any(skips: Iterable[Skip]) -> Column:
    return reduce(or_, map(_condition, skips))


def _condition(skip: Skip) -> Column:
    offsets = f.col("offset").between(skip.first, skip.last)
    return (f.col("topic") == skip.topic) & (f.col("partition") == skip.partition) & offsets


def _place(record: Batch) -> Place:
    origin = record.origin
    assert isinstance(origin, SinkOrigin)
    return origin.topics[0], origin.partitions[0], origin.offsets[0]

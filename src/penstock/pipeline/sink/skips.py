"""Records that a sink task leaves out, because a user has asked for it (``core.skips``).

They are taken out of what was fetched before anything else happens to it, so that it does not matter which step fails
for them. Their offsets are committed with those of the records around them, once their dead letters have arrived.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError
from penstock.api.sink import TopicPartition
from penstock.core.model.skips import Skip
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import PipelineStage, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.context import SINK_TASK_CLASS
from penstock.pipeline.task import TaskFencedError

log = logging.getLogger(__name__)

TopicIds = Callable[[Iterable[str]], Mapping[str, str] | None]
"""The IDs of those of the topics that the brokers know; None if they can't be had now."""


class SkippedRecordError(ConnectError):
    """The error in the headers of the dead letter of a record that was skipped on request."""


class PendingSkips:
    """The skips of one run of a task, until they are over. Called by one thread."""

    def __init__(
        self,
        skips: Iterable[Skip],
        topic_ids: TopicIds,
        over: Callable[[Skip], None],
        unknown: Callable[[str], Exception],
    ) -> None:
        """``over`` is called once for each skip, when the group's offsets are beyond it or its topic is another one.

        ``unknown`` makes the error that starts the task again, when the ID of a topic is not known.
        """
        self.skips = list(skips)
        """The skips that apply, as far as is known."""
        self._pending = set(self.skips)
        self._topic_ids, self._over, self._unknown = topic_ids, over, unknown

    def current(self, skips: Iterable[Skip]) -> list[Skip]:
        """Return those of the skips whose topic is the one of the request. The others are over.

        A broker that has just started does not know all its topics yet, so only another ID ends a skip; raises the
        error of ``unknown`` if there is none.
        """
        asked = list(skips)
        topics = sorted({skip.topic for skip in asked if skip.topic_id})
        ids = (self._topic_ids(topics) if topics else None) or {}
        for topic in topics:
            if topic not in ids:
                raise self._unknown(
                    f"The brokers don't give the ID of topic {topic}, some of whose records are skipped"
                )
        stale = [skip for skip in asked if skip.topic_id and ids[skip.topic] != skip.topic_id]
        for skip in stale:
            log.warning("Not skipping %s: topic %s was created again since the request", skip, skip.topic)
            self.skips.remove(skip)
            self._end(skip)
        return [skip for skip in asked if skip not in stale]

    def committed(self, offsets: Mapping[Any, int]) -> None:
        """Called with the group's offsets, by topic and partition, when they have changed."""
        for skip in [each for each in self._pending if offsets.get((each.topic, each.partition), -1) > each.last]:
            self._end(skip)

    def _end(self, skip: Skip) -> None:
        if skip in self._pending:
            self._pending.discard(skip)
            self._over(skip)


class SkippedRecords:
    """The records that one run of a task leaves out. Called by the loop alone."""

    def __init__(
        self,
        skips: Iterable[Skip] = (),
        topic_ids: TopicIds = lambda topics: {},
        over: Callable[[Skip], None] = lambda skip: None,
        metrics: Metrics | None = None,
        queue: DeadLetterQueue | None = None,
    ) -> None:
        """``topic_ids`` and ``over`` as for ``PendingSkips``."""
        self._pending = PendingSkips(skips, topic_ids, over, TaskFencedError)
        self._metrics, self._queue = metrics, queue

    def without(self, batch: FetchedBatch) -> FetchedBatch:
        """Return the batch without the records to leave out: the same object if it has none of them.

        Raises TaskFencedError if the brokers don't give the ID of a topic, and ConnectError.
        """
        near = [skip for skip in self._pending.skips if (skip.topic, skip.partition) in batch.ends]
        if not near:
            return batch
        origin = batch.records.origin
        assert isinstance(origin, SinkOrigin)
        places = list(zip(origin.topics, origin.partitions, origin.offsets, strict=True))
        found = self._pending.current([skip for skip in near if any(skip.has(*place) for place in places)])
        if not found:
            return batch
        kept: list[int] = []
        count = 0
        for row, place in enumerate(places):
            skip = next((each for each in found if each.has(*place)), None)
            if skip is None:
                kept.append(row)
            else:
                leave_out(batch.records.select((row,)), skip, self._queue)
                count += 1
        if self._metrics is not None:
            self._metrics.add("sink-record-read-total", count)
            self._metrics.add("total-records-skipped", count)
        return FetchedBatch(batch.records.select(kept), batch.ends)

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Called with the group's offsets when they have changed."""
        self._pending.committed(offsets)


def discard(topic: str, partition: int, offset: int) -> None:
    """Log that a record is left out."""
    text = "Skipping the record of topic %s, partition %d, offset %d, as requested: it is discarded"
    log.warning(text, topic, partition, offset)


def leave_out(record: Batch, skip: Skip, queue: DeadLetterQueue | None) -> None:
    """Log that a record, as it was read, is left out, and write its dead letter if the skip says so."""
    origin = record.origin
    assert isinstance(origin, SinkOrigin)
    topic, partition, offset = origin.topics[0], origin.partitions[0], origin.offsets[0]
    if skip.to == "discard":
        discard(topic, partition, offset)
        return
    place = f"topic {topic}, partition {partition}, offset {offset}"
    if queue is None:
        raise ConnectError(
            f"The record of {place} is to be skipped to the dead letter queue, but the connector has none: "
            "errors.deadletterqueue.topic.name is not set any more. Set it, or cancel the skip and skip with `discard`"
        )
    log.warning("Skipping the record of %s, as requested: it goes to the dead letter queue", place)
    error = SkippedRecordError("The record was skipped by request")
    queue(RecordFailure(PipelineStage.KAFKA_CONSUME, SINK_TASK_CLASS, error, record, original=record))

"""Records that a sink task leaves out, because a user has asked for it (``core.skips``).

They are taken out of what was fetched before anything else happens to it, so that it does not matter which step fails
for them. Their offsets are committed with those of the records around them, once their dead letters have arrived.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import KafkaException

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError
from penstock.api.sink import TopicPartition
from penstock.core.model.skips import Skip
from penstock.kafka.admin import sentence
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import PipelineStage, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.context import SINK_TASK_CLASS
from penstock.pipeline.task import TaskFencedError

log = logging.getLogger(__name__)

TopicIds = Callable[[Iterable[str]], Mapping[str, str]]
"""The IDs of those of the topics that exist. Raises KafkaException."""


class SkippedRecordError(ConnectError):
    """The error in the headers of the dead letter of a record that was skipped on request."""


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
        """``over`` is called once for each skip, when the group's offsets are beyond it or its topic is another one."""
        self._skips: dict[TopicPartition, list[Skip]] = {}
        for skip in skips:
            self._skips.setdefault(TopicPartition(skip.topic, skip.partition), []).append(skip)
        self._pending = {skip for each in self._skips.values() for skip in each}
        self._topic_ids, self._over, self._metrics, self._queue = topic_ids, over, metrics, queue

    def without(self, batch: FetchedBatch) -> FetchedBatch:
        """Return the batch without the records to leave out: the same object if it has none of them."""
        if self._skips.keys().isdisjoint(batch.ends):
            return batch
        origin = batch.records.origin
        assert isinstance(origin, SinkOrigin)
        kept: list[int] = []
        left_out: list[tuple[int, Skip]] = []
        current: dict[str, bool] = {}
        for row, (topic, number, offset) in enumerate(
            zip(origin.topics, origin.partitions, origin.offsets, strict=True)
        ):
            skip = self._of(TopicPartition(topic, number), offset, current)
            if skip is None:
                kept.append(row)
            else:
                left_out.append((row, skip))
        if not left_out:
            return batch
        for row, skip in left_out:
            leave_out(batch.records.select((row,)), skip, self._queue)
        if self._metrics is not None:
            self._metrics.add("sink-record-read-total", len(left_out))
            self._metrics.add("total-records-skipped", len(left_out))
        return FetchedBatch(batch.records.select(kept), batch.ends)

    def _of(self, partition: TopicPartition, offset: int, current: dict[str, bool]) -> Skip | None:
        for skip in self._skips.get(partition, ()):
            if skip.first <= offset <= skip.last:
                if partition.topic not in current:
                    current[partition.topic] = self._is_current(skip)
                return skip if current[partition.topic] else None
        return None

    def _is_current(self, skip: Skip) -> bool:
        """Return whether the topic is the one of the request. If it is not, its skips are over.

        Raises TaskFencedError if the brokers don't say, so that the task starts again.
        """
        if not skip.topic_id:
            return True
        try:
            found = self._topic_ids([skip.topic]).get(skip.topic)
        except KafkaException as error:
            raise TaskFencedError(f"The ID of topic {skip.topic} could not be read: {sentence(error)}") from error
        if found == skip.topic_id:
            return True
        log.warning("Not skipping %s: topic %s was created again since the request", skip, skip.topic)
        for partition in [each for each in self._skips if each.topic == skip.topic]:
            self._end(self._skips.pop(partition))
        return False

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Called with the group's offsets when they have changed."""
        if self._pending:
            self._end(
                [
                    skip
                    for skip in self._pending
                    if offsets.get(TopicPartition(skip.topic, skip.partition), -1) > skip.last
                ]
            )

    def _end(self, skips: list[Skip]) -> None:
        for skip in skips:
            if skip in self._pending:
                self._pending.discard(skip)
                self._over(skip)


def leave_out(record: Batch, skip: Skip, queue: DeadLetterQueue | None) -> None:
    """Log that a record, as it was read, is left out, and write its dead letter if the skip says so."""
    origin = record.origin
    assert isinstance(origin, SinkOrigin)
    place = f"topic {origin.topics[0]}, partition {origin.partitions[0]}, offset {origin.offsets[0]}"
    if skip.to == "discard":
        log.warning("Skipping the record of %s, as requested: it is discarded", place)
        return
    if queue is None:
        raise ConnectError(
            f"The record of {place} is to be skipped to the dead letter queue, but the connector has none: "
            "errors.deadletterqueue.topic.name is not set any more. Set it, or cancel the skip and skip with `discard`"
        )
    log.warning("Skipping the record of %s, as requested: it goes to the dead letter queue", place)
    error = SkippedRecordError("The record was skipped by request")
    queue(RecordFailure(PipelineStage.KAFKA_CONSUME, SINK_TASK_CLASS, error, record, original=record))

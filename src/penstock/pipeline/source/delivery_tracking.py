"""Telling a source task which of its records Kafka has: what it costs is paid only by tasks that want to hear it.

The producer reports each record then; what is done per record is to note its row. The task is told of many at once.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from itertools import repeat
from typing import Any

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.source import SourceTask
from penstock.pipeline.source.ledger import Submitted
from penstock.pipeline.source.sender import Delivered, Sender

log = logging.getLogger(__name__)


def wants_acknowledgements(task: type[SourceTask]) -> bool:
    """Whether this class wants to be told of its records."""
    return task.commit_record is not SourceTask.commit_record or task.commit_records is not SourceTask.commit_records


def tracked(batch: Batch) -> Batch:
    """The same batch, each record with a source offset object of its own, by which it is recognised after
    transforms.
    """
    origin = batch.origin
    assert isinstance(origin, SourceOrigin)
    offsets = list(origin.offsets)
    if len(set(map(id, offsets))) < len(offsets):
        offsets = list(map(dict, offsets))
    return batch.with_(origin=SourceOrigin(origin.partitions, offsets))


class TrackedBatch(Submitted):
    """A tracked batch under way, with what is to be told of it."""

    def __init__(self, before: Batch, ready: Batch, sender: Sender) -> None:
        """``ready`` is what became of the batch; what is not in it was dropped."""
        super().__init__(before)
        self._sender = sender
        self._rows: list[int] = []
        self._messages: list[Any] = []
        self._lost: list[int] = []
        self._kept = _rows(before, ready)
        if len(self._kept) < len(before):
            for row in sorted(set(range(len(before))).difference(self._kept)):
                self._lose(row)

    def callbacks(self) -> list[Delivered]:
        """For the records that are left, in their order."""
        return list(map(partial, repeat(self._delivered), self._kept))

    def _delivered(self, row: int, error: ck.KafkaError | None, message: Any) -> None:
        if error is None:
            self._rows.append(row)
            self._messages.append(message)
            self.ack(row)
            return
        if message is not None:
            self._sender.failed(error, message)
            if not self._sender.forgives(message.topic()):
                return
        self._lose(row)

    def _lose(self, row: int) -> None:
        self._lost.append(row)
        self.ack(row)

    def tell(self, task: SourceTask) -> None:
        """Tell of what has become known since the last call."""
        if self._lost:
            rows, self._lost = self._lost, []
            batch = self._part(rows)
            partitions = [-1 if partition is None else partition for partition in batch.partitions]
            _tell(task, batch, batch.topics, partitions, [-1] * len(rows))
        if self._rows:
            rows, self._rows = self._rows, []
            messages, self._messages = self._messages, []
            topics: list[Any] = list(map(ck.Message.topic, messages))
            places: list[Any] = list(map(ck.Message.partition, messages))
            offsets: list[Any] = list(map(ck.Message.offset, messages))
            if None in offsets:  # with acks=0 nobody knows them
                offsets = [-1 if offset is None else offset for offset in offsets]
            _tell(task, self._part(rows), topics, places, offsets)

    def _part(self, rows: list[int]) -> Batch:
        return self.batch if rows == list(range(len(self.batch))) else self.batch.select(rows)


def _rows(before: Batch, ready: Batch) -> list[int]:
    """The row that each record had before."""
    if ready.origin is before.origin:
        return list(range(len(before)))
    assert isinstance(before.origin, SourceOrigin)
    assert isinstance(ready.origin, SourceOrigin)
    by_offset = {id(offset): row for row, offset in enumerate(before.origin.offsets)}
    return [by_offset[id(offset)] for offset in ready.origin.offsets]


def _tell(
    task: SourceTask, batch: Batch, topics: Sequence[str], partitions: Sequence[int], offsets: Sequence[int]
) -> None:
    if type(task).commit_records is not SourceTask.commit_records:
        try:
            task.commit_records(batch, topics, partitions, offsets)
        except Exception:
            log.exception("Exception thrown while calling task.commit_records()")
        return
    for record, topic, number, offset in zip(batch.rows(), topics, partitions, offsets, strict=True):
        try:
            task.commit_record(record, topic, number, offset)  # type: ignore[arg-type]
        except Exception:
            log.exception("Exception thrown while calling task.commit_record()")

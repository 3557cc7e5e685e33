"""Passes acknowledgements of records on to the source task, for tasks that override ``commit_record(s)`` only.

The producer calls back for each record then, which notes the record's row; the task is called once for many rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import SelectedRows
from penstock.api.source import SourceTask
from penstock.pipeline.source.ledger import Submitted
from penstock.pipeline.source.sender import Delivered, Sender

log = logging.getLogger(__name__)


def wants_acknowledgements(task: type[SourceTask]) -> bool:
    """Whether this class overrides ``commit_record`` or ``commit_records``."""
    return task.commit_record is not SourceTask.commit_record or task.commit_records is not SourceTask.commit_records


def tracked(batch: Batch) -> Batch:
    """The same batch, with a source offset object for each record alone, which identifies it after transforms."""
    origin = batch.origin
    assert isinstance(origin, SourceOrigin)
    if isinstance(origin.offsets, SelectedRows):
        return batch
    offsets = list(origin.offsets)
    if len(set(map(id, offsets))) < len(offsets):
        offsets = list(map(dict, offsets))
    return batch.with_(origin=SourceOrigin(origin.partitions, offsets))


class TrackedBatch(Submitted):
    """A tracked batch in flight, and which of its rows the task has not been notified of."""

    def __init__(self, before: Batch, ready: Batch, sender: Sender) -> None:
        """``ready``: the batch after the steps; records that are not in it were dropped."""
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
        """One callback for each record of ``ready``, in order."""
        return list(map(partial, repeat(self._delivered), self._kept))

    def _delivered(self, row: int, error: ck.KafkaError | None, message: Any) -> None:
        if error is None:
            self._rows.append(row)
            self._messages.append(message)
            self.ack(row)
            return
        if message is not None:
            self._sender.failed(error, message)
            if not self._sender.losses.tolerates(message.topic()):
                return
        self._lose(row)

    def _lose(self, row: int) -> None:
        self._lost.append(row)
        self.ack(row)

    def notify(self, task: SourceTask) -> None:
        """Call the task for the records that were acknowledged or lost since the last call."""
        if self._lost:
            rows, self._lost = self._lost, []
            batch = self._select(rows)
            partitions = [-1 if partition is None else partition for partition in batch.partitions]
            _notify(task, batch, batch.topics, partitions, [-1] * len(rows))
        if self._rows:
            rows, self._rows = self._rows, []
            messages, self._messages = self._messages, []
            topics: list[Any] = list(map(ck.Message.topic, messages))
            places: list[Any] = list(map(ck.Message.partition, messages))
            offsets: list[Any] = list(map(ck.Message.offset, messages))
            if None in offsets:  # with acks=0 nobody knows them
                offsets = [-1 if offset is None else offset for offset in offsets]
            if (commit_records_at := getattr(task, "commit_records_at", None)) is not None:
                times = [time for _, time in map(ck.Message.timestamp, messages)]
                _logged(partial(commit_records_at, self._select(rows), topics, places, offsets, times))
            else:
                _notify(task, self._select(rows), topics, places, offsets)

    def _select(self, rows: list[int]) -> Batch:
        return self.batch if rows == list(range(len(self.batch))) else self.batch.select(rows)


def _rows(before: Batch, ready: Batch) -> list[int]:
    """The row that each record had before."""
    if ready.origin is before.origin:
        return list(range(len(before)))
    assert isinstance(before.origin, SourceOrigin)
    assert isinstance(ready.origin, SourceOrigin)
    if isinstance(before.origin.offsets, SelectedRows) and isinstance(ready.origin.offsets, SelectedRows):
        places = {row: i for i, row in enumerate(before.origin.offsets.rows)}
        return [places[row] for row in ready.origin.offsets.rows]
    by_offset = {id(offset): row for row, offset in enumerate(before.origin.offsets)}
    return [by_offset[id(offset)] for offset in ready.origin.offsets]


def _notify(
    task: SourceTask, batch: Batch, topics: Sequence[str], partitions: Sequence[int], offsets: Sequence[int]
) -> None:
    if type(task).commit_records is not SourceTask.commit_records:
        _logged(partial(task.commit_records, batch, topics, partitions, offsets))
        return
    for record, topic, number, offset in zip(batch.rows(), topics, partitions, offsets, strict=True):
        try:
            task.commit_record(record, topic, number, offset)  # type: ignore[arg-type]
        except Exception:
            log.exception("Exception thrown while calling task.commit_record()")


def _logged(commit_records: Callable[[], None]) -> None:
    try:
        commit_records()
    except Exception:
        log.exception("Exception thrown while calling task.commit_records()")

"""Passes acknowledgements of records on to the source task, for tasks that override ``commit_record(s)`` only.

The producer calls back for each record then, which notes the record's row; the task is called once for many rows.

In transactions a task can do with fewer (``RuntimeHooks.samples_acknowledgements``): the offsets of records between
two others follow from theirs, where nobody else has written there; of the rest it is not notified.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, repeat
from typing import Any

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import SelectedRows
from penstock.api.runtime_hooks import hooks_of
from penstock.api.source import SourceTask
from penstock.pipeline.source.ledger import SubmittedBatch
from penstock.pipeline.source.sending.sender import Delivered, Sender
from penstock.values.no_offset import NoOffset

log = logging.getLogger(__name__)

SAMPLE = 100
"""Records of a partition of which one is asked for; as many as may by default be between two offset syncs."""


def wants_acknowledgements(task: type[SourceTask]) -> bool:
    """Return whether this class overrides ``commit_record`` or ``commit_records``."""
    return task.commit_record is not SourceTask.commit_record or task.commit_records is not SourceTask.commit_records


def tracked(batch: Batch) -> Batch:
    """Return the batch with a source offset object of its own for each record, which identifies it after transforms."""
    origin = batch.origin
    assert isinstance(origin, SourceOrigin)
    if isinstance(origin.offsets, SelectedRows):
        return batch
    offsets = list(origin.offsets)
    if len(set(map(id, offsets))) < len(offsets):
        offsets = list(map(_own, offsets))
    return batch.with_(origin=SourceOrigin(origin.partitions, offsets))


def _own(offset: dict[str, Any] | None) -> dict[str, Any]:
    return NoOffset() if offset is None or isinstance(offset, NoOffset) else dict(offset)


class TrackedBatch(SubmittedBatch):
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

    def callbacks(self) -> Sequence[Delivered | None]:
        """The callback of each record of ``ready``, in order; None for one of which the task need not know."""
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
            if (hooks := hooks_of(task)).takes_timestamps:
                times = [time for _, time in map(ck.Message.timestamp, messages)]
                _logged(partial(hooks.commit_records_at, self._select(rows), topics, places, offsets, times))
            else:
                _notify(task, self._select(rows), topics, places, offsets)

    def _select(self, rows: list[int]) -> Batch:
        return self.batch if rows == list(range(len(self.batch))) else self.batch.select(rows)


class SampledBatch(TrackedBatch):
    """A tracked batch in a transaction, which asks for the first and the last record of each partition, and for some
    between. ``notify`` is called when the transaction is committed.
    """

    def __init__(self, before: Batch, ready: Batch, sender: Sender) -> None:
        super().__init__(before, ready, sender)
        self._places = _by_place(ready)

    def callbacks(self) -> Sequence[Delivered | None]:
        if any(partition is None for _, partition in self._places):
            return super().callbacks()
        found: list[Delivered | None] = [None] * len(self._kept)
        for places in self._places.values():
            for at in _sample(places):
                found[places[at]] = partial(self._delivered, self._kept[places[at]])
        return found

    def notify(self, task: SourceTask) -> None:
        if any(partition is None for _, partition in self._places):
            super().notify(task)
            return
        known: dict[int, int | None] = dict(zip(self._rows, map(ck.Message.offset, self._messages), strict=True))
        self._rows, self._messages = [], []
        super().notify(task)  # of those that are lost
        rows: list[int] = []
        topics: list[str] = []
        partitions: list[int] = []
        offsets: list[int] = []
        for (topic, partition), places in self._places.items():
            found = [(at, known.get(self._kept[places[at]])) for at in _sample(places)]
            for (at, first), (next_at, last) in pairwise([*found, (len(places), None)]):
                if first is not None:
                    gapless = last is not None and last - first == next_at - at
                    count = next_at - at if gapless else 1
                    rows += [self._kept[place] for place in places[at : at + count]]
                    offsets += range(first, first + count)
            topics += [topic] * (len(rows) - len(topics))
            partitions += [partition or 0] * (len(rows) - len(partitions))
        if rows:
            _notify(task, self._select(rows), topics, partitions, offsets)


def _by_place(ready: Batch) -> dict[tuple[str, int | None], Sequence[int]]:
    """Return the places of the records of each partition."""
    n, topics, partitions = len(ready), ready.topics, ready.partitions
    if n and topics.count(topics[0]) == n == partitions.count(partitions[0]):
        return {(topics[0], partitions[0]): range(n)}
    found: dict[tuple[str, int | None], list[int]] = {}
    for place, topic_partition in enumerate(zip(topics, partitions, strict=True)):
        found.setdefault(topic_partition, []).append(place)
    return {**found}


def _sample(places: Sequence[int]) -> list[int]:
    """Return every hundredth place, and the last."""
    return [*range(0, len(places) - 1, SAMPLE), len(places) - 1]


def _rows(before: Batch, ready: Batch) -> list[int]:
    """Return the row that each record had before."""
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

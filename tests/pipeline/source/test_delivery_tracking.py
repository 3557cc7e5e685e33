"""Sampled delivery notifications, for a task that needs few of them."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.source import SourceTask
from penstock.pipeline.runtime import CommitTiming
from penstock.pipeline.source.commit import RecordByRecord
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.sending.delivery_tracking import SAMPLE, SampledBatch, TrackedBatch, tracked


class Noting(SourceTask):
    def __init__(self) -> None:
        self.heard: dict[str, int] = {}

    def start(self, config: Any) -> None: ...

    def poll(self) -> None: ...

    def stop(self) -> None: ...

    def commit_records(
        self, batch: Batch, topics: Sequence[str], partitions: Sequence[int], offsets: Sequence[int]
    ) -> None:
        for value, topic, partition, offset in zip(batch.values, topics, partitions, offsets, strict=True):
            self.heard[value] = offset
            assert (topic, value[0]) == ("t", str(partition))


def batch(counts: dict[int | None, int]) -> Batch:
    """Return a batch of values that name their partition and number, from each partition in turn."""
    rows = [(p, i) for i in range(max(counts.values())) for p, count in counts.items() if i < count]
    origin = SourceOrigin([{}] * len(rows), [{"at": i} for i in range(len(rows))])
    return Batch.of("t", [f"{p or 0}-{i}" for p, i in rows], partitions=[p for p, _ in rows], origin=origin)


def heard(sent: Batch, offsets: dict[str, int]) -> tuple[dict[str, int], int]:
    """Return the notifications of the task if the records get these offsets, and the number of callbacks."""
    task, tracked = Noting(), SampledBatch(sent, sent, None)  # type: ignore[arg-type]
    callbacks = tracked.callbacks()
    for value, callback in zip(sent.values, callbacks, strict=True):
        if callback is not None and value in offsets:
            callback(None, ck.Message(topic="t", partition=int(value[0]), offset=offsets[value]))
    tracked.notify(task)
    return task.heard, len(callbacks) - list(callbacks).count(None)


def test_offsets_between_two_that_are_known_follow_from_them() -> None:
    for counts in ({0: 1}, {0: 2}, {0: 3 * SAMPLE + 1}, {0: 250, 1: 7, 2: SAMPLE}):
        sent = batch(dict(counts))
        offsets = {value: int(value[2:]) + 10 * int(value[0]) for value in sent.values}
        found, asked = heard(sent, offsets)
        assert found == offsets
        assert asked <= sum(2 + count // SAMPLE for count in counts.values())


def test_where_somebody_else_has_written_between_only_what_was_asked_for_is_known() -> None:
    sent = batch({0: 2 * SAMPLE + 1})
    offsets = {value: i + (i > SAMPLE + 5) for i, value in enumerate(sent.values)}
    found, _ = heard(sent, offsets)
    asked_for = {f"0-{i}" for i in (*range(SAMPLE + 1), 2 * SAMPLE)}
    assert found == {value: offset for value, offset in offsets.items() if value in asked_for}


def test_records_whose_partition_the_producer_chooses_are_all_asked_for() -> None:
    sent = batch({None: 5})
    found, asked = heard(sent, {value: 3 * i for i, value in enumerate(sent.values)})
    assert (len(found), asked) == (5, 5)


def test_records_without_offsets_are_told_apart() -> None:
    without = Batch.of("t", ["0-0", "0-1"], partitions=[0, 0], origin=SourceOrigin([{}, {}], [None, None]))  # type: ignore[list-item]
    assert heard(tracked(without), {"0-0": 5, "0-1": 6}) == ({"0-0": 5, "0-1": 6}, 2)


class Arriving:
    """A sender whose records arrive at once."""

    def send(self, ready: Batch, callbacks: Any) -> None:
        for value, callback in zip(ready.values, callbacks, strict=True):
            callback(None, ck.Message(topic="t", partition=int(value[0]), offset=int(value[2:])))

    def poll(self) -> None: ...

    def check(self) -> None: ...


def in_flight() -> set[int]:
    """Return the IDs of the batches in memory; other tests may have left some."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if isinstance(each, TrackedBatch)}


def test_records_that_have_arrived_are_not_kept_until_the_next_commit() -> None:
    control = SimpleNamespace(calls=SimpleNamespace(entered=lambda what: nullcontext()))
    runtime: Any = SimpleNamespace(metrics=SimpleNamespace(add=lambda *args: None), control=control)
    offsets = SourceTaskOffsets(SimpleNamespace(connector="c", offsets=[]))  # type: ignore[arg-type]
    log: Any = None
    policy = RecordByRecord(runtime, Noting(), Arriving(), offsets, log, CommitTiming(3600.0, 5.0))  # type: ignore[arg-type]
    before = in_flight()
    for _ in range(2):
        sent = tracked(batch({0: 3}))
        policy.send(sent, sent)
    del sent
    assert in_flight() <= before
    assert list(offsets.latest()) == [({}, {"at": 2})]

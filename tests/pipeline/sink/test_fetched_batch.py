"""Batches of a sink that are divided by partition."""

from __future__ import annotations

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.batch import FetchedBatch

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def fetched(*partitions: int) -> FetchedBatch:
    """Records of these partitions of ``t``; their values say which."""
    n = len(partitions)
    origin = SinkOrigin(["t"] * n, list(partitions), list(range(n)), ["CreateTime"] * n)
    return FetchedBatch.of(Batch.of("t", [f"{number}@{i}" for i, number in enumerate(partitions)], origin=origin))


def values(batch: FetchedBatch | None) -> list[str]:
    return [] if batch is None else batch.records.values


def test_a_batch_without_these_partitions_or_with_no_others_stays_as_it_is() -> None:
    batch = fetched(0, 0)
    assert batch.divided(frozenset()) == (None, batch)
    assert batch.divided({SECOND}) == (None, batch)
    assert batch.divided({FIRST, SECOND}) == (batch, None)


def test_records_and_offsets_go_with_their_partitions() -> None:
    first, second = fetched(0, 1, 0, 1).divided({FIRST})
    assert (values(first), values(second)) == (["0@0", "0@2"], ["1@1", "1@3"])
    assert first is not None
    assert second is not None
    assert (first.ends, second.ends) == ({FIRST: 3}, {SECOND: 4})


def test_offsets_stay_though_the_records_of_their_partition_were_filtered() -> None:
    batch = fetched(0, 1, 1)
    filtered = FetchedBatch(batch.records.select([0]), batch.ends, converted=True)
    rest = filtered.divided({FIRST})[1]
    assert rest is not None
    assert (len(rest), rest.ends, rest.converted) == (0, {SECOND: 3}, True)

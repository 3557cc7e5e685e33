"""Records that were fetched while others were put: which of them are put next, and which are not."""

from __future__ import annotations

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.puts.ahead import Ahead

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def fetched(*partitions: int) -> Batch:
    """Records of these partitions of ``t``; their values say which."""
    n = len(partitions)
    origin = SinkOrigin(["t"] * n, list(partitions), list(range(n)), ["CreateTime"] * n)
    return Batch.of("t", [f"{number}@{i}" for i, number in enumerate(partitions)], origin=origin)


def values(batch: Batch | None) -> list[str]:
    return [] if batch is None else batch.values


def test_all_are_taken_as_they_are_if_none_is_held() -> None:
    for held in (frozenset[TopicPartition](), frozenset({SECOND})):
        batch = fetched(0, 0)
        ahead = Ahead(batch)
        assert ahead.take(held) is batch
        assert ahead.take(held) is None


def test_those_of_held_partitions_wait() -> None:
    ahead = Ahead(fetched(0, 1, 0, 1))
    assert values(ahead.take({FIRST})) == ["1@1", "1@3"]
    assert ahead.take({FIRST}) is None
    assert values(ahead.take(set())) == ["0@0", "0@2"]


def test_those_of_lost_partitions_are_forgotten() -> None:
    ahead = Ahead(fetched(0, 1, 0))
    ahead.forget({SECOND})
    assert values(ahead.records) == ["0@0", "0@2"]
    ahead.forget({FIRST})
    assert ahead.records is None
    ahead.forget({FIRST})

"""Skips that a task applies, ends or cannot decide about, by the IDs of topics that the brokers give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import RetriableError
from penstock.api.sink import TopicPartition
from penstock.core.model.skips import Skip
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.skips import PendingSkips, SkippedRecords, TopicIds
from penstock.pipeline.task import TaskFencedError

OLD, NEW = (lambda at: Skip("t", 0, at, at, "old")), (lambda at: Skip("t", 0, at, at, "new"))


def batch(size: int = 9) -> FetchedBatch:
    offsets = list(range(size))
    origin = SinkOrigin(["t"] * size, [0] * size, offsets, ["CreateTime"] * size)
    return FetchedBatch(Batch.of("t", offsets, origin=origin), {TopicPartition("t", 0): size})


def ids(topics: Iterable[str]) -> Mapping[str, str]:
    return dict.fromkeys(topics, "new")


def left(skips: Iterable[Skip], topic_ids: TopicIds, over: list[Skip]) -> list[int]:
    origin = SkippedRecords(skips, topic_ids, over.append).without(batch()).records.origin
    assert isinstance(origin, SinkOrigin)
    return list(origin.offsets)


@pytest.mark.parametrize("skips", [(NEW(2), OLD(7)), (OLD(7), NEW(2)), (OLD(1), NEW(2), OLD(7))])
def test_only_the_skips_of_an_earlier_topic_end(skips: tuple[Skip, ...]) -> None:
    over: list[Skip] = []
    assert left(skips, ids, over) == [0, 1, 3, 4, 5, 6, 7, 8]
    assert over == [skip for skip in skips if skip.topic_id == "old"]


def test_the_ids_of_topics_are_asked_for_once_for_a_batch() -> None:
    asked: list[list[str]] = []
    left([NEW(1), NEW(2)], lambda topics: asked.append(list(topics)) or ids(asked[-1]), [])
    assert asked == [["t"]]


def test_no_id_is_needed_for_records_that_are_not_skipped() -> None:
    assert left([NEW(20)], lambda topics: None, []) == list(range(9))


@pytest.mark.parametrize("unknown", [None, {}])
def test_a_topic_that_a_broker_does_not_know_for_a_moment_ends_no_skip(unknown: dict[str, str] | None) -> None:
    over: list[Skip] = []
    with pytest.raises(TaskFencedError, match="don't give the ID of topic t"):
        left([NEW(2)], lambda topics: unknown, over)
    assert over == []


def test_a_query_applies_the_skips_beside_those_of_an_earlier_topic() -> None:
    over: list[Skip] = []
    pending = PendingSkips([OLD(1), NEW(2), OLD(3), NEW(4)], ids, over.append, RetriableError)
    assert pending.current(pending.skips) == pending.skips == [NEW(2), NEW(4)]
    assert over == [OLD(1), OLD(3)]

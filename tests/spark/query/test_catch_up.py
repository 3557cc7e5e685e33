"""Batch sizes of a query that catches up."""

from __future__ import annotations

import pytest

from penstock.spark.query.sink.query import CATCH_UP_SECONDS, FIRST_RECORDS, MAX_GROWTH, CatchUpSizes


def test_partitions_share_a_batch_by_their_lag() -> None:
    start, ends = {"a": 10, "b": 0, "c": 7}, {"a": 10 + 3 * FIRST_RECORDS, "b": FIRST_RECORDS, "c": 7}
    end = CatchUpSizes().end(start, ends)
    assert end == {"a": 10 + 3 * FIRST_RECORDS // 4, "b": FIRST_RECORDS // 4, "c": 7}


@pytest.mark.parametrize("ends", [{"a": FIRST_RECORDS, "b": 0}, {"a": 10 * FIRST_RECORDS}, {}])
def test_lag_below_a_batch_or_unknown_needs_no_catching_up(ends: dict[str, int]) -> None:
    assert CatchUpSizes().end({"a": 0, "b": 0}, ends) is None


@pytest.mark.parametrize(
    ("seconds", "size"),
    [
        (0.0, MAX_GROWTH * FIRST_RECORDS),
        (CATCH_UP_SECONDS / 100, MAX_GROWTH * FIRST_RECORDS),
        (CATCH_UP_SECONDS / 2, 2 * FIRST_RECORDS),
        (CATCH_UP_SECONDS, FIRST_RECORDS),
    ],
)
def test_batches_grow_as_their_time_allows(seconds: float, size: int) -> None:
    ahead = CatchUpSizes()
    ahead.took(seconds)
    assert ahead.size == size


def test_they_shrink_but_not_to_nothing() -> None:
    ahead = CatchUpSizes()
    ahead.took(2 * CATCH_UP_SECONDS)
    assert ahead.size == FIRST_RECORDS // 2
    for _ in range(5):
        ahead.took(10 * CATCH_UP_SECONDS)
    assert ahead.size == FIRST_RECORDS // 10


def test_every_record_is_in_one_batch() -> None:
    ahead, position, ends = CatchUpSizes(), {"a": 0, "b": 5, "c": 0}, {"a": 333_333, "b": 1_000_001, "c": 1}
    while (end := ahead.end(position, ends)) is not None:
        assert all(position[each] <= end[each] <= ends[each] for each in ends)
        assert 0 < sum(end.values()) - sum(position.values()) <= ahead.size + len(ends)
        position = end
    assert sum(ends.values()) - sum(position.values()) <= FIRST_RECORDS

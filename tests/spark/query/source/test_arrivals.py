"""Rows of several partitions, one partition after the other."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest

from penstock.spark.query.source.arrivals import InOrder


def rows(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"x": pa.array(values, pa.int64())})


def taken(arrivals: InOrder, count: int) -> list[object]:
    found = [arrivals.take(10) for _ in range(count)]
    return [each.column(0).to_pylist() if isinstance(each, pa.RecordBatch) else each for each in found]


@pytest.fixture
def arrivals() -> InOrder:
    return InOrder(most=100)


def test_rows_are_taken_in_the_order_of_partitions_and_batches(arrivals: InOrder) -> None:
    arrivals.begin(3)
    lanes = [arrivals.partition(number) for number in range(3)]
    for number in (2, 1, 0):
        assert lanes[number].put(rows(number), 0)
        lanes[number].ended()
    assert arrivals.finish("first", 0)
    arrivals.begin(1)
    assert arrivals.partition(0).put(rows(7), 0)
    arrivals.partition(0).ended()
    assert arrivals.finish("second", 0)
    assert taken(arrivals, 6) == [[0], [1], [2], "first", [7], "second"]
    assert arrivals.take(0) is None


def test_a_partition_waits_for_memory_unless_it_is_its_turn(arrivals: InOrder) -> None:
    arrivals.begin(2)
    first, second = arrivals.partition(0), arrivals.partition(1)
    assert second.put(rows(*range(20)), 0)
    assert not second.put(rows(1), 0.01)
    assert first.put(rows(0), 0)
    assert first.put(rows(1), 0)
    assert not first.put(rows(2), 0.01)
    assert taken(arrivals, 1) == [[0]]
    assert first.put(rows(2), 0)
    first.ended()
    waiting = threading.Thread(target=lambda: second.put(rows(3), 10))
    waiting.start()
    assert taken(arrivals, 4) == [[1], [2], [*range(20)], [3]]
    waiting.join()


def test_rows_of_an_earlier_batch_are_ignored(arrivals: InOrder) -> None:
    arrivals.begin(1)
    old = arrivals.partition(0)
    assert old.put(rows(1), 0)
    arrivals.clear()
    assert not old.put(rows(2), 0)
    arrivals.begin(1)
    assert not old.put(rows(3), 0)
    assert arrivals.partition(0).put(rows(4), 0)
    assert taken(arrivals, 1) == [[4]]

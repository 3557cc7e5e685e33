"""Records that are deleted before a sink's query has read them are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Sink, ids, make, named_gap

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def sink(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Sink]:
    return lambda **config: Sink(
        hosted, kafka, kafka.create_topic(partitions=1), tmp_path / "table", schema=COLUMNS, **config
    )


def delete_before(one: Sink, offset: int) -> None:
    one.kafka.delete_records(one.topic, offset)


@pytest.mark.parametrize("unfinished", [True, False])
def test_records_that_were_deleted_before_they_were_read_are_named(sink: Callable[..., Sink], unfinished: bool) -> None:
    with sink() as one:
        one.produce(*make(0, 10))
        one.start()
        one.written(10)
        one.stop()
        one.produce(*make(10, 30))
        if unfinished:
            one.left_in_batch(10, 30, next=True)
        delete_before(one, 20)
        one.start()
        named_gap(one, f"Offsets 10 to 19 of {one.topic}-0 were deleted before they were read")
        assert ids(one.wait(20)) == [*range(10), *range(20, 30)]
        values = one.figures(lambda values: values.get("penstock-gaps-total"))
        assert (values["penstock-gaps-total"], values["penstock-gap-offsets-total"]) == (1, 10)
        assert "Offsets 10 to 19" in values["penstock-last-error"]


def test_records_that_are_deleted_between_two_batches_of_a_query_are_named(sink: Callable[..., Sink]) -> None:
    with sink(trigger_interval_ms="8000") as one:
        one.produce(*make(0, 10))
        one.start()
        one.written(10)
        one.produce(*make(10, 30))
        delete_before(one, 20)
        named_gap(one, f"Offsets 10 to 19 of {one.topic}-0 were deleted")
        assert ids(one.wait(20)) == [*range(10), *range(20, 30)]


def test_records_that_are_deleted_while_their_batch_is_read_are_named(sink: Callable[..., Sink]) -> None:
    with sink() as one:
        for first in range(0, 200_000, 50_000):  # as many as a producer holds
            one.produce(*make(first, first + 50_000))
        one.start()
        while True:
            start, note = one.committed().get(0, (0, {}))
            if (end := note.get("end")) is not None:
                break
        delete_before(one, end - 1)
        sentence = f"Offsets {start} to {end - 2} of {one.topic}-0 were deleted while their batch was read"
        named_gap(one, sentence)
        one.written(200_000)
        values = one.figures(lambda values: values.get("penstock-gap-offsets-total"))
        assert values["penstock-gap-offsets-total"] == end - 1 - start
        found = ids(one.rows())
        assert len(found) == len(set(found))
        assert found[-(200_000 - end + 1) :] == list(range(end - 1, 200_000)), "existing records are read"


@pytest.mark.parametrize("unfinished", [True, False])
def test_a_gap_ends_the_task_if_that_is_wanted(sink: Callable[..., Sink], unfinished: bool) -> None:
    with sink(on_data_loss="fail") as one:
        one.produce(*make(0, 10))
        one.start()
        one.written(10)
        one.stop()
        one.produce(*make(10, 30))
        if unfinished:
            one.left_in_batch(10, 30, next=True)
        delete_before(one, 20)
        one.start()
        trace = one.failure()
        assert f"Offsets 10 to 19 of {one.topic}-0 were deleted before they were read" in trace
        assert "on.data.loss=continue" in trace
        assert ids(one.rows()) == list(range(10))

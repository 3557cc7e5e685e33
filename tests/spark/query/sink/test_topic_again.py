"""Spark sinks whose topic is deleted and created again while they run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Sink, ids, make, named_gap

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_topic_that_is_deleted_and_created_again_is_read_from_its_beginning(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=1)
    with Sink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS) as one:
        one.produce(*make(0, 50))
        one.start()
        one.wait(50)
        one.written(50)
        kafka.renew_topic(topic)
        one.produce(*make(50, 70))
        assert ids(one.wait(70)) == list(range(70))
        one.written(20)
        one.stop()
        one.produce(*make(70, 80))
        one.start()
        assert ids(one.wait(80)) == list(range(80))


NOT_STALLED = 350.0
"""Spark waits for records that are not there for 120 s, three times."""


@pytest.mark.parametrize("new", [5, 12, 30])
def test_an_unfinished_batch_is_not_written_from_a_topic_that_was_created_again(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, new: int
) -> None:
    """The brokers delete the group's offsets with a topic; here a commit comes after that."""
    topic, other = kafka.create_topic(partitions=1), kafka.create_topic(partitions=1)
    with Sink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS, topics=f"{topic},{other}") as one:
        one.produce(*make(0, 10))
        one.start()
        one.written(10)
        one.stop()
        one.left_in_batch(10, 20, next=True)
        unfinished = one.committed()
        assert unfinished[0][1]["topic"]
        kafka.renew_topic(topic)
        one.produce(*make(100, 100 + new))
        one.commit(unfinished)
        kafka.produce(other, ['{"id": 1000}'])
        began = time.monotonic()
        one.start()
        named_gap(one, f"The topic of {topic}-0 was deleted and created again: it is read from offset 0")
        assert ids(one.wait(10 + new + 1)) == [*range(10), *range(100, 100 + new), 1000]
        assert time.monotonic() - began < NOT_STALLED
        one.written(new)
        one.stop()
        assert one.committed()[0][1]["topic"] != unfinished[0][1]["topic"]


@pytest.mark.parametrize("new", [10, 30])
def test_the_position_in_a_topic_is_not_used_in_one_that_was_created_again_with_as_many_records(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, new: int
) -> None:
    topic = kafka.create_topic(partitions=1)
    with Sink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS, trigger_interval_ms="5000") as one:
        one.produce(*make(0, 10))
        one.start()
        one.written(10)
        kafka.renew_topic(topic)
        one.produce(*make(100, 100 + new))
        one.produce({"id": 1000})
        assert ids(one.wait(10 + new + 1)) == [*range(10), *range(100, 100 + new), 1000]
        one.written(new + 1)


def test_a_topic_that_is_created_again_can_end_the_task(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic(partitions=1)
    with Sink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS, on_data_loss="fail") as one:
        one.produce(*make(0, 10))
        one.start()
        one.written(10)
        one.stop()
        committed = one.committed()
        kafka.renew_topic(topic)
        one.produce(*make(100, 130))
        one.commit(committed)
        one.start()
        trace = one.failure()
        assert f"The topic of {topic}-0 was deleted and created again" in trace
        assert "on.data.loss=continue" in trace
        one.commit({0: (10, {})})  # as a client alters them
        one.start()
        assert ids(one.wait(30)) == [*range(10), *range(110, 130)]


def begun(one: Sink) -> dict[str, Any]:
    """Wait until a batch with records of partition 0 has begun; its metadata."""
    while True:
        note = one.committed().get(0, (0, {}))[1]
        if note.get("end"):
            return note


def test_a_topic_that_is_created_again_during_a_batch_holds_up_no_other_and_repeats_nothing(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    topic, other = kafka.create_topic(partitions=1), kafka.create_topic(partitions=1)
    with Sink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS, topics=f"{topic},{other}") as one:
        for first in range(0, 200_000, 50_000):  # as many as a producer holds
            one.produce(*make(first, first + 50_000))
        kafka.produce(other, [f'{{"id": {n}}}' for n in range(1_000_000, 1_000_020)])
        began = time.monotonic()
        one.start()
        begun(one)
        kafka.renew_topic(topic)
        one.produce(*make(2_000_000, 2_000_030))

        def new() -> list[int]:
            return [id for id in ids(one.rows() if one.folder.exists() else []) if id >= 1_000_000]

        expected = [*range(1_000_000, 1_000_020), *range(2_000_000, 2_000_030)]
        while new() != expected and time.monotonic() < began + NOT_STALLED:
            one.fine()
            time.sleep(0.5)
        assert new() == expected
        old = [id for id in ids(one.rows()) if id < 1_000_000]
        assert len(old) == len(set(old))

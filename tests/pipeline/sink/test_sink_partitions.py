"""Partitions that move between sink tasks, and those that a task pauses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.api.errors import RetriableError
from penstock.api.record import SinkRecord
from penstock.api.sink import TopicPartition
from support.kafka.client import Kafka, Record
from support.tasks.recording_sink import recording, values
from support.tasks.runs import TaskRun, eventually, new_name

pytestmark = pytest.mark.integration


def test_the_task_may_pause_partitions(kafka: Kafka, bootstrap: str) -> None:
    """Records of the other partition arrive; by then those of the paused one would have come as well."""
    topic = kafka.create_topic(partitions=2)
    paused, other = TopicPartition(topic, 0), TopicPartition(topic, 1)

    def pause(self: Any, partitions: list[TopicPartition]) -> None:
        self.context.pause(paused)
        self.log.append(self)

    task = recording(open=pause)
    with TaskRun(task, bootstrap, {"topics": topic}) as run:
        eventually(lambda: task.log)
        context = task.log[0].context
        assert context.assignment == {paused, other}
        kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])
        eventually(lambda: values(task))
        assert values(task) == ["b"]
        run.control.pause()
        eventually(lambda: run.host.states[-1] == "paused")
        run.control.resume()
        eventually(lambda: run.host.states[-1] == "running")
        kafka.produce(topic, [Record("c", partition=1)])
        eventually(lambda: "c" in values(task))
        assert values(task) == ["b", "c"]
        context.resume(paused)
        eventually(lambda: values(task) == ["b", "c", "a"])


def test_partitions_move_between_two_tasks_without_losing_or_repeating_a_record(kafka: Kafka, bootstrap: str) -> None:
    topic, connector = kafka.create_topic(partitions=4), new_name()
    first, second = recording(), recording()
    config = {"topics": topic}

    def write(word: str) -> None:
        kafka.produce(topic, [Record(f"{word}{p}", partition=p) for p in range(4)])

    write("a")
    with TaskRun(first, bootstrap, config, connector=connector):
        eventually(lambda: len(values(first)) == 4)
        with TaskRun(second, bootstrap, config, connector=connector, task=1):
            eventually(lambda: ("open", [2, 3]) in second.log)
            write("b")
            eventually(lambda: len(values(first)) + len(values(second)) == 8)
        write("c")
        eventually(lambda: len(values(first)) + len(values(second)) == 12)
    assert sorted(values(first) + values(second)) == sorted(f"{w}{p}" for w in "abc" for p in range(4))
    assert [each for each in second.log if isinstance(each, tuple)] == [("open", [2, 3]), ("close", [2, 3])]
    assert [each for each in first.log if isinstance(each, tuple)] == [
        ("open", [0, 1, 2, 3]),
        ("close", [0, 1, 2, 3]),
        ("open", [0, 1]),
        ("close", [0, 1]),
        ("open", [0, 1, 2, 3]),
        ("close", [0, 1, 2, 3]),
    ]


def test_partitions_move_incrementally_with_the_cooperative_assignor(kafka: Kafka, bootstrap: str) -> None:
    topic, connector = kafka.create_topic(partitions=2), new_name()
    first, second = recording(), recording()
    assignor = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    config = {"topics": topic, "consumer.override.partition.assignment.strategy": assignor}
    with TaskRun(first, bootstrap, config, connector=connector):
        eventually(lambda: ("open", [0, 1]) in first.log)
        with TaskRun(second, bootstrap, config, connector=connector, task=1):
            eventually(lambda: any(isinstance(each, tuple) and each[0] == "open" for each in second.log))
            kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])
            eventually(lambda: len(values(first)) + len(values(second)) == 2)
    assert [each for each in first.log if isinstance(each, tuple)][1] in [("close", [0]), ("close", [1])]
    assert sorted(values(first) + values(second)) == ["a", "b"]


def test_records_that_wait_for_a_retry_are_dropped_with_their_partition(kafka: Kafka, bootstrap: str) -> None:
    """A batch that is put again and again must not hold up a rebalance, nor be put after its partitions are closed."""
    topic, connector = kafka.create_topic(partitions=2), new_name()
    kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            self.log.append(("put", sorted(record.value for record in records)))
            self.context.timeout(50)
            raise RetriableError("never")

    first, second = recording(put=put), recording()
    with TaskRun(first, bootstrap, {"topics": topic}, connector=connector):
        eventually(lambda: any(each[0] == "put" for each in first.log))
        with TaskRun(second, bootstrap, {"topics": topic}, connector=connector, task=1):
            eventually(lambda: values(second) == ["b"])
            closed = first.log.index(("close", [0, 1]))
            eventually(lambda: ("put", ["a"]) in first.log[closed:])
            assert not any("b" in each[1] for each in first.log[closed:])

"""Sinks whose topic is deleted and created again while they run or are paused: no position in the old one is used."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask, TopicPartition
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually

pytestmark = pytest.mark.integration

QUICK = {"consumer.override.metadata.max.age.ms": "500"}
OLD, NEW = ["old0", "old1", "old2"], [f"new{number}" for number in range(10)]


class Journal(SinkTask):
    """Keeps the values and calls that it gets in ``calls`` of its own subclass."""

    calls: list[str]

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append("open")

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.calls += [record.value for record in records]

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.calls.append("close")


def journal() -> Any:
    return type("Task", (Journal,), {"calls": [], "__module__": __name__})


def pausing(run: TaskRun) -> None:
    run.control.pause()
    eventually(lambda: run.host.states[-1:] == ["paused"])


@pytest.mark.parametrize("reset", ["earliest", "latest"])
@pytest.mark.parametrize("paused", [True, False], ids=["paused", "running"])
def test_all_records_of_the_new_topic_arrive_though_it_has_more_than_the_old_one(
    kafka: Kafka, bootstrap: str, paused: bool, reset: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Paused, so that the consumer sees the new topic only when it has more records than were read of the old one."""
    caplog.set_level(logging.WARNING)
    topic, task = kafka.create_topic(), journal()
    kafka.produce(topic, OLD)
    group = f"g-{topic}"
    kafka.commit(group, topic, 0)
    begin = {"consumer.override.auto.offset.reset": reset, "consumer.override.group.id": group}
    with TaskRun(task, bootstrap, {"topics": topic, **QUICK, **begin}) as run:
        eventually(lambda: kafka.committed(group) == {(topic, 0): 3})
        if paused:
            pausing(run)
        kafka.renew_topic(topic)
        kafka.produce(topic, NEW)
        if paused:
            eventually(lambda: "was deleted and created again: its ID is" in caplog.text)
            eventually(lambda: kafka.committed(group) == {(topic, 0): 0})
            run.control.resume()
        eventually(lambda: set(task.calls) >= set(NEW))
        eventually(lambda: kafka.committed(group) == {(topic, 0): 10})
    assert task.calls[:4] == ["open", *OLD]
    assert task.calls[-11:] == [*NEW, "close"]
    assert task.calls.count("close") == 2
    if paused:
        assert task.calls == ["open", *OLD, "close", "open", *NEW, "close"]


def test_a_topic_that_is_created_again_fails_the_task_if_no_start_is_configured(kafka: Kafka, bootstrap: str) -> None:
    topic, task = kafka.create_topic(), journal()
    kafka.produce(topic, OLD)
    config = {"topics": topic, **QUICK, "consumer.override.auto.offset.reset": "none"}
    group = f"g-{topic}"
    kafka.commit(group, topic, 0)
    run = TaskRun(task, bootstrap, {**config, "consumer.override.group.id": group}).started()
    eventually(lambda: kafka.committed(group) == {(topic, 0): 3})
    pausing(run)
    kafka.renew_topic(topic)
    kafka.produce(topic, NEW)
    assert f"The topic of {topic}-0 was deleted and created again" in run.failure()
    assert kafka.committed(group) == {}


def test_offsets_of_other_topics_are_committed_though_one_was_created_again_without_a_start(
    kafka: Kafka, bootstrap: str
) -> None:
    """The comparison is that of the last commit."""
    first, second, task = kafka.create_topic(), kafka.create_topic(), journal()
    kafka.produce(first, OLD)
    kafka.produce(second, ["other"])
    group = f"g-{first}"
    kafka.commit(group, first, 0)
    kafka.commit(group, second, 0)
    start = {"consumer.override.auto.offset.reset": "none", "consumer.override.group.id": group}
    run = TaskRun(
        task, bootstrap, {"topics": f"{first},{second}", **start}, worker={"offset.flush.interval.ms": "3600000"}
    )
    eventually(lambda: run.check() or set(task.calls) >= {"other", *OLD})
    kafka.renew_topic(first)
    run.stop()
    assert kafka.committed(group) == {(second, 0): 1}


def test_all_records_of_a_shorter_topic_arrive_though_the_consumer_begins_at_its_end(
    kafka: Kafka, bootstrap: str
) -> None:
    topic, task = kafka.create_topic(), journal()
    kafka.produce(topic, OLD)
    group = f"g-{topic}"
    kafka.commit(group, topic, 0)
    start = {"consumer.override.auto.offset.reset": "latest", "consumer.override.group.id": group}
    with TaskRun(task, bootstrap, {"topics": topic, **QUICK, **start}) as run:
        eventually(lambda: kafka.committed(group) == {(topic, 0): 3})
        kafka.renew_topic(topic)
        kafka.produce(topic, ["new0", "new1"])
        eventually(lambda: run.check() or kafka.committed(group) == {(topic, 0): 2})
    assert task.calls[-3:] == ["new0", "new1", "close"]


def test_a_topic_that_is_deleted_and_comes_back_later_is_read_from_its_beginning(kafka: Kafka, bootstrap: str) -> None:
    """Until then nothing happens, and another topic is read and committed as before."""
    first, second, task = kafka.create_topic(), kafka.create_topic(), journal()
    kafka.produce(first, OLD)
    with TaskRun(task, bootstrap, {"topics": f"{first},{second}", **QUICK}) as run:
        group = f"connect-{run.connector}"
        eventually(lambda: set(task.calls) >= set(OLD))
        kafka.delete_topic(first)
        kafka.produce(second, ["between"])
        eventually(lambda: run.check() or kafka.committed(group).get((second, 0)) == 1)
        eventually(lambda: kafka._created(first))
        kafka.produce(first, NEW)
        eventually(lambda: run.check() or set(task.calls) >= {"between", *NEW})
        eventually(lambda: run.check() or kafka.committed(group) == {(first, 0): 10, (second, 0): 1})

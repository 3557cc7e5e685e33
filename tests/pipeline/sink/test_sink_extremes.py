"""Sink tasks and what is unusual: topics that vanish, offsets out of range, records very large and very many, puts that
hang.
"""

from __future__ import annotations

import resource
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.api.batch import Batch
from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask
from support.kafka.client import Kafka, Record
from support.tasks.runs import TaskRun, eventually, new_name

pytestmark = pytest.mark.integration

QUICK = {"consumer.override.metadata.max.age.ms": "500"}


class RecordListSink(SinkTask):
    """Keeps the records it is given in ``records`` of its own subclass."""

    records: list[SinkRecord]

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.records += records


def recording(**members: Any) -> Any:
    return type("Task", (RecordListSink,), {"records": [], "__module__": __name__, **members})


def values(task: Any) -> list[Any]:
    return [record.value for record in task.records]


def test_a_record_with_only_headers(kafka: Kafka, bootstrap: str) -> None:
    topic, task = kafka.create_topic(), recording()
    kafka.produce(topic, [Record(headers=(("a", b"1"), ("b", None)))])
    with TaskRun(task, bootstrap, {"topics": topic}):
        eventually(lambda: task.records)
    (record,) = task.records
    assert (record.key, record.value) == (None, None)
    assert [(header.key, header.value) for header in record.headers] == [("a", 1), ("b", None)]


def test_a_record_of_20_megabytes(kafka: Kafka, bootstrap: str) -> None:
    topic, task = kafka.create_topic(config={"max.message.bytes": str(21 << 20)}), recording()
    producer = Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 21 << 20})
    producer.produce(topic, b"x" * (20 << 20))
    producer.produce(topic, b"after")
    assert producer.flush(900) == 0
    with TaskRun(task, bootstrap, {"topics": topic}):
        eventually(lambda: len(task.records) == 2)
    assert [len(value) for value in values(task)] == [20 << 20, 5]


@pytest.mark.slow
def test_a_million_tiny_records_in_bounded_memory(kafka: Kafka, bootstrap: str) -> None:
    """Records wait while the first put does: the amount read ahead is limited, and so is each put."""
    topic, sizes, go_on = kafka.create_topic(), [], threading.Event()
    settings = {"linger.ms": 50, "queue.buffering.max.messages": 0, "enable.idempotence": True}
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    for i in range(1_000_000):
        producer.produce(topic, b"%d" % i)
    assert producer.flush(900) == 0

    def put_batch(self: Any, batch: Batch) -> None:
        sizes.append(len(batch))
        if len(batch):
            go_on.wait(900)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with TaskRun(recording(put_batch=put_batch), bootstrap, {"topics": topic}) as run:
        eventually(lambda: any(sizes))
        go_on.set()
        eventually(lambda: sum(sizes) == 1_000_000)
        eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 1_000_000})
    assert max(sizes) <= 2000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


def test_a_topic_that_is_deleted_and_created_again(kafka: Kafka, bootstrap: str) -> None:
    topic, task = kafka.create_topic(), recording()
    kafka.produce(topic, ["a", "b", "c"])
    with TaskRun(task, bootstrap, {"topics": topic, **QUICK}):
        eventually(lambda: values(task) == ["a", "b", "c"])
        kafka.renew_topic(topic)
        kafka.produce(topic, ["d"])
        eventually(lambda: "d" in values(task))
    assert values(task) == ["a", "b", "c", "d"], "each once, and no failure"


def test_a_topic_that_is_created_again_while_its_sink_is_stopped_is_read_from_its_beginning(
    kafka: Kafka, bootstrap: str
) -> None:
    """The brokers delete the offsets of a group with their topic: none is used in the new one, also if it has more
    records by then.
    """
    topic, name, before, after = kafka.create_topic(), new_name(), recording(), recording()
    kafka.produce(topic, ["a", "b", "c"])
    with TaskRun(before, bootstrap, {"topics": topic}, connector=name):
        eventually(lambda: kafka.committed(f"connect-{name}") == {(topic, 0): 3})
    kafka.renew_topic(topic)
    eventually(lambda: kafka.committed(f"connect-{name}") == {})
    new = [f"new{number}" for number in range(10)]
    kafka.produce(topic, new)
    with TaskRun(after, bootstrap, {"topics": topic}, connector=name):
        eventually(lambda: len(values(after)) >= 10)
        eventually(lambda: kafka.committed(f"connect-{name}") == {(topic, 0): 10})
    assert values(after) == new


def test_offsets_out_of_range(kafka: Kafka, bootstrap: str) -> None:
    topic, task, name = kafka.create_topic(), recording(), new_name()
    kafka.produce(topic, ["a", "b"])
    kafka.commit(f"connect-{name}", topic, 100)
    with TaskRun(task, bootstrap, {"topics": topic}, connector=name):
        eventually(lambda: len(values(task)) == 2)
        eventually(lambda: kafka.committed(f"connect-{name}") == {(topic, 0): 2})
    assert values(task) == ["a", "b"]


def test_offsets_out_of_range_without_a_start(kafka: Kafka, bootstrap: str) -> None:
    topic, name = kafka.create_topic(), new_name()
    kafka.produce(topic, ["a"])
    kafka.commit(f"connect-{name}", topic, 100)
    config = {"topics": topic, "consumer.override.auto.offset.reset": "none"}
    run = TaskRun(recording(), bootstrap, config, connector=name)
    assert "out of range" in run.failure()
    assert kafka.committed(f"connect-{name}") == {(topic, 0): 100}


def test_partitions_of_a_put_that_hangs_go_to_others(kafka: Kafka, bootstrap: str) -> None:
    topic, name, released = kafka.create_topic(), new_name(), threading.Event()
    kafka.produce(topic, ["a"])
    hung = threading.Event()

    def put(self: Any, records: Sequence[SinkRecord]) -> None:
        if records:
            hung.set()
            released.wait(900)

    config = {"topics": topic, "consumer.override.max.poll.interval.ms": "6000"}
    closed, other = threading.Event(), recording()
    first = recording(put=put, close=lambda self, partitions: closed.set())
    with TaskRun(first, bootstrap, config, connector=name):
        eventually(hung.is_set)
        with TaskRun(other, bootstrap, config, connector=name, task=1):
            eventually(lambda: values(other) == ["a"])
            kafka.produce(topic, ["b"])
            eventually(lambda: kafka.committed(f"connect-{name}") == {(topic, 0): 2})
            released.set()
            eventually(closed.is_set)
            assert kafka.committed(f"connect-{name}") == {(topic, 0): 2}

"""Exactly once (KIP-618): transaction boundaries, and tasks that cannot end a transaction."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from faults.broker import FaultyBroker
from faults.proxy import Proxy
from penstock.api.record import SourceRecord
from penstock.embedded.ports import free_port
from penstock.kafka.clients import init_transactions, new_producer
from penstock.kafka.offsets.topic import worker_offsets
from penstock.pipeline.source import transactions
from penstock.pipeline.task import TaskFencedError
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name
from support.tasks.scripted_source import ScriptedSource, records, scripted
from support.waiting import SECONDS, Inbox, answer

pytestmark = pytest.mark.integration

CONNECTOR = {"transaction.boundary": "connector"}
FOREVER = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"}


def run(task: Any, kafka: Kafka, offsets_topic: str, config: dict[str, str] | None = None, **spec: Any) -> TaskRun:
    once = {"exactly_once": True, "offsets_topic": offsets_topic, "group_id": new_name("g")}
    return TaskRun(task, kafka.bootstrap, config or {}, **{**once, **spec})


def test_each_poll_is_a_transaction(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    """Its marker takes one offset in the log; the next poll may be in progress while it is written."""
    task = scripted(records(topic, "a", "b"), records(topic, "c", start=2), records(topic, "d", start=3))
    with run(task, kafka, offsets_topic):
        eventually(lambda: [(r.offset, r.value) for r in kafka.read_all(topic)][3:] == [(5, b"d")])
    assert [r.offset for r in kafka.read_all(topic)] == [0, 1, 3, 5]
    eventually(lambda: kafka.values(offsets_topic) == [b'{"o":2}', b'{"o":3}', b'{"o":4}'])


@pytest.mark.parametrize("exactly_once", [True, False])
def test_offsets_that_fill_the_producers_buffer_wait_for_room_in_it(
    kafka: Kafka, topic: str, offsets_topic: str, exactly_once: bool
) -> None:
    many = [
        SourceRecord(topic=topic, value="a", source_partition={"p": p}, source_offset={"o": "x" * 2000})
        for p in range(3000)
    ]
    small = {"buffer.memory": str(1 << 20)}
    config = {f"producer.override.{key}": value for key, value in small.items()}
    worker = {f"producer.{key}": value for key, value in small.items()} | {"offset.flush.interval.ms": "200"}
    with run(scripted(many), kafka, offsets_topic, config, exactly_once=exactly_once, worker=worker):
        eventually(lambda: len(kafka.values(offsets_topic)) == 3000)
    assert len(kafka.values(topic)) == 3000


def test_a_wish_of_a_poll_without_records_ends_the_open_transaction(
    kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    task = scripted(records(topic, "a"), lambda task: task.context.transaction.commit_transaction())
    with run(task, kafka, offsets_topic, CONNECTOR):
        eventually(lambda: kafka.values(topic) == [b"a"])
        eventually(lambda: kafka.values(offsets_topic))
        assert kafka.values(offsets_topic) == [b'{"o":1}']


def test_a_wish_for_a_record_waits_for_it(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    first, second = records(topic, "a"), records(topic, "b", "c", start=1)

    def wish(task: ScriptedSource) -> list[SourceRecord]:
        task.context.transaction.commit_transaction(after=second[0])  # type: ignore[union-attr]
        return first

    with run(scripted(wish, second), kafka, offsets_topic, CONNECTOR):
        eventually(lambda: kafka.values(topic) == [b"a", b"b"])
        eventually(lambda: kafka.values(topic, "read_uncommitted") == [b"a", b"b", b"c"])
    assert kafka.values(topic) == [b"a", b"b"]
    eventually(lambda: kafka.values(offsets_topic) == [b'{"o":2}'])


def test_an_aborted_batch_is_not_read_again(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    def abort(task: ScriptedSource) -> list[SourceRecord]:
        task.context.transaction.abort_transaction()  # type: ignore[union-attr]
        return records(topic, "thrown away")

    def commit(task: ScriptedSource) -> list[SourceRecord]:
        task.context.transaction.commit_transaction()  # type: ignore[union-attr]
        return records(topic, "kept", start=1)

    task = scripted(abort, commit)
    with run(task, kafka, offsets_topic, CONNECTOR):
        eventually(lambda: kafka.values(topic) == [b"kept"])
    eventually(lambda: len(kafka.values(offsets_topic)) > 1)
    assert kafka.values(offsets_topic) == [b'{"o":1}', b'{"o":2}']


def test_a_boundary_at_a_record_that_is_filtered_counts(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    batch = records(topic, "a", None, "c")

    def wish(task: ScriptedSource) -> list[SourceRecord]:
        task.context.transaction.commit_transaction(after=batch[1])  # type: ignore[union-attr]
        return batch

    transforms = "org.apache.kafka.connect.transforms."
    drop = {
        "transforms": "f",
        "transforms.f.type": f"{transforms}Filter",
        "transforms.f.predicate": "p",
        "predicates": "p",
        "predicates.p.type": f"{transforms}predicates.RecordIsTombstone",
    }
    with run(scripted(wish), kafka, offsets_topic, CONNECTOR | drop):
        eventually(lambda: kafka.values(topic) == [b"a"])
        eventually(lambda: len(kafka.values(topic, "read_uncommitted")) == 2)
    assert kafka.values(topic) == [b"a"]


def test_contradicting_wishes_fail_the_task(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    def both(task: ScriptedSource) -> list[SourceRecord]:
        task.context.transaction.commit_transaction()  # type: ignore[union-attr]
        task.context.transaction.abort_transaction()  # type: ignore[union-attr]
        return records(topic, "a")

    trace = run(scripted(both), kafka, offsets_topic, CONNECTOR).failure()
    assert "The task asked to commit and to abort the same transaction" in trace
    assert (kafka.values(topic), kafka.values(offsets_topic)) == ([], [])


def test_a_task_is_notified_of_each_commit_before_it_is_polled_again(
    kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    told: list[Any] = []

    def poll(self: Any) -> Any:
        told.append("poll")
        return self.batches.pop(0) if self.batches else None

    def commit(self: Any) -> None:
        # A broker acknowledges a commit a little before readers see it.
        count = told.count("poll")
        told.append(eventually(lambda: len(found := kafka.values(topic)) >= min(count, 2) and found))

    task = scripted(records(topic, "a"), records(topic, "b", start=1), poll=poll, commit=commit)
    with run(task, kafka, offsets_topic):
        eventually(lambda: len(told) >= 4)
    assert told[:4] == ["poll", [b"a"], "poll", [b"a", b"b"]]


def test_without_exactly_once_there_is_no_transaction_to_define(kafka: Kafka, topic: str) -> None:
    seen: list[Any] = []
    task = scripted(lambda task: seen.append(task.context.transaction))
    with TaskRun(task, kafka.bootstrap, CONNECTOR):
        eventually(lambda: seen)
    assert seen == [None]


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_record_that_is_lost_fails_the_task_whatever_is_tolerated(
    kafka: Kafka, topic: str, offsets_topic: str, tolerance: str
) -> None:
    """A transaction that lacks one of its records would violate exactly once."""
    config = {"producer.override.max.request.size": "2000", "errors.tolerance": tolerance}
    task = run(scripted(records(topic, "a", "x" * 3000, "c")), kafka, offsets_topic, config)
    lines = task.failure().splitlines()
    assert lines[:2] == [
        "org.apache.kafka.connect.errors.ConnectException: Failed to flush offsets and/or records for task "
        f"{task.connector}-0",
        "Caused by: org.apache.kafka.common.errors.RecordTooLargeException: The message is 3086 bytes when serialized "
        "which is larger than 2000, which is the value of the max.request.size configuration.",
    ]
    assert f"topic {topic}, source partition {{'p': 'p'}}, source offset {{'o': 2}}" in lines[2]
    assert (kafka.values(topic), kafka.values(offsets_topic)) == ([], [])


def test_a_record_that_the_broker_refuses_aborts_the_transaction(kafka: Kafka, offsets_topic: str) -> None:
    small = kafka.create_topic(config={"max.message.bytes": "500"})
    trace = run(scripted(records(small, "a", "x" * 3000)), kafka, offsets_topic).failure()
    assert trace.startswith(
        "org.apache.kafka.connect.errors.ConnectException: Failed to flush offsets and/or records for task "
    )
    assert "Caused by: org.apache.kafka.common.errors.RecordTooLargeException" in trace
    assert f"topic {small}" in trace
    assert (kafka.values(small), kafka.values(offsets_topic)) == ([], [])


def test_skipped_records_are_tolerated(kafka: Kafka, topic: str, offsets_topic: str) -> None:
    cast = {"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    config = {**cast, "transforms.c.spec": "int32", "errors.tolerance": "all"}
    with run(scripted(records(topic, "1", "x", "3")), kafka, offsets_topic, config):
        eventually(lambda: kafka.values(topic) == [b"1", b"3"])
    # A commit may be visible in one topic a little before the other.
    assert eventually(lambda: kafka.values(offsets_topic)) == [b'{"o":3}']
    assert kafka.values(topic) == [b"1", b"3"]


def end_of(kafka: Kafka, topic: str) -> int:
    """Return the end offset of a topic with one partition, in which markers of transactions count."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "none"})
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=900)[1]
    except KafkaException:  # the consumer has not heard of the topic yet
        return 0
    finally:
        consumer.close()


def test_a_transaction_that_takes_too_long_loses_the_task_with_advice(kafka: Kafka) -> None:
    """The broker aborts its records; the marker takes one offset in the log."""
    topic, offsets_topic = kafka.create_topic(), kafka.create_topic()

    def late(task: ScriptedSource) -> list[SourceRecord]:
        eventually(lambda: end_of(kafka, topic) == 2)
        return records(topic, "b", start=1)

    config = {**FOREVER, "producer.override.transaction.timeout.ms": "4000"}
    slow = run(scripted(records(topic, "a"), late), kafka, offsets_topic, config)
    eventually(lambda: slow.error)
    trace = slow.failure()
    assert isinstance(slow.error, TaskFencedError)
    assert "was unable to finish writing records to Kafka before its producer transaction expired" in trace
    assert "increase its transaction.timeout.ms" in trace
    assert (kafka.values(topic), kafka.values(offsets_topic)) == ([], [])


def test_offsets_are_read_when_the_time_of_a_dead_tasks_open_transaction_is_over(kafka: Kafka) -> None:
    """A task that is frozen or cut off, and has no successor, delays starting tasks no longer than that."""
    topic = kafka.create_topic(config={"cleanup.policy": "compact"})
    worker = {
        "bootstrap.servers": kafka.bootstrap,
        "exactly.once.source.support": "enabled",
        "offset.storage.topic": topic,
        "offset.storage.replication.factor": "1",
    }
    settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, "transaction.timeout.ms": "3000"}
    dead, ready = new_producer(settings), Inbox()
    init_transactions(dead, 120)
    store = worker_offsets(worker, on_caught_up=ready)
    store.start()
    try:
        ready.next()
        dead.begin_transaction()
        dead.produce(topic, b'{"o":1}', b'["c",{"p":0}]')
        dead.flush()
        answer(store.read_to_end)
        assert store.snapshot("c") == []
        assert end_of(kafka, topic) == 2  # with the marker of the broker's abort
    finally:
        store.close()


def test_a_producer_that_was_fenced_before_it_is_given_more_loses_the_task(
    kafka: Kafka, bootstrap: str, topic: str, offsets_topic: str
) -> None:
    """librdkafka then refuses records, and reports only that the error is fatal."""
    group = new_name("g")

    def fence(task: ScriptedSource) -> list[SourceRecord]:
        newer = new_producer({"bootstrap.servers": bootstrap, "transactional.id": f"{group}-c-0"})
        init_transactions(newer, SECONDS)
        return records(topic, "b", start=1)

    def wait(task: ScriptedSource) -> list[SourceRecord]:
        time.sleep(1.0)  # the broker refuses b, and nothing polls the producer meanwhile
        return records(topic, "c", start=2)

    task = scripted(records(topic, "a"), fence, wait)
    fenced = run(task, kafka, offsets_topic, FOREVER, connector="c", group_id=group)
    fenced.started()
    assert "a newer run of it has taken its place" in fenced.failure()
    assert isinstance(fenced.error, TaskFencedError)


def test_brokers_that_are_away_for_longer_than_a_transaction_lose_the_task_and_not_a_record(tmp_path: Path) -> None:
    """Java's producer would wait for the brokers, and be fenced when they return."""
    seconds = 4
    config = {"producer.override.transaction.timeout.ms": f"{seconds * 1000}"}
    with FaultyBroker(tmp_path) as broker:
        kafka = Kafka(broker.bootstrap)
        topic, offsets_topic = kafka.create_topic(), kafka.create_topic()
        once = {"exactly_once": True, "offsets_topic": offsets_topic, "group_id": new_name("g")}

        def later(task: ScriptedSource) -> list[SourceRecord]:
            eventually(lambda: kafka.values(offsets_topic) == [b'{"o":1}'])
            broker.proxy.cut(3 * seconds)
            return records(topic, "b", start=1)

        away = TaskRun(scripted(records(topic, "a"), later), broker.proxied, config, **once)
        eventually(lambda: away.error)
        away.join()
        assert isinstance(away.error, TaskFencedError), away.failure()
        time.sleep(2 * seconds)
        again = {**once, "run": 2}
        connector = away.connector
        with TaskRun(scripted(records(topic, "b", start=1)), broker.proxied, config, connector=connector, **again):
            eventually(lambda: kafka.values(topic) == [b"a", b"b"])
        eventually(lambda: kafka.values(offsets_topic) == [b'{"o":1}', b'{"o":2}'])


def test_a_task_that_starts_while_the_brokers_are_away_waits_for_them(
    kafka: Kafka, topic: str, offsets_topic: str
) -> None:
    """librdkafka does not mark the error that no broker can be reached as retriable."""
    with Proxy(int(kafka.bootstrap.split(":")[1])) as proxy:
        proxy.cut(6)
        once = {"exactly_once": True, "offsets_topic": offsets_topic, "group_id": new_name("g")}
        with TaskRun(scripted(records(topic, "a")), f"127.0.0.1:{proxy.port}", {}, **once):
            eventually(lambda: kafka.values(topic))
        assert kafka.values(topic) == [b"a"]


def test_a_task_that_is_stopped_while_no_broker_answers_has_not_failed(
    monkeypatch: pytest.MonkeyPatch, offsets_topic: str
) -> None:
    begun = threading.Event()

    def begin(producer: Producer, timeout: float) -> None:
        begun.set()
        init_transactions(producer, timeout)

    monkeypatch.setattr(transactions, "init_transactions", begin)
    once = {"exactly_once": True, "offsets_topic": offsets_topic, "group_id": new_name("g")}
    away = TaskRun(scripted(), f"127.0.0.1:{free_port()}", {}, **once)
    eventually(begun.is_set)
    away.stop()
    away.check()
    assert away.host.states == []


def test_a_task_that_reaches_no_broker_when_it_starts_is_lost(
    monkeypatch: pytest.MonkeyPatch, offsets_topic: str
) -> None:
    monkeypatch.setattr(transactions, "BEGIN_SECONDS", 0)
    once = {"exactly_once": True, "offsets_topic": offsets_topic, "group_id": new_name("g")}
    away = TaskRun(scripted(), f"127.0.0.1:{free_port()}", {}, **once)
    trace = away.failure()
    assert isinstance(away.error, TaskFencedError), trace
    assert "Failed to initialize the transactional producer: the brokers have not answered in time" in trace

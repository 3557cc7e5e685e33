"""A sink whose consumer stops fetching one of several partitions, as librdkafka has done; the tests pause it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition as ClientPartition

from faults.broker import FaultyBroker
from penstock.api.record import SinkRecord
from penstock.kafka.clients import init_transactions, new_producer
from penstock.pipeline.sink.standstill import PartitionWatch, StandstillError
from support.kafka.client import Kafka, Record
from support.kafka.lost import CONSUMER, reporting_no_broker
from support.tasks.recording_sink import RecordingSink, recording, values
from support.tasks.runs import TaskRun, eventually
from support.waiting import SECONDS, until

pytestmark = pytest.mark.integration

SOUGHT = "seeking there again"
# A request to a broker waits until its fetch has returned.
QUICK = {"consumer.override.fetch.max.wait.ms": "50"}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    monkeypatch.setattr("penstock.pipeline.sink.standstill.LOOK_SECONDS", 0.2)
    monkeypatch.setattr("penstock.pipeline.sink.standstill.PATIENCE_SECONDS", 1.0)
    with caplog.at_level(logging.WARNING):
        yield


def obeying() -> Any:
    """Return a sink task that applies the functions in its class's ``asked`` to its consumer, in the loop's thread."""

    def put(self: RecordingSink, records: list[SinkRecord]) -> None:
        RecordingSink.put(self, records)
        while task.asked:
            task.asked.pop()(self.context.member.client)

    task: Any = recording(put=put, asked=[])
    return task


def stopped_with_a_partition(kafka: Kafka, topic: str, task: Any) -> None:
    """Make the consumer stop fetching partition 0, but not partition 1."""
    eventually(lambda: len(values(task)) == 2)
    task.asked.append(lambda consumer: consumer.pause([ClientPartition(topic, 0)]))
    eventually(lambda: not task.asked)
    kafka.produce(topic, [Record("a1", partition=0), Record("b1", partition=1)])
    eventually(lambda: "b1" in values(task))


def test_a_partition_that_stands_still_is_begun_again_where_it_was(
    kafka: Kafka, bootstrap: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.pipeline.sink.standstill.PATIENCE_SECONDS", 4.0)  # twice as long: then it must go on
    topic, task = kafka.create_topic(partitions=2), obeying()
    kafka.produce(topic, [Record("a0", partition=0), Record("b0", partition=1)])
    with TaskRun(task, bootstrap, {"topics": topic, **QUICK}):
        stopped_with_a_partition(kafka, topic, task)
        eventually(lambda: SOUGHT in caplog.text)
        assert f"of {topic}-0 at offset 1, where there is more; {SOUGHT}" in caplog.text
        task.asked.append(lambda consumer: consumer.resume([ClientPartition(topic, 0)]))
        eventually(lambda: "a1" in values(task))
        kafka.produce(topic, [Record("a2", partition=0)])
        eventually(lambda: "a2" in values(task))
    assert sorted(values(task)) == ["a0", "a1", "a2", "b0", "b1"]


def test_a_task_whose_partition_goes_on_standing_still_is_lost(kafka: Kafka, bootstrap: str) -> None:
    topic, task = kafka.create_topic(partitions=2), obeying()
    kafka.produce(topic, [Record("a0", partition=0), Record("b0", partition=1)])
    run = TaskRun(task, bootstrap, {"topics": topic, **QUICK})
    stopped_with_a_partition(kafka, topic, task)
    run.join()
    assert isinstance(run.error, StandstillError)
    with TaskRun(task, bootstrap, {"topics": topic, **QUICK}, connector=run.connector):
        eventually(lambda: "a1" in values(task))
    assert sorted(values(task)) == ["a0", "a1", "b0", "b1"]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_neither_markers_nor_aborted_records_nor_open_transactions_are_waited_for(
    kafka: Kafka, bootstrap: str, isolation: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic, task = kafka.create_topic(), obeying()
    producer = new_producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-t"})
    init_transactions(producer, 900)
    config = {"topics": topic, **QUICK, "consumer.override.isolation.level": isolation}
    with TaskRun(task, bootstrap, config) as run:
        for value, end in (
            ("kept", producer.commit_transaction),
            ("aborted", producer.abort_transaction),
            ("open", None),
        ):
            producer.begin_transaction()
            producer.produce(topic, value)
            producer.flush()
            if end is not None:
                end()
            read = isolation == "read_uncommitted" or value == "kept"
            eventually(lambda value=value, read=read: not read or value in values(task))  # type: ignore[misc]
            run.turns("pausing", 20)
        producer.abort_transaction()
    assert SOUGHT not in caplog.text


def test_all_records_come_though_the_broker_is_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker is fenced meanwhile, so that all partitions have leaders with another epoch."""
    monkeypatch.setattr("penstock.pipeline.sink.standstill.PATIENCE_SECONDS", 300.0)
    task = obeying()
    with FaultyBroker(tmp_path, {"broker.session.timeout.ms": "1500", "broker.heartbeat.interval.ms": "300"}) as broker:
        kafka = Kafka(broker.bootstrap)
        topic = kafka.create_topic(partitions=6)
        with TaskRun(task, broker.proxied, {"topics": topic, **QUICK}):
            for turn in range(3):
                sent = [f"{turn}-{number}" for number in range(60)]
                kafka.produce(topic, [Record(value, partition=i % 6) for i, value in enumerate(sent)])
                eventually(lambda sent=sent: set(sent) <= set(values(task)))  # type: ignore[misc]
                broker.freeze()
                time.sleep(3)
                broker.thaw()
    assert SOUGHT not in caplog.text


def test_a_consumer_that_has_lost_its_brokers_ends_the_run(
    kafka: Kafka, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[PartitionWatch] = []
    begin = PartitionWatch.__init__

    def noted(self: PartitionWatch, *given: Any) -> None:
        begin(self, *given)
        made.append(self)

    monkeypatch.setattr(PartitionWatch, "__init__", noted)
    topic, task = kafka.create_topic(), obeying()
    run = TaskRun(task, bootstrap, {"topics": topic, **QUICK})
    kafka.produce(topic, ["1"])
    eventually(lambda: values(task) == ["1"])
    ended = reporting_no_broker(lambda: not run.thread.is_alive(), made[0]._statistics, CONSUMER)
    until(ended, "the end of the run", SECONDS)
    assert isinstance(run.error, StandstillError)
    assert "has lost all its brokers" in str(run.error)
    with TaskRun(task, bootstrap, {"topics": topic, **QUICK}, connector=run.connector):
        kafka.produce(topic, ["2"])
        eventually(lambda: "2" in values(task))

"""Offset commits of a source without transactions, when brokers fail or records cannot be sent."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.record import SourceRecord
from penstock.embedded import Broker
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.source import offset_log
from penstock.pipeline.task import TaskFencedError
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name
from support.tasks.scripted_source import AcknowledgedSource, ScriptedSource, record, scripted

pytestmark = pytest.mark.integration

IMPATIENT = {"offset.flush.timeout.ms": "300"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    """A broker without automatic topic creation: records for a missing topic wait until it is created."""
    with Broker(extra={"auto.create.topics.enable": "false"}) as broker:
        yield Kafka(broker.bootstrap)


@pytest.fixture
def missing() -> str:
    """A topic that does not exist yet: sending does not fail, but records do not arrive."""
    return new_name("missing")


def stored(run: TaskRun) -> list[tuple[Any, Any]]:
    return [(partition["p"], offset["o"]) for partition, offset in run.host.stored]


@pytest.mark.parametrize("base", [ScriptedSource, AcknowledgedSource])
def test_source_partitions_do_not_wait_for_another_ones_topic(
    kafka: Kafka, topic: str, missing: str, base: type[ScriptedSource]
) -> None:
    task = scripted([record(topic, "a", 1), record(missing, "b", 1), record(topic, "a", 2)], base=base)
    with TaskRun(task, kafka.bootstrap, {}, worker=IMPATIENT) as run:
        eventually(lambda: stored(run)[-1:] == [("a", 2)])
        assert run.host.topics == [] or run.host.topics == [topic]
        task.batches.append([record(topic, "a", 3), record(topic, "b", 2)])
        eventually(lambda: stored(run)[-1:] == [("a", 3)])
        eventually(lambda: kafka.values(topic) == [b"v"] * 4)
    assert stored(run)[-2:] == [("a", 2), ("a", 3)]
    assert {partition for partition, _ in stored(run)} == {"a"}


@pytest.mark.parametrize("base", [ScriptedSource, AcknowledgedSource])
def test_no_offset_is_written_once_another_run_may_have_begun(
    kafka: Kafka, topic: str, base: type[ScriptedSource]
) -> None:
    """After a freeze, the loop goes on before it learns that it must end, and the next run may have written offsets."""
    task = scripted([record(topic, "a", 1)], base=base)
    with TaskRun(task, kafka.bootstrap, {}, worker=IMPATIENT) as run:
        eventually(lambda: stored(run) == [("a", 1)])
        run.control.leased = lambda: False
        task.batches.append([record(topic, "a", 2)])
        eventually(lambda: kafka.values(topic) == [b"v"] * 2)
        run.turns("pausing", 40)
        assert stored(run) == [("a", 1)]
        run.control.leased = lambda: True
        eventually(lambda: stored(run) == [("a", 1), ("a", 2)])


def test_waiting_for_brokers_is_no_call_of_the_task(kafka: Kafka, missing: str) -> None:
    """Otherwise a healthy task would count as stalled while the brokers cannot be reached."""
    seen, waits = list[str](), {"offset.flush.interval.ms": "100", "offset.flush.timeout.ms": "6000"}
    with TaskRun(scripted([record(missing, "b", 1)]), kafka.bootstrap, {}, worker=waits) as run:
        run.started()
        end = time.monotonic() + 8
        while time.monotonic() < end:
            run.control.calls.report(5.0, lambda call: seen.append(call.method))
            time.sleep(0.1)
    assert seen == []


@pytest.mark.parametrize("method", ["commit", "commit_record"])
@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_task_that_hangs_when_it_learns_of_a_commit_is_seen(
    kafka: Kafka, topic: str, method: str, exactly_once: bool
) -> None:
    go, seen = threading.Event(), list[str]()
    task = scripted([record(topic, "a", 1)], **{method: lambda *_: go.wait()})
    once: dict[str, Any] = {"exactly_once": True, "offsets_topic": kafka.create_topic()} if exactly_once else {}
    with TaskRun(task, kafka.bootstrap, {}, worker=IMPATIENT, **once) as run:

        def look() -> list[str]:
            """Return the last call: on a busy machine another call may take as long."""
            run.control.calls.report(0.3, lambda call: seen.append(call.method))
            return seen[-1:]

        try:
            assert eventually(lambda: look() == [method])
        finally:
            go.set()


def test_nothing_is_committed_beyond_the_first_record_that_was_not_acknowledged(
    kafka: Kafka, topic: str, missing: str
) -> None:
    task = scripted([record(topic, "a", 1), record(missing, "a", 2), record(topic, "a", 3)], base=AcknowledgedSource)
    with TaskRun(task, kafka.bootstrap, {}, worker=IMPATIENT) as run:
        eventually(lambda: stored(run) == [("a", 1)])
        eventually(lambda: sorted(task.acknowledged) == [("v", 0), ("v", 1)])
    assert stored(run) == [("a", 1)]


def test_where_a_record_went_that_nobody_acknowledges_is_not_known(kafka: Kafka, topic: str) -> None:
    task = scripted([record(topic, "a", 1)], base=AcknowledgedSource)
    with TaskRun(task, kafka.bootstrap, {"producer.override.acks": "0"}, worker=IMPATIENT):
        eventually(lambda: task.acknowledged)
    assert task.acknowledged == [("v", -1)]


def test_a_flush_that_takes_too_long_is_logged(kafka: Kafka, missing: str, caplog: pytest.LogCaptureFixture) -> None:
    with TaskRun(scripted([record(missing, "a", 1)]), kafka.bootstrap, {}, worker=IMPATIENT) as run:
        eventually(lambda: "timed out while waiting for producer to flush outstanding 1 messages" in caplog.text)
        assert f"Offsets of source partitions that send to {missing} are not committed yet" in caplog.text
    assert run.host.stored == []


def test_a_task_waits_while_its_producer_is_full(kafka: Kafka, missing: str, topic: str) -> None:
    """Records that wait for slow brokers take at most ``buffer.memory``, and are sent in order."""
    polled: list[int] = []

    def poll(self: Any) -> Any:
        polled.append(len(polled))
        return [record(missing, "a", polled[-1], "x" * 10_000)] if len(polled) <= 300 else None

    task = scripted(poll=poll)
    config = {"producer.override.buffer.memory": str(1 << 20)}
    run = TaskRun(task, kafka.bootstrap, config, worker=IMPATIENT).started()
    eventually(lambda: len(polled) >= 100)
    run.turns("aborted", 20)
    assert len(polled) < 115
    kafka.create_topic(missing)
    with run:
        eventually(lambda: len(kafka.values(missing)) == 300)
        eventually(lambda: stored(run)[-1:] == [("a", 299)])


def test_offsets_acknowledged_before_a_failure_are_committed(kafka: Kafka, topic: str) -> None:
    task = scripted([record(topic, "a", 1)], [record(topic, "a", 2)], ConnectError("broken"))
    run = TaskRun(task, kafka.bootstrap, {}, worker={"offset.flush.interval.ms": "600000"})
    assert "broken" in run.failure()
    assert stored(run) == [("a", 2)]


def test_a_record_that_is_refused_holds_back_its_own_source_partition_only(kafka: Kafka, topic: str) -> None:
    small = kafka.create_topic(config={"max.message.bytes": "200"})
    task = scripted([record(topic, "a", 1), record(small, "b", 1, "x" * 2000)], [record(topic, "a", 2)])
    run = TaskRun(task, kafka.bootstrap, {}, worker={"offset.flush.interval.ms": "600000"})
    trace = run.failure()
    assert trace.startswith(
        "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception from producer send callback\n"
        "Caused by: org.apache.kafka.common.errors.RecordTooLargeException"
    )
    assert f"for topic {small}" in trace
    assert {name for name, _ in stored(run)} == {"a"}


@pytest.mark.parametrize("exactly_once", [False, True])
def test_the_reason_for_which_a_broker_refuses_a_record_is_shown(
    kafka: Kafka, topic: str, offsets_topic: str, exactly_once: bool
) -> None:
    """The message is Java's; a record with a key in the same batch does not hide it."""
    compacted = kafka.create_topic(config={"cleanup.policy": "compact"})
    keyed = SourceRecord(topic=compacted, key="k", value="v", source_partition={"p": "a"}, source_offset={"o": 1})
    spec: dict[str, Any] = {"exactly_once": True, "offsets_topic": offsets_topic} if exactly_once else {}
    run = TaskRun(scripted([keyed, record(compacted, "a", 2), keyed]), kafka.bootstrap, {}, **spec)
    first, cause, *_ = run.failure().splitlines()
    assert first.startswith("org.apache.kafka.connect.errors.ConnectException: ")
    assert cause == (
        "Caused by: org.apache.kafka.common.InvalidRecordException: Compacted topic cannot accept message without key "
        f"in topic partition {compacted}-0. (a record of 1 bytes for topic {compacted}, partition 0)"
    )


@pytest.mark.parametrize("base", [ScriptedSource, AcknowledgedSource])
def test_tolerated_losses_are_committed(
    kafka: Kafka, base: type[ScriptedSource], caplog: pytest.LogCaptureFixture
) -> None:
    small = kafka.create_topic(config={"max.message.bytes": "200"})
    task = scripted([record(small, "a", 1), record(small, "a", 2, "x" * 2000), record(small, "a", 3)], base=base)
    config = {"errors.tolerance": "all", "errors.log.enable": "true"}
    with TaskRun(task, kafka.bootstrap, config) as run:
        eventually(lambda: stored(run)[-1:] == [("a", 3)])
        eventually(lambda: run.host.reported.get("total-record-failures") == 1)
    assert kafka.values(small) == [b"v", b"v"]
    words = "Executing stage 'KAFKA_PRODUCE' with class 'org.apache.kafka.connect.runtime.WorkerSourceTask'"
    assert words in caplog.text
    assert (
        task.acknowledged == ([("v", 0), ("v", 1)] if base is AcknowledgedSource else [])
        or ("x" * 2000, -1) in task.acknowledged
    )


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_batch_that_is_too_large_for_its_topic_is_split(kafka: Kafka, topic: str, exactly_once: bool) -> None:
    small, offsets = kafka.create_topic(config={"max.message.bytes": "20000"}), kafka.create_topic()
    lines = [f"{i:0100}" for i in range(2000)]
    batch = [record(topic if i % 10 == 0 else small, "a", i, line) for i, line in enumerate(lines)]
    spec: dict[str, Any] = {"exactly_once": True, "offsets_topic": offsets} if exactly_once else {}
    with TaskRun(scripted(batch, [record(small, "a", 2000, "the end")]), kafka.bootstrap, {}, **spec):
        eventually(lambda: kafka.values(small)[-1:] == [b"the end"])
    assert [int(value or b"") for value in kafka.values(small)[:-1]] == [i for i in range(2000) if i % 10]
    assert [int(value or b"") for value in kafka.values(topic)] == list(range(0, 2000, 10))


def test_what_comes_before_a_record_that_is_too_large_is_committed(kafka: Kafka, topic: str) -> None:
    values = ["v", "v", "x" * 2_000_000, "v"]
    run = TaskRun(scripted([record(topic, "a", i, v) for i, v in enumerate(values, 1)]), kafka.bootstrap, {})
    assert "which is the value of the max.request.size configuration" in run.failure()
    assert kafka.values(topic) == [b"v", b"v"]
    assert stored(run) == [("a", 2)]


def test_a_missing_topic_is_waited_for_until_max_block_ms(kafka: Kafka, missing: str) -> None:
    config = {"producer.override.max.block.ms": "2000"}
    run = TaskRun(scripted([record(missing, "a", 1)]), kafka.bootstrap, config)
    assert "Caused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException" in run.failure()
    assert stored(run) == []


def test_records_before_one_that_cannot_be_converted_are_sent(kafka: Kafka, topic: str) -> None:
    cast = {"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value"}
    task = scripted([record(topic, "a", i, value) for i, value in enumerate(["1", "2", "x", "4"], 1)])
    run = TaskRun(task, kafka.bootstrap, {**cast, "transforms.c.spec": "int32"})
    trace = run.failure()
    assert trace.startswith("org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\n")
    assert "source offset {'o': 3}" in trace
    assert kafka.values(topic) == [b"1", b"2"]
    assert stored(run) == [("a", 2)]


def test_a_pause_commits_and_what_arrives_later_is_committed_meanwhile(kafka: Kafka, topic: str, missing: str) -> None:
    task = scripted([record(topic, "a", 1), record(missing, "b", 1)])
    with TaskRun(task, kafka.bootstrap, {}, worker=IMPATIENT) as run:
        eventually(lambda: not task.batches)
        run.control.pause()
        eventually(lambda: run.host.states[-1] == "paused" and stored(run) == [("a", 1)])
        kafka.create_topic(missing)
        eventually(lambda: stored(run) == [("a", 1), ("b", 1)])
        assert run.host.states[-1] == "paused"


def test_offsets_that_cannot_be_written_are_written_later(
    kafka: Kafka, topic: str, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    task = scripted([record(topic, "a", 1)])
    with TaskRun(task, kafka.bootstrap, {}, worker=IMPATIENT, offsets_topic=missing):
        eventually(lambda: "Failed to commit offsets" in caplog.text)
        assert f"Timed out after 0.3 s while writing offsets to topic {missing}" in caplog.text
        kafka.create_topic(missing)
        eventually(lambda: b'{"o":1}' in kafka.values(missing))


class OfLostClient(ClientStatistics):
    lost = True  # type: ignore[assignment]


def test_a_task_whose_producer_of_offsets_has_lost_its_brokers_is_lost(
    kafka: Kafka, topic: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offset_log, "ClientStatistics", OfLostClient)
    run = TaskRun(scripted([record(topic, "a", 1)]), kafka.bootstrap, {}, worker=IMPATIENT, offsets_topic=missing)
    assert f"The producer of offsets in topic {missing} has lost all its brokers" in run.failure()
    assert isinstance(run.error, TaskFencedError)


def test_polls_that_may_be_tried_again_lose_nothing(kafka: Kafka, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    task = scripted(
        RetriableError("not now"), [record(topic, "a", 1)], RetriableError("again"), [record(topic, "a", 2)]
    )
    with caplog.at_level(logging.WARNING), TaskRun(task, kafka.bootstrap, {}) as run:
        eventually(lambda: kafka.values(topic) == [b"v", b"v"])
        eventually(lambda: stored(run)[-1:] == [("a", 2)])
    assert caplog.text.count("Failed to poll records from SourceTask. Will retry operation.") == 2

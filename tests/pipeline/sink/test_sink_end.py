"""The end of a sink task that fails or is lost. Without a broker: it is called once before partitions are assigned."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.sink.events import StartsFound, StopWanted
from penstock.pipeline.sink.loop import SinkLoop
from penstock.pipeline.sink.partitions import positions
from penstock.pipeline.task import TaskFencedError
from support.tasks.runs import TaskRun
from support.tasks.sink_loop import FIRST, Commits, assign, sink_loop


class _FailsTwice(SinkTask):
    """Fails, and fails again when its partitions are closed."""

    def put(self, records: Sequence[SinkRecord]) -> None:
        raise ValueError("the disk is full")

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        raise ValueError("the file is gone")


def _assigned(loop: SinkLoop) -> None:
    loop.machine.step(StartsFound((TopicPartition("t", 0),), {}), 0.0)


def test_what_fails_at_the_end_is_not_why_the_task_has_failed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SinkLoop.run

    def with_a_partition(self: SinkLoop) -> None:
        _assigned(self)
        run(self)

    monkeypatch.setattr("penstock.pipeline.sink.loop.SinkLoop.run", with_a_partition)
    lines = TaskRun(_FailsTwice, "127.0.0.1:1", {"topics": "t"}).failure().splitlines()
    assert lines[0].endswith("ConnectException: Exiting WorkerSinkTask due to unrecoverable exception.")
    assert lines[1].endswith("ValueError: the disk is full")
    assert not any("the file is gone" in line for line in lines)
    assert "the file is gone" in caplog.text


def test_a_lost_task_is_lost_whatever_fails_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(self: SinkLoop) -> None:
        _assigned(self)
        raise TaskFencedError("another run has begun")

    monkeypatch.setattr("penstock.pipeline.sink.loop.SinkLoop.run", lost)
    run = TaskRun(_FailsTwice, "127.0.0.1:1", {"topics": "t"})
    run.join()
    assert isinstance(run.error, TaskFencedError)


class _Exits(SinkTask):
    """Calls ``sys.exit`` in its last call."""

    def __init__(self) -> None:
        self.closed: list[TopicPartition] = []

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        sys.exit(1)

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.closed += partitions


def test_partitions_are_closed_though_the_last_flush_exits() -> None:
    task = _Exits()
    loop = sink_loop(Commits(), task)
    assign(loop, first=5)
    with pytest.raises(SystemExit):
        loop.handle(StopWanted())
    loop.close_all()
    assert task.closed == [FIRST]


def test_a_sink_that_finds_no_broker_for_its_dead_letter_queue_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.pipeline.source.topic_creation.WAIT_SECONDS", 0.2)
    config = {"topics": "t", "errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead"}
    run = TaskRun(_FailsTwice, "127.0.0.1:1", config)
    run.join()
    assert isinstance(run.error, TaskFencedError)
    assert "queue with topic=dead: the brokers have not answered in time" in str(run.error)


def test_a_sink_that_cannot_read_where_to_begin_since_no_broker_answers_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.pipeline.sink.partitions.SECONDS", 0.2)
    client = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0})
    with closing(client), pytest.raises(TaskFencedError, match="the brokers have not answered in time"):
        positions(client, [ClientPartition("t", 0)], "earliest")

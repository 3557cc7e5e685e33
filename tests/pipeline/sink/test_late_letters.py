"""Dead letters on their way while the brokers are away: nothing beyond them is committed, and the task goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.api.sink import SinkTask, TopicPartition
from penstock.core.model.tasks import TaskId
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import PipelineStage, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskFencedError
from support.kafka.lost import lose
from support.tasks.sink_loop import FIRST, Commits, assign, fetched, sink_loop

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> DeadLetterQueue:
    monkeypatch.setattr("penstock.pipeline.sink.loop.QUEUE_FLUSH_SECONDS", 0.0)
    config = {"errors.deadletterqueue.topic.name": "dead"}
    return DeadLetterQueue(TaskId("c", 0), config, Producer(NOBODY), Metrics(lambda _: None, ()), lambda record: record)


def report(queue: DeadLetterQueue) -> None:
    queue(RecordFailure(PipelineStage.TASK_PUT, "x", ValueError("bad"), fetched((FIRST, 4))))


class Reports(SinkTask):
    """Reports a record in ``pre_commit``."""

    def __init__(self, queue: DeadLetterQueue | None) -> None:
        self.queue = queue
        self.asked = 0

    def pre_commit(self, offsets: Mapping[TopicPartition, Any]) -> Mapping[TopicPartition, Any]:
        self.asked += 1
        if self.queue is not None:
            report(self.queue)
        return offsets


@pytest.mark.parametrize("closing", [False, True])
@pytest.mark.parametrize("when", ["before", "within"])
def test_offsets_wait_for_dead_letters_that_are_on_their_way(queue: DeadLetterQueue, closing: bool, when: str) -> None:
    task = Reports(queue if when == "within" else None)
    commits: Any = Commits()
    loop = sink_loop(commits, task, queue=queue, timeout=0.0)
    assign(loop, first=5)
    if when == "before":
        report(queue)
    if closing:
        loop.close_all()
    else:
        loop.context.request_commit()
        loop.meanwhile()
        assert loop.machine.state.taken == {FIRST: 5}, "a later commit includes it"
    assert commits.seen == []
    assert task.asked == (when == "within")
    queue._producer.purge()
    queue._producer.flush(60)


def test_a_producer_of_dead_letters_that_has_lost_its_brokers_ends_the_run() -> None:
    statistics = ClientStatistics("producer", "letters")
    config = {"errors.deadletterqueue.topic.name": "dead"}
    producer, metrics = Producer({**NOBODY, **statistics.settings()}), Metrics(lambda _: None, ())
    queue = DeadLetterQueue(TaskId("c", 0), config, producer, metrics, lambda record: record, statistics)
    lose(statistics)
    assert queue.arrived(0.0), "without dead letters it is not needed"
    report(queue)
    lose(statistics)
    with pytest.raises(TaskFencedError, match="The producer of the dead letter queue dead has lost all its brokers"):
        queue.arrived(0.0)

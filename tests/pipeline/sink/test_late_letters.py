"""Dead letters on their way while the brokers are away: nothing beyond them is committed, and the task goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from penstock.api.sink import SinkTask, TopicPartition
from penstock.core.model.tasks import TaskId
from penstock.pipeline.dead_letters import DeadLetterQueue
from penstock.pipeline.errors import Failure, Stage
from penstock.pipeline.metrics import Metrics
from support.tasks.sink_loop import FIRST, Commits, fetched, sink_loop

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


@pytest.fixture
def client() -> Iterator[Consumer]:
    client = Consumer({**NOBODY, "group.id": "g"})
    yield client
    client.close()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> DeadLetterQueue:
    monkeypatch.setattr("penstock.pipeline.sink.loop.QUEUE_FLUSH_SECONDS", 0.0)
    config = {"errors.deadletterqueue.topic.name": "dead"}
    return DeadLetterQueue(TaskId("c", 0), config, Producer(NOBODY), Metrics(lambda _: None, ()), lambda record: record)


def report(queue: DeadLetterQueue) -> None:
    queue(Failure(Stage.TASK_PUT, "x", ValueError("bad"), fetched((FIRST, 4))))


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
def test_offsets_wait_for_dead_letters_that_are_on_their_way(
    client: Consumer, queue: DeadLetterQueue, closing: bool, when: str
) -> None:
    task = Reports(queue if when == "within" else None)
    loop = sink_loop(client, task, queue=queue)
    loop.offsets.timing = type(loop.offsets.timing)(60.0, 0.0)
    loop.offsets.consumer = commits = Commits()  # type: ignore[assignment]
    loop.context.assign([FIRST])
    loop.offsets.assigned({FIRST: 3})
    loop.offsets.current[FIRST] = 5
    if when == "before":
        report(queue)
    loop._commit([FIRST], closing)
    assert commits.seen == []
    assert task.asked == (when == "within")
    assert loop.offsets.current == {FIRST: 5}, "a later commit has it"
    queue._producer.purge()
    queue._producer.flush(60)

"""Requests of a sink task to its loop, which the task may make in any of its threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.api.errors import IllegalWorkerStateError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.events import CommitRequested, Flow, FlowRequested, RewindRequested, TimeoutRequested
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def context() -> SinkContext:
    context = SinkContext({}, None)
    context.assign(frozenset({A, B}))
    return context


def test_requests_are_taken_once_in_order(context: SinkContext) -> None:
    context.request_commit()
    context.timeout(1500)
    context.pause(A, B)
    context.resume(A)
    context.offset({("t", 0): 5})  # type: ignore[dict-item]
    assert context.take_requests() == [
        CommitRequested(),
        TimeoutRequested(1.5),
        FlowRequested(Flow.PAUSE, frozenset({A, B})),
        FlowRequested(Flow.RESUME, frozenset({A})),
        RewindRequested({A: 5}),
    ]
    assert context.take_requests() == []


def test_only_assigned_partitions_can_be_paused(context: SinkContext) -> None:
    context.assign(frozenset({A}))
    context.pause(A)
    assert context.assignment == {A}
    with pytest.raises(IllegalWorkerStateError, match="SinkTasks may not pause partitions that are not currently"):
        context.pause(B)


class _AsksToBeCalled(SinkTask):
    puts = 0

    def put(self, records: Any) -> None:
        self.context.timeout(1)
        type(self).puts += 1


@pytest.mark.integration
def test_a_task_that_asks_for_a_put_soon_gets_it(kafka: Kafka, bootstrap: str) -> None:
    with TaskRun(_AsksToBeCalled, bootstrap, {"topics": kafka.create_topic()}) as run:
        eventually(lambda: _AsksToBeCalled.puts)
        puts, looks = _AsksToBeCalled.puts, run.control.looks["pausing"]
        eventually(lambda: _AsksToBeCalled.puts >= puts + 30)
        assert run.control.looks["pausing"] - looks < 150, "it is called each second, after ten turns of the loop"


class _CommitsTwice(SinkTask):
    """Requests a commit with the first records, and another one from a thread of its own during that commit."""

    commits: list[dict[TopicPartition, int]]

    def put(self, records: Any) -> None:
        if records:
            self.context.request_commit()

    def pre_commit(self, offsets: Any) -> Any:
        self.commits.append(dict(offsets))
        if len(self.commits) == 1:
            other = threading.Thread(target=self.context.request_commit)
            other.start()
            other.join()
        return offsets


@pytest.mark.integration
def test_a_commit_requested_during_a_commit_is_not_lost(kafka: Kafka, bootstrap: str, topic: str) -> None:
    kafka.produce(topic, [b"a"])
    task = type("Task", (_CommitsTwice,), {"commits": [], "__module__": __name__})
    never = {"offset.flush.interval.ms": "600000"}
    with TaskRun(task, bootstrap, {"topics": topic}, worker=never):
        eventually(lambda: len(task.commits) >= 2)  # type: ignore[attr-defined]
    assert len(task.commits) >= 2  # type: ignore[attr-defined]

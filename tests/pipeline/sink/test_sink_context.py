"""Requests of a sink task to its loop, which the task may make in any of its threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.api.errors import IllegalWorkerStateError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.sink.context import Flow, SinkContext
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def context() -> SinkContext:
    context = SinkContext({}, None)
    context.assign([A, B])
    return context


def test_a_request_is_taken_once(context: SinkContext) -> None:
    context.request_commit()
    context.timeout(1500)
    assert [context.take_commit_request(), context.take_commit_request()] == [True, False]
    assert [context.take_retry_after(), context.take_retry_after()] == [1.5, None]


def test_a_later_rewind_is_not_lost_while_an_earlier_one_is_carried_out(context: SinkContext) -> None:
    context.offset({A: 5})
    ((partition, offset),) = context.rewinds.items()
    context.offset({A: 7})  # another thread, while the consumer seeks
    context.end_rewind(partition, offset)
    assert context.rewinds == {A: 7}
    assert context.take_rewinds([A, B]) == {A: 7}
    assert context.rewinds == {}


def test_pauses_are_carried_out_in_order_and_end_with_the_partition(context: SinkContext) -> None:
    context.pause(A, B)
    context.resume(A)
    assert context.take_flow() == [(Flow.PAUSE, {A, B}), (Flow.RESUME, {A})]
    assert context.take_flow() == []
    assert context.paused == {B}
    context.revoke([B])
    assert (context.paused, context.assignment) == (frozenset(), {A})
    with pytest.raises(IllegalWorkerStateError, match="SinkTasks may not pause partitions that are not currently"):
        context.pause(B)


def test_pauses_outlive_a_rebalance_that_takes_all_partitions_and_gives_them_back(context: SinkContext) -> None:
    context.pause(A, B)
    context.revoke([A, B], for_good=False)
    assert context.paused == frozenset()
    context.assign([B])
    assert context.paused == {B}
    context.assign([A])
    assert context.paused == {B}, "another task has had it"


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

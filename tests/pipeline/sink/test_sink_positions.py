"""Positions and commits of a sink: rewinds, rebalances, what a task answers. Without a broker: nothing is fetched."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.sink import events
from penstock.pipeline.sink.partitions import positions
from penstock.pipeline.task import TaskFencedError
from support.tasks.sink_loop import FIRST, SECOND, Commits, assign, deliver, sink_loop


class Task(SinkTask):
    def put(self, records: Any) -> None: ...

    def pre_commit(self, offsets: Mapping[TopicPartition, Any]) -> Mapping[TopicPartition, Any]:
        return offsets


def test_what_a_task_asks_for_again_is_not_committed_before_it_is_read_again() -> None:
    """A put asks for both: a rewind, and a commit, which comes first."""
    commits = Commits()
    loop = sink_loop(commits, Task())
    assign(loop, first=100, second=50)
    loop.context.offset({FIRST: 5, SECOND: 70})
    loop.context.request_commit()
    loop.meanwhile()
    assert commits.seen == [{FIRST: 5, SECOND: 50}]


def test_a_partition_that_a_rebalance_takes_and_gives_back_stays_paused() -> None:
    consumer: Any = Commits()
    loop = sink_loop(consumer, Task())
    both = [ClientPartition(*FIRST), ClientPartition(*SECOND)]
    loop.on_assign(consumer, both)
    assert (loop.machine.state.failure, consumer.fetched) == (None, {FIRST, SECOND})
    loop.context.pause(FIRST)
    loop.on_revoke(consumer, both)
    loop.on_assign(consumer, both)
    assert (loop.machine.state.failure, consumer.fetched) == (None, {SECOND})
    loop.context.resume(FIRST)
    loop.meanwhile()
    assert consumer.fetched == {FIRST, SECOND}


def test_what_is_not_committed_is_counted_without_partitions_that_have_gone() -> None:
    loop = sink_loop(Commits(), Task())
    assign(loop, first=0, second=0)
    for partition, count in ((FIRST, 5), (SECOND, 2)):
        deliver(loop, *((partition, offset) for offset in range(count)))
    loop.on_lost(loop.consumer.client, [ClientPartition(*FIRST)])
    figures = loop.runtime.metrics.snapshot(0.0)
    assert figures["sink-record-active-count"] == 2
    assert figures["sink-record-active-count-max"] == 7


class AnswersForAll(Task):
    """Says of every partition that it has ever had what may be committed, whatever it is asked for."""

    def pre_commit(self, offsets: Mapping[TopicPartition, Any]) -> Mapping[TopicPartition, Any]:
        return {FIRST: 1, SECOND: 1, TopicPartition("t", 2): 1}


def test_an_answer_for_a_partition_that_stays_is_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    commits: Any = Commits()
    loop = sink_loop(commits, AnswersForAll(), cooperative=True)
    assign(loop, first=2, second=2)
    loop.on_revoke(commits, [ClientPartition(*SECOND)])
    assert commits.seen == [{SECOND: 1}]
    assert ["t-2" in row.getMessage() for row in caplog.records if row.levelno == logging.WARNING] == [True]


def test_a_task_that_has_gone_back_stays_there_though_an_earlier_commit_is_answered_later() -> None:
    """Otherwise a failing ``pre_commit`` would lose the records in between."""
    loop = sink_loop(Commits(), Task())
    assign(loop, first=100, second=50)
    state = loop.machine.state
    loop.context.request_commit()
    loop.meanwhile()
    loop.handle(events.PartitionSought(FIRST, 5))
    loop.commits.answered(None, [ClientPartition(*FIRST, 100), ClientPartition(*SECOND, 50)])
    assert state.committed == {FIRST: 5, SECOND: 50}
    state.taken[FIRST] = 7
    loop.context.request_commit()
    loop.meanwhile()
    loop.commits.answered(None, [ClientPartition(*FIRST, 7), ClientPartition(*SECOND, 50)])
    assert state.committed == {FIRST: 7, SECOND: 50}


def test_the_answer_of_a_commit_that_was_given_up_is_not_that_of_the_next_one() -> None:
    loop = sink_loop(Commits(), Task())
    assign(loop, first=100, second=50)
    state = loop.machine.state
    deliver(loop, (FIRST, 100))
    loop.context.request_commit()
    loop.meanwhile()
    assert state.commit_sent_at is not None
    state.commit_sent_at = float("-inf")
    loop.meanwhile()
    assert state.commit_sent_at is None, "the brokers have not answered in time"
    loop.handle(events.PartitionSought(FIRST, 5))
    state.taken[FIRST] = 7
    loop.context.request_commit()
    loop.meanwhile()
    loop.commits.answered(None, [ClientPartition(*FIRST, 101), ClientPartition(*SECOND, 50)])
    assert (state.committed[FIRST], state.commit_sent_at is None) == (5, False)
    loop.commits.answered(None, [ClientPartition(*FIRST, 7), ClientPartition(*SECOND, 50)])
    assert (state.committed[FIRST], state.commit_sent_at) == (7, None)


class Refused:
    """A consumer that can't read the group's offsets."""

    def __init__(self, code: int) -> None:
        self.code = code

    def committed(self, partitions: list[ClientPartition], timeout: float) -> list[ClientPartition]:
        raise KafkaException(KafkaError(self.code))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._TIMED_OUT, TaskFencedError),
        (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, TaskFencedError),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaException),
    ],
)
def test_a_task_is_lost_where_its_offsets_can_not_be_read_for_now(code: int, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        positions(Refused(code), [ClientPartition("t", 0)], "latest")  # type: ignore[arg-type]

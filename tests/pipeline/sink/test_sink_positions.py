"""Positions and commits of a sink: rewinds, rebalances, what a task answers. Without a broker: nothing is fetched."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.batch import Batch
from penstock.api.errors import RetriableError
from penstock.api.sink import SinkTask, TopicPartition
from penstock.pipeline.sink.loop import SinkLoop
from penstock.pipeline.sink.partitions import names, positions
from penstock.pipeline.sink.puts.pending import PendingBatch
from penstock.pipeline.task import FencedError
from support.tasks.sink_loop import FIRST, SECOND, Commits, fetched, pending, sink_loop


@pytest.fixture
def client() -> Iterator[Consumer]:
    client = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0})
    yield client
    client.close()


class Task(SinkTask):
    def put(self, records: Any) -> None: ...

    def pre_commit(self, offsets: Mapping[TopicPartition, Any]) -> Mapping[TopicPartition, Any]:
        return offsets


def committing(loop: SinkLoop, **positions: int) -> Commits:
    """The loop has these partitions from offset 0 on; their records before these positions are put."""
    loop.offsets.consumer = commits = Commits()  # type: ignore[assignment]
    partitions = {FIRST: positions["first"], SECOND: positions["second"]}
    loop.context.assign(partitions)
    loop.offsets.assigned(dict.fromkeys(partitions, 0))
    loop.offsets.current.update(partitions)
    return commits


def test_what_a_task_asks_for_again_is_not_committed_before_it_is_read_again(client: Consumer) -> None:
    """A put asks for both: a rewind, and a commit, which comes first."""
    loop = sink_loop(client, Task())
    commits = committing(loop, first=100, second=50)
    loop.context.offset({FIRST: 5, SECOND: 70})
    loop.context.request_commit()
    loop._commit_if_due(0.0)
    assert commits.seen == [{FIRST: 5, SECOND: 50}]


class Refuses(Task):
    """Takes no records of the first partition."""

    def put_batch(self, batch: Batch) -> None:
        if 0 in batch.partitions:
            raise RetriableError("not now")


def test_records_that_were_filtered_count_though_those_that_wait_are_dropped_with_their_partition(
    client: Consumer,
) -> None:
    loop = sink_loop(client, Refuses())
    committing(loop, first=0, second=0)
    raw = fetched((FIRST, 0), (SECOND, 0), (SECOND, 1))
    delivery = loop.delivery
    delivery.pending = PendingBatch.of(raw, raw.select([0]), None)
    delivery.put(delivery.pending)
    assert delivery.retrying
    delivery.forget({FIRST})
    assert delivery.pending is not None
    delivery.put(delivery.pending)
    assert (delivery.pending, loop.offsets.current) == (None, {FIRST: 0, SECOND: 2})


class Assigned:
    """In place of the consumer within a rebalance: what it fetches from."""

    def __init__(self) -> None:
        self.fetched: set[TopicPartition] = set()

    def committed(self, partitions: list[ClientPartition], timeout: float) -> list[ClientPartition]:
        return [ClientPartition(each.topic, each.partition, 0) for each in partitions]

    def assign(self, partitions: list[ClientPartition]) -> None:
        self.fetched = set(names(partitions))

    def pause(self, partitions: list[ClientPartition]) -> None:
        self.fetched -= set(names(partitions))

    def resume(self, partitions: list[ClientPartition]) -> None:
        self.fetched |= set(names(partitions))


def test_a_partition_that_a_rebalance_takes_and_gives_back_stays_paused(client: Consumer) -> None:
    consumer: Any = Assigned()
    loop = sink_loop(client, Task())
    loop.offsets.consumer = Commits()  # type: ignore[assignment]
    both = [ClientPartition(*FIRST), ClientPartition(*SECOND)]
    loop.on_assign(consumer, both)
    assert (loop.reading.failure, consumer.fetched) == (None, {FIRST, SECOND})
    loop.context.pause(FIRST)
    loop.on_revoke(consumer, both)
    loop.on_assign(consumer, both)
    assert (loop.reading.failure, consumer.fetched) == (None, {SECOND})
    loop.context.resume(FIRST)
    assert loop.context.paused == frozenset()


def test_what_is_not_committed_is_counted_without_partitions_that_have_gone(client: Consumer) -> None:
    loop = sink_loop(client, Task())
    committing(loop, first=0, second=0)
    for partition, count in ((FIRST, 5), (SECOND, 2)):
        loop.delivery.pending = pending(*((partition, offset) for offset in range(count)))
        loop.delivery.put(loop.delivery.pending)
    loop.on_lost(client, [ClientPartition(*FIRST)])
    figures = loop.runtime.metrics.snapshot(0.0)
    assert figures["sink-record-active-count"] == 2
    assert figures["sink-record-active-count-max"] == 7


class AnswersForAll(Task):
    """Says of every partition that it has ever had what may be committed, whatever it is asked for."""

    def pre_commit(self, offsets: Mapping[TopicPartition, Any]) -> Mapping[TopicPartition, Any]:
        return {FIRST: 1, SECOND: 1, TopicPartition("t", 2): 1}


def test_an_answer_for_a_partition_that_stays_is_no_mistake(client: Consumer, caplog: pytest.LogCaptureFixture) -> None:
    loop = sink_loop(client, AnswersForAll(), cooperative=True)
    commits = committing(loop, first=2, second=2)
    loop.on_revoke(client, [ClientPartition(*SECOND)])
    assert commits.seen == [{SECOND: 1}]
    assert ["t-2" in row.getMessage() for row in caplog.records if row.levelno == logging.WARNING] == [True]


def test_a_task_that_has_gone_back_stays_there_though_an_earlier_commit_is_answered_later(client: Consumer) -> None:
    """Or a failing ``pre_commit`` would lose what is between."""
    loop = sink_loop(client, Task())
    committing(loop, first=100, second=50)
    loop._commit([FIRST, SECOND])
    loop.offsets.rewound(FIRST, 5)
    loop.offsets.answered(None, [ClientPartition(*FIRST, 100), ClientPartition(*SECOND, 50)])
    assert loop.offsets.committed == {FIRST: 5, SECOND: 50}
    loop.offsets.current[FIRST] = 7
    loop._commit([FIRST])
    loop.offsets.answered(None, [ClientPartition(*FIRST, 7)])
    assert loop.offsets.committed == {FIRST: 7, SECOND: 50}


class Refused:
    """A consumer that can't read the group's offsets."""

    def __init__(self, code: int) -> None:
        self.code = code

    def committed(self, partitions: list[ClientPartition], timeout: float) -> list[ClientPartition]:
        raise KafkaException(KafkaError(self.code))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._TIMED_OUT, FencedError),
        (KafkaError.COORDINATOR_LOAD_IN_PROGRESS, FencedError),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaException),
    ],
)
def test_a_task_is_lost_where_its_offsets_can_not_be_read_for_now(code: int, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        positions(Refused(code), [ClientPartition("t", 0)], "latest")  # type: ignore[arg-type]

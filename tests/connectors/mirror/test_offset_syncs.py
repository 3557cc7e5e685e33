"""Decisions when an offset sync is due, compared with Java's; and writing of syncs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import KafkaError
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.records import OffsetSync
from penstock.connectors.mirror.source.offset_syncs import MAX_OUTSTANDING, OffsetSyncs, SyncProgress
from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.kafka.connector_clients import ConnectorClients
from support.kafka.client import Kafka
from support.mirror.golden import golden
from support.tasks.runs import eventually

PROGRESS: dict[str, list[list[str]]] = defaultdict(list)
for each in golden("progress"):
    PROGRESS[each[0]].append(each[1:])


@pytest.mark.parametrize("lag", PROGRESS)
def test_syncs_are_due_as_with_java(lag: str) -> None:
    progress = SyncProgress(int(lag))
    for upstream, downstream, due in PROGRESS[lag]:
        assert progress.advance(int(upstream), int(downstream)) is (due == "true"), (upstream, downstream)


@pytest.mark.parametrize("lag", [0, 1, 5, 100])
def test_many_records_are_due_as_one_after_the_other(lag: int) -> None:
    """Records in batches with and without gaps, one that repeats, and one whose end was written again."""
    together, single = SyncProgress(lag), SyncProgress(lag)
    up = down = 0
    for number in range(200):
        n = number * 7 % 23
        ups, downs = list(range(up, up + n)), list(range(down, down + n))
        if number % 5 == 0:
            ups = [each + (i > n // 2) for i, each in enumerate(ups)]
        if number % 7 == 0:
            downs = [each + (i > n // 3) * 2 for i, each in enumerate(downs)]
        alone = [i for i, (u, d) in enumerate(zip(ups, downs, strict=True)) if single.advance(u, d)]
        assert together.due(ups, downs) == alone, number
        assert together == single
        up, down = up + n + (number % 11 == 0), down + n + 1 - (number % 50 == 49) * 30


class Acknowledging:
    """A producer whose messages arrive before it is served."""

    def __init__(self) -> None:
        self.sent: list[bytes | None] = []
        self.syncs: list[OffsetSync] = []
        self.arrived: list[Callable[[KafkaError | None], None]] = []

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int,
        on_delivery: Callable[[KafkaError | None], None],
    ) -> None:
        self.sent.append(key)
        self.syncs.append(OffsetSync.read(key, value))
        self.arrived.append(on_delivery)

    def serve(self) -> None:
        while self.arrived:
            self.arrived.pop()(None)

    def flush(self, seconds: float) -> None:
        self.serve()


def test_syncs_that_wait_for_others_are_written_with_the_next_record() -> None:
    producer = Acknowledging()
    syncs = OffsetSyncs(producer, "syncs", 100)
    partitions = [TopicPartition("t", number) for number in range(2 * MAX_OUTSTANDING)]
    for each in partitions:
        syncs.mirrored(each, [0, 1], [0, 1])
    producer.sent.clear()
    syncs.commit()
    assert len(producer.sent) == MAX_OUTSTANDING
    syncs.mirrored(partitions[0], [2], [2])
    assert {*producer.sent} == {OffsetSync(each, 0, 0).key() for each in partitions}, "no record of theirs is needed"


def test_syncs_that_wait_for_others_are_written_without_a_record() -> None:
    producer = Acknowledging()
    syncs = OffsetSyncs(producer, "syncs", 100)
    for number in range(2 * MAX_OUTSTANDING):
        syncs.mirrored(TopicPartition("t", number), [0, 1], [0, 1])
    producer.sent.clear()
    syncs.commit()
    assert len(producer.sent) == MAX_OUTSTANDING
    syncs.serve()
    assert len({*producer.sent}) == 2 * MAX_OUTSTANDING


def test_a_record_that_was_dropped_on_its_way_has_no_sync() -> None:
    producer, task, partition = Acknowledging(), MirrorSourceTask(), {"cluster": "a", "partition": 0, "topic": "t"}
    task._syncs = OffsetSyncs(producer, "syncs", 0)
    origin = SourceOrigin([partition] * 3, [{"offset": number} for number in range(3)])
    task.commit_records(Batch.of("a.t", [b""] * 3, origin=origin), ["a.t"] * 3, [0] * 3, [7, -1, 8])
    assert producer.syncs == [OffsetSync(TopicPartition("t", 0), 0, 7), OffsetSync(TopicPartition("t", 0), 2, 8)]


@pytest.mark.integration
def test_syncs_are_written_at_once_or_with_the_next_commit(kafka: Kafka, bootstrap: str) -> None:
    topic, topic_partition = kafka.create_topic(), TopicPartition("t", 1)
    producer = ConnectorClients().producer({"bootstrap.servers": bootstrap, "client.id": "test"})
    syncs = OffsetSyncs(producer, topic, 100)
    syncs.mirrored(topic_partition, range(3), range(10, 13))
    syncs.mirrored(topic_partition, range(3, 5), range(13, 15))
    syncs.flush()
    eventually(lambda: written(kafka, topic))
    assert written(kafka, topic) == [OffsetSync(topic_partition, 0, 10)]
    syncs.commit()
    syncs.flush()
    eventually(lambda: len(written(kafka, topic)) > 1)
    assert written(kafka, topic) == [OffsetSync(topic_partition, 0, 10), OffsetSync(topic_partition, 4, 14)]
    syncs.commit()
    syncs.mirrored(topic_partition, [8], [15])
    syncs.flush()
    eventually(lambda: len(written(kafka, topic)) > 2)
    assert written(kafka, topic)[2:] == [OffsetSync(topic_partition, 8, 15)], (
        "a gap is written at once, and nothing is written twice"
    )


def written(kafka: Kafka, topic: str) -> list[OffsetSync]:
    return [OffsetSync.read(bytes(record.key or b""), bytes(record.value or b"")) for record in kafka.read_all(topic)]

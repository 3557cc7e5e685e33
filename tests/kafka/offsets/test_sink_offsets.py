from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from faults.broker import FaultyBroker
from penstock.api.errors import ConnectError
from penstock.api.sink import TopicPartition
from penstock.kafka.background import Deadline
from penstock.kafka.client_settings import connector_consumer
from penstock.kafka.clients import new_consumer
from penstock.kafka.offsets.sink_connectors import SinkConnectorOffsets, SinkOffsetError, as_json, parse
from support.kafka.client import Kafka
from support.waiting import answer


def test_parse():
    partition = {"kafka_topic": "t", "kafka_partition": "1"}
    assert parse([(partition, {"kafka_offset": "7"}), ({**partition, "kafka_partition": 2}, None)]) == {
        TopicPartition("t", 1): 7,
        TopicPartition("t", 2): None,
    }


@pytest.mark.parametrize(
    ("partition", "offset", "problem"),
    [
        (None, {}, "The partition for a sink connector offset cannot be null or missing"),
        (
            {"kafka_topic": "t"},
            {},
            "The partition for a sink connector offset must contain the keys 'kafka_topic' and 'kafka_partition'",
        ),
        (
            {"kafka_topic": None, "kafka_partition": 1},
            {},
            "Kafka topic names must be valid strings and may not be null",
        ),
        (
            {"kafka_topic": "t", "kafka_partition": None},
            {},
            "Kafka partitions must be valid numbers and may not be null",
        ),
        (
            {"kafka_topic": "t", "kafka_partition": 1.5},
            {},
            "Failed to parse the following Kafka partition value in the provided offsets: '1.5'. "
            "Partition values for sink connectors need to be integers.",
        ),
        (
            {"kafka_topic": "t", "kafka_partition": "9" * 5000},
            {},
            f"Failed to parse the following Kafka partition value in the provided offsets: '{'9' * 5000}'. "
            "Partition values for sink connectors need to be integers.",
        ),
        (
            {"kafka_topic": "t", "kafka_partition": 1},
            {"offset": 1},
            "The offset for a sink connector should either be null or contain the key 'kafka_offset'",
        ),
        (
            {"kafka_topic": "t", "kafka_partition": 1},
            {"kafka_offset": None},
            "Failed to parse the following Kafka offset value in the provided offsets: 'null'. "
            "Offset values for sink connectors need to be integers.",
        ),
    ],
)
def test_offsets_of_a_wrong_form(partition: Any, offset: Any, problem: str):
    with pytest.raises(SinkOffsetError) as caught:
        parse([(partition, offset)])
    assert str(caught.value) == problem


def test_sink_offsets_are_written_as_json():
    assert as_json({TopicPartition("t", 1): 7}) == [
        {"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {"kafka_offset": 7}}
    ]


@pytest.mark.integration
def test_offsets_of_a_group_are_altered_and_forgotten(kafka: Kafka):
    topic = kafka.create_topic(partitions=2)
    offsets = SinkConnectorOffsets({"bootstrap.servers": kafka.bootstrap})
    connector = {"name": topic}
    assert answer(offsets.read, connector) == {}
    answer(offsets.write, connector, {TopicPartition(topic, 0): 3, TopicPartition(topic, 1): 4})
    answer(offsets.write, connector, {TopicPartition(topic, 0): None, TopicPartition(topic, 1): 5})
    assert answer(offsets.read, connector) == {TopicPartition(topic, 1): 5}
    late = Deadline.after(0)
    for changes in ({TopicPartition(topic, 1): 6}, {TopicPartition(topic, 1): None}, None):
        with pytest.raises(TimeoutError, match="Nothing is changed any more"):
            answer(lambda done, changes=changes: offsets.write(connector, changes, done, late))
    assert answer(offsets.read, connector) == {TopicPartition(topic, 1): 5}
    answer(offsets.write, connector, None)
    answer(offsets.write, connector, None)
    assert answer(offsets.read, connector) == {}


@pytest.mark.integration
def test_offsets_are_changed_while_connections_are_lost(tmp_path: Path):
    with FaultyBroker(tmp_path) as broker:
        topic, connector = Kafka(broker.bootstrap).create_topic(), {"name": "c"}
        offsets = SinkConnectorOffsets({"bootstrap.servers": broker.proxied})
        partition = TopicPartition(topic, 0)
        faults = [broker.proxy.reset, broker.kill_and_start, lambda: broker.proxy.cut(2), broker.proxy.reset]
        for number, fault in enumerate(faults):
            for changes, left in (({partition: number}, {partition: number}), ({partition: None}, {}), (None, {})):
                threading.Timer(0.05, fault).start()
                answer(offsets.write, connector, changes)
                assert answer(offsets.read, connector) == left


@pytest.mark.integration
def test_nothing_is_changed_after_the_deadline(tmp_path: Path):
    with FaultyBroker(tmp_path) as broker:
        topic, connector = Kafka(broker.bootstrap).create_topic(), {"name": "c"}
        offsets = SinkConnectorOffsets({"bootstrap.servers": broker.proxied})
        answer(offsets.write, connector, {TopicPartition(topic, 0): 1})
        for changes in ({TopicPartition(topic, 0): 2}, {TopicPartition(topic, 0): None}, None):
            broker.freeze()
            late = Deadline.after(3)
            with pytest.raises((ConnectError, TimeoutError)):
                answer(lambda done, changes=changes, late=late: offsets.write(connector, changes, done, late))
            broker.thaw()
            assert answer(offsets.read, connector) == {TopicPartition(topic, 0): 1}


@pytest.mark.integration
def test_a_topic_that_does_not_exist_is_refused(kafka: Kafka):
    offsets = SinkConnectorOffsets({"bootstrap.servers": kafka.bootstrap})
    with pytest.raises(ConnectError, match=r"^Failed to alter consumer group offsets for connector c-nowhere$"):
        answer(offsets.write, {"name": "c-nowhere"}, {TopicPartition("no-such-topic-anywhere", 0): 1})


@pytest.mark.integration
@pytest.mark.parametrize(
    ("place", "offset", "problem"),
    [
        (TopicPartition("t", 0), -1, "Failed to modify offsets for sink connector c-odd"),
        (TopicPartition("t", -1), 1, "Failed to alter consumer group offsets for connector c-odd"),
        (TopicPartition("", 0), 1, "Failed to alter consumer group offsets for connector c-odd"),
        (TopicPartition("t/t", 0), 1, "Failed to alter consumer group offsets for connector c-odd"),
        (TopicPartition("\ud800", 0), 1, "Failed to alter consumer group offsets for connector c-odd"),
        (TopicPartition("t" * 40_000, 0), 1, "Failed to alter consumer group offsets for connector c-odd"),
        (TopicPartition("t", 2**31 - 1), 2**63 - 1, "Failed to alter consumer group offsets for connector c-odd"),
    ],
)
def test_places_and_offsets_that_there_can_not_be(kafka: Kafka, place: TopicPartition, offset: int, problem: str):
    offsets = SinkConnectorOffsets({"bootstrap.servers": kafka.bootstrap})
    with pytest.raises(ConnectError) as caught:
        answer(offsets.write, {"name": "c-odd"}, {place: offset})
    assert str(caught.value) == problem


@pytest.mark.integration
def test_offsets_of_a_group_with_members_are_not_changed(kafka: Kafka):
    topic = kafka.create_topic()
    kafka.produce(topic, ["a"])
    worker, connector = {"bootstrap.servers": kafka.bootstrap}, {"name": topic}
    offsets = SinkConnectorOffsets(worker)
    consumer = new_consumer(connector_consumer(worker, connector, "member"))
    try:
        consumer.subscribe([topic])
        assert consumer.poll(120) is not None
        haven_t_stopped = f"connector {topic} either because its tasks haven't stopped completely yet"
        with pytest.raises(ConnectError, match=haven_t_stopped):
            answer(offsets.write, connector, {TopicPartition(topic, 0): 1})
        with pytest.raises(ConnectError, match=haven_t_stopped):
            answer(offsets.write, connector, {TopicPartition(topic, 0): None})
        with pytest.raises(ConnectError, match=haven_t_stopped):
            answer(offsets.write, connector, None)
    finally:
        consumer.close()

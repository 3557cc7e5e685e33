from __future__ import annotations

import pytest

from penstock.api.sink import TopicPartition
from penstock.kafka.connector_clients import ConnectorClients
from support.kafka.client import Kafka, Record
from support.kafka.lost import CONSUMER, lose
from support.waiting import SECONDS, until

pytestmark = pytest.mark.integration


def test_a_consumer_that_has_lost_its_brokers_continues_with_another_client(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, [Record("a", partition=0), Record("b", partition=1)])
    consumer = ConnectorClients().consumer({"bootstrap.servers": kafka.bootstrap})
    consumer.assign({TopicPartition(topic, 0): 0, TopicPartition(topic, 1): 1})
    values: list[bytes | None] = []

    def fetched(number: int) -> bool:
        if (records := consumer.fetch(10, 0.1)) is not None:
            values.extend(records.values)
        return len(values) >= number

    until(lambda: fetched(1), "the first record", SECONDS)
    before = consumer._consumer

    def replaced() -> bool:
        lose(consumer._statistics, CONSUMER)
        fetched(1)
        return consumer._consumer is not before

    until(replaced, "another client", SECONDS)
    kafka.produce(topic, [Record("c", partition=0), Record("d", partition=1)])
    until(lambda: fetched(3), "the other records", SECONDS)
    consumer.close()
    assert sorted(map(bytes, filter(None, values))) == [b"a", b"c", b"d"]

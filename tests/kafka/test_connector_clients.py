"""Producers and admin clients of connectors that have lost their brokers for good: others take their place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.api.errors import KafkaError
from penstock.api.kafka import KafkaAdmin, KafkaRequestError, TopicSpec
from penstock.kafka import connector_clients
from penstock.kafka.connector_clients import ConnectorClients
from support.kafka.client import Kafka
from support.kafka.lost import lose, reporting_no_broker
from support.waiting import SECONDS, until

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "client.id": "test"}


@pytest.mark.integration
def test_a_producer_that_has_lost_its_brokers_is_replaced(kafka: Kafka) -> None:
    topic, outcomes = kafka.create_topic(partitions=1), list[KafkaError | None]()
    producer = ConnectorClients().producer({"bootstrap.servers": kafka.bootstrap})
    producer.send(topic, b"k", b"before", 0, outcomes.append)
    producer.flush(SECONDS)
    before = producer._producer

    def replaced() -> bool:
        producer.serve()
        return producer._producer is not before

    until(reporting_no_broker(replaced, producer._statistics), "another client", SECONDS)
    producer.send(topic, b"k", b"after", 0, outcomes.append)
    producer.flush(SECONDS)
    assert outcomes == [None, None]
    assert kafka.values(topic) == [b"before", b"after"]


def test_records_that_a_lost_producer_holds_fail() -> None:
    outcomes: list[KafkaError | None] = []
    producer = ConnectorClients().producer(NOWHERE)
    producer.send("t", None, b"held", 0, outcomes.append)
    lose(producer._statistics)
    producer.serve()
    (error,) = outcomes
    assert isinstance(error, KafkaRequestError)
    assert not producer._statistics.lost


@pytest.mark.parametrize("request_of", [lambda admin: admin.groups(0.1), lambda admin: admin.committed("g", 0.1)])
def test_the_trace_of_a_request_that_fails_names_its_client(request_of: Callable[[KafkaAdmin], object]) -> None:
    with pytest.raises(KafkaRequestError) as failed:
        request_of(ConnectorClients().admin(NOWHERE))
    assert failed.value.__notes__ == ["The request was sent by the client test."]


def test_an_admin_client_that_no_broker_answers_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = ConnectorClients().admin(NOWHERE)
    first = admin._client

    def fails() -> None:
        with pytest.raises(KafkaRequestError):
            admin.partition_counts(0.01)

    fails()
    fails()
    assert admin._client is first, "brokers may be away for a moment"
    monkeypatch.setattr(connector_clients, "SILENT_SECONDS", 0.0)
    fails()
    second = admin._client
    assert second is not first
    for _ in range(2):
        (error,) = admin.create_topics([TopicSpec("t", 1, 1)], 0.01).values()
        assert isinstance(error, KafkaRequestError)
    assert admin._client is not second


@pytest.mark.integration
def test_an_answer_keeps_the_admin_client(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    admin = ConnectorClients().admin({"bootstrap.servers": kafka.bootstrap, "client.id": "test"})
    client = admin._client
    monkeypatch.setattr(connector_clients, "SILENT_SECONDS", 0.0)
    for _ in range(3):
        assert admin.topic_ids(["missing"], SECONDS) == {}
        with pytest.raises(KafkaRequestError):
            admin.partition_counts(0.000001)
        assert admin.partition_counts(SECONDS)
    assert admin._client is client
    admin.close()


@pytest.mark.integration
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_that_is_not_there_is_told_from_one_with_members(kafka: Kafka, protocol: str) -> None:
    admin, topic = ConnectorClients().admin({"bootstrap.servers": kafka.bootstrap}), kafka.create_topic()
    group = f"g-{topic}"
    assert admin.is_idle(group, SECONDS) is None
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "group.protocol": protocol})
    consumer.subscribe([topic])

    def assigned() -> bool:
        consumer.poll(0.1)
        return bool(consumer.assignment())

    until(assigned, "a partition", SECONDS)
    assert admin.is_idle(group, SECONDS) is False
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    until(lambda: admin.is_idle(group, SECONDS) is True, "the member has left", SECONDS)

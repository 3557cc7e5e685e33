from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from penstock.embedded import Broker
from penstock.kafka.clients import (
    check_resolvable,
    consumer_config,
    init_transactions,
    new_consumer,
    new_producer,
)


class Slow:
    """A producer whose brokers are slow."""

    def __init__(self) -> None:
        self.allowed: list[float] = []

    def list_topics(self, topic: str, timeout: float) -> None:
        self.init_transactions(timeout)

    def init_transactions(self, timeout: float) -> None:
        self.allowed.append(timeout)
        time.sleep(0.05)


def test_a_transactional_id_is_claimed_within_the_time_given() -> None:
    producer: Any = Slow()
    init_transactions(producer, 0.09)
    first, second, last = producer.allowed
    assert first <= 0.09
    assert second <= 0.04
    assert last == 0.001


def test_a_protocol_before_an_address_says_nothing_as_in_java() -> None:
    """librdkafka would drop the address if its protocol differs from ``security.protocol``."""
    servers = "PLAINTEXT://localhost:9092, ssl://[::1]:1,127.0.0.1:2"
    assert consumer_config({"bootstrap.servers": servers})["bootstrap.servers"] == "localhost:9092,[::1]:1,127.0.0.1:2"
    check_resolvable({"bootstrap.servers": "SASL_SSL://127.0.0.1:9092"})
    new_consumer({"bootstrap.servers": servers, "group.id": "g"}).close()


@pytest.mark.integration
@pytest.mark.parametrize(("kind", "most"), [("consumer", 15), ("producer", 30)])
def test_a_client_does_not_storm_a_broker_that_has_gone_away(kind: str, most: int) -> None:
    """A load balancer in its place accepts connections and closes them."""
    made = 0

    def take(listening: socket.socket) -> None:
        nonlocal made
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            made += 1
            connection.close()

    with Broker() as broker:
        client: Any
        if kind == "consumer":
            client = new_consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g"})
            client.assign([TopicPartition("there-is-none", 0, 0)])
            client.list_topics(timeout=60)
        else:
            client = new_producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "t"})
            init_transactions(client, 60)
        broker.stop()
        with socket.create_server(("127.0.0.1", broker.port)) as listening:
            threading.Thread(target=take, args=(listening,), daemon=True).start()
            began = time.monotonic()
            while time.monotonic() - began < 4:
                client.poll(0.1)
            seconds = time.monotonic() - began
            listening.shutdown(socket.SHUT_RDWR)
        if kind == "consumer":
            client.close()
    assert 0 < made < most * seconds

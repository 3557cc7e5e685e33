"""Transactions about to end on a broker that is killed again and again."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from faults.broker import FaultyBroker
from support.kafka.client import READ_SECONDS, Kafka, answered
from support.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PRODUCERS, PARTITIONS, KILLS = 8, 4, 4


def committing(bootstrap: str, topic: str, ended: threading.Event) -> None:
    """Commit one transaction after the other, over all partitions."""
    settings = {"transaction.timeout.ms": 10_000, "log_level": 0}
    while not ended.is_set():
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": uuid.uuid4().hex, **settings})
        try:
            producer.init_transactions(30)
            while not ended.is_set():
                producer.begin_transaction()
                for partition in range(PARTITIONS):
                    producer.produce(topic, b"x", partition=partition)
                producer.commit_transaction(30)
        except KafkaException:
            continue  # with another producer


def test_every_transaction_ends(tmp_path: Path) -> None:
    with FaultyBroker(tmp_path) as broker:
        ended, topic = threading.Event(), Kafka(broker.bootstrap).create_topic(partitions=PARTITIONS)
        threads = [
            threading.Thread(target=committing, args=(broker.bootstrap, topic, ended), daemon=True)
            for _ in range(PRODUCERS)
        ]
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            ended.wait(3)
            broker.kill_and_start()
        ended.set()
        for thread in threads:
            thread.join()
        kafka = Kafka(broker.bootstrap)

        def ends(level: IsolationLevel) -> list[int]:
            wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(PARTITIONS)}

            def ask() -> list[int]:
                found = kafka.admin.list_offsets(wanted, isolation_level=level, request_timeout=READ_SECONDS)
                return [future.result().offset for future in found.values()]

            return answered(ask)

        until(
            lambda: ends(IsolationLevel.READ_COMMITTED) == ends(IsolationLevel.READ_UNCOMMITTED),
            "the ends of all transactions",
        )
        assert min(ends(IsolationLevel.READ_COMMITTED)) > 0

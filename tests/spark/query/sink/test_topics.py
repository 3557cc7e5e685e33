"""Start positions of a query, with a stand-in for librdkafka's consumer."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConnectError, RetriableError
from penstock.kafka.clients import admin_like
from penstock.spark.query.sink.topics import Topics
from support.kafka.client import Kafka

MANY = [("t", number) for number in range(300)]


class Ranges:
    """A consumer of partitions that have the offsets 10 to 20."""

    def __init__(self, *answers: Any) -> None:
        self.calls: list[threading.Thread] = []
        self._answers = list(answers)

    def offsets_for_times(self, asked: list[TopicPartition], timeout: float) -> list[Any]:
        self.calls.append(threading.current_thread())
        if self._answers and (answer := self._answers.pop(0)) is not None:
            return [answer]
        return [TopicPartition(p.topic, p.partition, 10 if p.offset == OFFSET_BEGINNING else 20) for p in asked]


class Answer:
    def __init__(self, error: KafkaError | None, offset: int = -1) -> None:
        self.topic, self.partition, self.error, self.offset = "t", 0, error, offset


def topics(consumer: Ranges, reset: str = "earliest") -> Topics:
    return Topics(consumer, {"topics": "t"}, {"auto.offset.reset": reset}, lambda: False)  # type: ignore[arg-type]


def test_all_partitions_are_asked_for_at_once() -> None:
    consumer = Ranges()
    found = topics(consumer).starts(MANY, {("t", 1): 15, ("t", 2): 9, ("t", 3): 21, ("t", 4): 20})
    assert found == {**dict.fromkeys(MANY, 10), ("t", 1): 15, ("t", 4): 20}
    assert len(consumer.calls) == 2
    assert len(set(consumer.calls)) == 1
    assert topics(consumer, "latest").starts(MANY[:1], {}) == {("t", 0): 20}
    assert topics(consumer).starts([], {}) == {}
    assert len(consumer.calls) == 4


def test_the_partition_that_can_not_be_read_is_named() -> None:
    with pytest.raises(ConnectError, match=r"^The offsets of t-0 can't be read$"):
        topics(Ranges(Answer(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))).starts(MANY[:1], {})


def test_no_answer_is_no_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.query.asking.SECONDS", -1)
    with pytest.raises(RetriableError):
        topics(Ranges(None, Answer(None))).starts(MANY[:1], {("t", 0): 15})


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._DESTROY_BROKER,
    ],
)
def test_a_partition_whose_broker_has_changed_or_just_started_is_asked_for_again(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.spark.query.asking.PAUSE_SECONDS", 0.01)
    consumer = Ranges(None, Answer(KafkaError(code)))
    assert topics(consumer).starts(MANY[:1], {}) == {("t", 0): 10}
    assert len(consumer.calls) == 4
    monkeypatch.setattr("penstock.spark.query.asking.SECONDS", -1)
    with pytest.raises(RetriableError, match=r"^The offsets of t-0 can't be read$"):
        topics(Ranges(None, Answer(KafkaError(code)))).starts(MANY[:1], {})


@pytest.mark.integration
def test_all_requests_for_ids_share_a_client(kafka: Kafka, bootstrap: str) -> None:
    made: list[AdminClient] = []

    def make() -> AdminClient:
        made.append(admin_like({"bootstrap.servers": bootstrap}))
        return made[-1]

    topic, consumer, reset = kafka.create_topic(), Ranges(), {"auto.offset.reset": "earliest"}
    asked = Topics(consumer, {"topics": topic}, reset, lambda: False, make_admin=make)  # type: ignore[arg-type]
    found = [asked.ids([topic]) for _ in range(3)]
    assert found[0] is not None
    assert found == [found[0]] * 3
    assert len(made) == 1

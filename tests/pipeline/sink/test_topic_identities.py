"""The IDs of the topics of a sink task, as brokers tell them or do not."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pytest
from confluent_kafka.admin import AdminClient

from penstock.api.errors import ConfigError
from penstock.api.sink import TopicPartition
from penstock.kafka.clients import admin_like
from penstock.pipeline.sink.identities import AssignedTopicIds, TopicIdRequests
from support.kafka.client import Kafka

BOTH = frozenset({TopicPartition("t", 0), TopicPartition("t", 1)})


class Answers:
    """IDs of one topic, one answer after the other; empty: none."""

    def __init__(self, *ids: str) -> None:
        self.ids = list(ids)

    def __call__(self, topics: Iterable[str]) -> dict[str, str]:
        return {topic: id for topic in topics if (id := self.ids.pop(0))}


def test_each_new_id_is_found_once_though_a_broker_tells_earlier_ones() -> None:
    identities = AssignedTopicIds(Answers("A", "A", "B", "A", "B", "A", "C", "B"))
    identities.learn(BOTH)
    found = [identities.recreated(BOTH, at_once=True) for _ in range(7)]
    assert [bool(each) for each in found] == [False, True, False, False, False, True, False]
    assert found[1] == BOTH


def test_an_id_that_was_not_told_at_first_is_taken_later() -> None:
    identities = AssignedTopicIds(Answers("", "", "A", "A", "B"))
    identities.learn(BOTH)
    assert [bool(identities.recreated(BOTH, at_once=True)) for _ in range(4)] == [False, False, False, True]


def test_there_are_few_comparisons_unless_one_is_needed_at_once() -> None:
    answers = Answers("A", "A", "B")
    identities = AssignedTopicIds(answers)
    identities.learn(BOTH)
    assert not any(identities.recreated(BOTH, at_once=False) for _ in range(5))
    assert answers.ids == ["B"]
    assert identities.recreated(BOTH, at_once=True) == BOTH


@pytest.mark.integration
def test_requests_that_come_often_share_a_client(kafka: Kafka, bootstrap: str) -> None:
    made: list[AdminClient] = []

    def make() -> AdminClient:
        made.append(admin_like({"bootstrap.servers": bootstrap}))
        return made[-1]

    topic = kafka.create_topic()
    requests = TopicIdRequests(make)
    found = [requests.ask([topic]) for _ in range(4)]
    assert found[0].keys() == {topic}
    assert found == [found[0]] * 4
    assert len(made) <= 2


@pytest.mark.integration
def test_a_client_that_can_not_be_made_is_logged_once_and_made_later(
    kafka: Kafka, bootstrap: str, caplog: pytest.LogCaptureFixture
) -> None:
    problems = [ConfigError("the truststore is missing")] * 2

    def make() -> AdminClient:
        if problems:
            raise problems.pop()
        return admin_like({"bootstrap.servers": bootstrap})

    caplog.set_level(logging.WARNING)
    topic = kafka.create_topic()
    requests = TopicIdRequests(make)
    assert [requests.ask([topic]) for _ in range(2)] == [{}, {}]
    assert [record.getMessage() for record in caplog.records] == [
        "The IDs of topics can't be read, and offsets are committed without comparing them: the truststore is missing"
    ]
    assert requests.ask([topic]).keys() == {topic}

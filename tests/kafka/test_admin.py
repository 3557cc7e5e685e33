from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.topic_settings import TopicSettings
from penstock.kafka.admin import TopicSpec, TopicTimeoutError
from penstock.kafka.log.topic import LogTopic
from penstock.pipeline.source.topic_creation import create


def failed(code: int) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(KafkaException(BrokerError(code)))
    return future


class Broken:
    """Brokers that have the topic, and do not say how it is set."""

    def __init__(self, code: int) -> None:
        self._code = code

    def create_topics(self, topics: list[Any], **limits: float) -> dict[str, Future[Any]]:
        return {topic.topic: failed(BrokerError.TOPIC_ALREADY_EXISTS) for topic in topics}

    def describe_configs(self, resources: list[Any], **limits: float) -> dict[Any, Future[Any]]:
        return {resource: failed(self._code) for resource in resources}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (BrokerError._TRANSPORT, TopicTimeoutError),
        (BrokerError._TIMED_OUT, TopicTimeoutError),
        (BrokerError.INVALID_REQUEST, ConnectError),
    ],
)
def test_a_broker_that_goes_away_while_an_internal_topic_is_checked_is_waited_for(code: int, kind: type) -> None:
    admin: Any = Broken(code)
    with pytest.raises(ConnectError) as caught:
        LogTopic(spec=TopicSpec("t"), setting="config.storage.topic", purpose="x").ensure(admin, "User:a")
    assert type(caught.value) is kind


class Throttled:
    """Brokers that let nobody make more topics for the moment."""

    def create_topics(self, topics: list[Any], **limits: float) -> dict[str, Future[Any]]:
        return {topic.topic: failed(BrokerError.THROTTLING_QUOTA_EXCEEDED) for topic in topics}


def test_a_topic_that_a_quota_defers_is_asked_for_again() -> None:
    admin: Any = Throttled()
    with pytest.raises(RetriableError):
        create(admin, TopicSettings("t", 1, 1))
    with pytest.raises(TopicTimeoutError):
        LogTopic(spec=TopicSpec("t"), setting="config.storage.topic", purpose="x").ensure(admin, "User:a")

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, OffsetSpec

from penstock.api.errors import ConnectError, RetriableError
from penstock.api.topic_settings import TopicSettings
from penstock.kafka.admin import (
    TopicSpec,
    TopicTimeoutError,
    answer,
    is_unreached,
    offsets_at,
    partition_counts,
    topic_configs,
)
from penstock.kafka.clients import new_admin
from penstock.kafka.log.topic import LogTopic
from penstock.pipeline.source.topic_creation import create
from support.waiting import until


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


class Few:
    """Fewer brokers than the topic is to have replicas, as while a cluster starts."""

    def create_topics(self, topics: list[Any], **limits: float) -> dict[str, Future[Any]]:
        return {topic.topic: failed(BrokerError.INVALID_REPLICATION_FACTOR) for topic in topics}


def test_an_internal_topic_waits_for_enough_brokers() -> None:
    admin: Any = Few()
    with pytest.raises(TopicTimeoutError):
        LogTopic(spec=TopicSpec("t"), setting="config.storage.topic", purpose="x").ensure(admin, "User:a")


class Throttled:
    """Brokers that allow no new topics for the moment."""

    def create_topics(self, topics: list[Any], **limits: float) -> dict[str, Future[Any]]:
        return {topic.topic: failed(BrokerError.THROTTLING_QUOTA_EXCEEDED) for topic in topics}


def test_a_topic_that_a_quota_defers_is_asked_for_again() -> None:
    admin: Any = Throttled()
    with pytest.raises(RetriableError):
        create(admin, TopicSettings("t", 1, 1))
    with pytest.raises(TopicTimeoutError):
        LogTopic(spec=TopicSpec("t"), setting="config.storage.topic", purpose="x").ensure(admin, "User:a")


def test_a_request_that_is_never_answered_has_timed_out() -> None:
    with pytest.raises(KafkaException) as caught:
        answer(Future(), -5)
    assert is_unreached(caught.value)


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Python's collector does not come by."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "request_of",
    [
        lambda admin: offsets_at(admin, "t", [0], OffsetSpec.latest(), 0.2),
        lambda admin: partition_counts(admin, ["t"], 0.2),
        lambda admin: topic_configs(admin, "t", 0.2),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_client_that_is_let_go_after_a_failed_request_ends(request_of: Callable[[AdminClient], Any]) -> None:
    before = clients()
    for _ in range(3):
        with pytest.raises((KafkaException, ConnectError)):
            request_of(new_admin({"bootstrap.servers": "127.0.0.1:1"}))
    until(lambda: not clients() - before, "the ends of the clients")


def clients() -> set[str]:
    """Return the threads of this process that are main threads of librdkafka's clients."""
    found = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            if (thread / "comm").read_text() == "rdk:main\n":
                found.add(thread.name)
    return found

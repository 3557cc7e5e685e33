"""Internal topics are refused where clients use topics, by the ID of the cluster."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.api.errors import RetriableError
from penstock.core.config.internal_topics import InternalTopicError, InternalTopics
from penstock.kafka.topic_guard import ClusterIds, TopicGuard

pytestmark = pytest.mark.security

INTERNAL = InternalTopics(
    {"config": "the worker's `config.storage.topic`"},
    denied=("x-*",),
    elsewhere=(("far", "offsets"),),
    servers="a:1, b:2",
    cluster="here",
)


class Cluster:
    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)

    def __call__(self) -> str | None:
        answer = self.answers.pop(0)
        if answer is None:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return answer


def test_a_record_without_a_topic_is_left_to_the_producer() -> None:
    nothing: Any = None
    TopicGuard(INTERNAL, "a:1", Cluster()).check_written({nothing, "orders"})


def test_an_address_in_common_means_the_same_cluster() -> None:
    guard = TopicGuard(INTERNAL, "c:3,B:2", Cluster())
    guard.check_written({"orders"})
    for topic in ("config", "x-1", "config\0y"):
        with pytest.raises(InternalTopicError, match="which no connector may write"):
            guard.check_written({"orders", topic})
        with pytest.raises(InternalTopicError, match="which no connector may read"):
            guard.check_read([topic])
    assert guard.readable({"config", "orders", "x-1", "__consumer_offsets"}, "whatever") == {
        "orders",
        "__consumer_offsets",
    }


def test_another_address_of_the_same_cluster_is_found_out_by_its_id() -> None:
    guard = TopicGuard(INTERNAL, "c:3", Cluster("here"))
    guard.check_written({"orders"})
    for _ in range(2):
        with pytest.raises(InternalTopicError):
            guard.check_written({"config"})


def test_equal_names_of_another_cluster_are_usable() -> None:
    guard = TopicGuard(INTERNAL, "c:3", Cluster("elsewhere"))
    guard.check_written({"config", "x-1", "offsets"})
    assert guard.readable({"config"}, "elsewhere") == {"config"}
    assert guard.usable({"config", "__transaction_state"}, writing=True) == {"config"}
    far = TopicGuard(INTERNAL, "c:3", Cluster("far"))
    with pytest.raises(InternalTopicError, match="offsets is the offsets topic of a connector"):
        far.check_written({"config", "offsets"})


def test_nothing_is_used_before_the_cluster_is_known() -> None:
    guard = TopicGuard(INTERNAL, "c:3", Cluster(None, "here"))
    with pytest.raises(RetriableError, match="config have names of internal ones"):
        guard.check_written({"config"})
    with pytest.raises(InternalTopicError):
        guard.check_written({"config"})


@pytest.mark.integration
def test_the_ids_of_clusters_are_asked_for_once(bootstrap: str) -> None:
    clusters = ClusterIds(timeout=30.0)
    found = clusters.of({"bootstrap.servers": bootstrap})
    assert found
    assert clusters.of({"bootstrap.servers": bootstrap}) == found
    away = ClusterIds(timeout=0.5)
    assert away.of({"bootstrap.servers": "127.0.0.1:1"}) is None

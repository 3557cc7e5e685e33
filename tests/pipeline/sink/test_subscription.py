"""The topics that a sink's ``topics`` names and its ``topics.regex`` matches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api.errors import KafkaError
from penstock.kafka.client_settings import connector_consumer
from penstock.pipeline.sink.subscription import Subscription
from penstock.spark.query.sink.topics import Topics

NAMES = ("__consumer_offsets", "__share_group_state", "__transaction_state", "__x", "a")


class Client:
    """A consumer of a cluster with topics of these names."""

    def __init__(self) -> None:
        self.subscribed: list[str] = []

    def list_topics(self, topic: str | None = None, timeout: float = 0) -> Any:
        one = SimpleNamespace(error=None, partitions={0: None})
        return SimpleNamespace(topics=dict.fromkeys(NAMES, one), cluster_id="here")

    def subscribe(self, topics: list[str], **callbacks: Any) -> None:
        self.subscribed = topics


@pytest.mark.parametrize(
    ("worker", "override", "expected"),
    [
        ({}, {}, ["__x"]),
        ({}, {"consumer.override.exclude.internal.topics": "true"}, ["__x"]),
        ({}, {"consumer.override.exclude.internal.topics": "false"}, list(NAMES[:4])),
        ({"consumer.exclude.internal.topics": " FALSE "}, {}, list(NAMES[:4])),
        (
            {"consumer.exclude.internal.topics": "false"},
            {"consumer.override.exclude.internal.topics": "true"},
            ["__x"],
        ),
    ],
)
def test_internal_topics_are_read_if_they_are_not_excluded(
    worker: dict[str, str], override: dict[str, str], expected: list[str]
) -> None:
    client: Any = Client()
    connector = {"topics.regex": "__.*", **override}
    java = connector_consumer(worker, connector, "c")
    callbacks: Any = (None, None, None)
    Subscription(connector, java, 1.0).update(client, 0.0, *callbacks)
    assert client.subscribed == expected
    assert [name for name, _ in Topics(client, connector, java, lambda: False).partitions()] == expected


@pytest.mark.parametrize(
    ("topics", "invalid"),
    [("a b", "a b"), ("a/b,fine,ä", "a/b, ä"), ("..", ".."), (".", "."), ("x" * 250, "x" * 250)],
)
def test_names_that_no_topic_can_have_fail_a_task(topics: str, invalid: str) -> None:
    client: Any = Client()
    connector = {"topics": topics}
    java = connector_consumer({}, connector, "c")
    callbacks: Any = (None, None, None)
    with pytest.raises(KafkaError) as raised:
        Subscription(connector, java, 1.0).update(client, 0.0, *callbacks)
    assert (raised.value.java_name.rpartition(".")[2], str(raised.value)) == (
        "InvalidTopicException",
        f"Invalid topics: [{invalid}]",
    )
    with pytest.raises(KafkaError, match="Invalid topics"):
        Topics(client, connector, java, lambda: False).partitions()


def test_names_that_topics_can_have() -> None:
    client: Any = Client()
    connector = {"topics": f"...,{'x' * 249},a.B_-9"}
    callbacks: Any = (None, None, None)
    Subscription(connector, connector_consumer({}, connector, "c"), 1.0).update(client, 0.0, *callbacks)
    assert client.subscribed == ["...", "a.B_-9", "x" * 249]

"""Configurations that name topics, groups or clients of workers, and topics of Kafka's own."""

from __future__ import annotations

import pytest

from penstock.core.config.internal_topics import OFFSETS_OF_CONNECTOR, InternalTopics
from penstock.core.config.permissions.topics import (
    OFFSETS_OF_WORKER,
    WorkerNames,
    joins_worker_group,
    name_problems,
    topic_problems,
    topic_uses,
)

pytestmark = pytest.mark.security

INTERNAL = InternalTopics(
    {"c-config": "the worker's `config.storage.topic`", "c-offset": OFFSETS_OF_WORKER, "own": OFFSETS_OF_CONNECTOR},
    denied=("other-*",),
    elsewhere=(("far", "faraway"),),
    servers="localhost:9092",
    cluster="here",
)
FILE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
SPARK_SINK, SPARK_SOURCE = "penstock.connectors.SparkSink", "penstock.connectors.SparkSource"


def problems(connector: str, cluster: str | None = "here", source: bool | None = None, **config: str) -> dict[str, str]:
    props = {key.replace("__", "."): value for key, value in config.items()}
    kind = "Source" in connector if source is None else source
    return dict(topic_problems(connector, props, kind, INTERNAL, lambda client: cluster))


@pytest.mark.parametrize("topics", ["c-config", "a, c-config ,b", "own", "other-configs", "c-config\0x"])
def test_a_sink_may_not_name_internal_topics(topics: str) -> None:
    found = problems("x.Sink", topics=topics)
    assert list(found) == ["topics"]
    assert found["topics"].endswith("which no connector may read: name a topic that is neither a worker's nor Kafka's")


def test_a_refusal_says_whose_topic_it_is() -> None:
    assert problems("x.Sink", topics="c-config")["topics"].startswith(
        "c-config is the worker's `config.storage.topic`,"
    )
    assert problems("x.Sink", topics="other-x")["topics"].startswith(
        "other-x is a topic that `penstock.topics.denied` of the worker denies,"
    )


@pytest.mark.parametrize("regex", ["c-config", r"c\-config", "^c-config$", r"\Qc-config\E", "c.config"])
def test_a_pattern_that_means_one_internal_topic_is_refused(regex: str) -> None:
    refused = regex != "c.config"
    assert (list(problems("x.Sink", **{"topics.regex": regex})) == ["topics.regex"]) is refused


@pytest.mark.parametrize("regex", [".*", "c-.*", "c-config|orders", "(?i)C-CONFIG"])
def test_patterns_are_accepted(regex: str) -> None:
    assert problems("x.Sink", **{"topics.regex": regex}) == {}


def test_topics_of_other_clusters_with_the_same_names_stay_usable() -> None:
    assert problems("x.Sink", "elsewhere", topics="c-config,own,other-x,faraway") == {}
    assert list(problems("x.Sink", "far", topics="faraway")) == ["topics"]
    assert problems("x.Sink", None, topics="c-config") == {}, "the check at run time knows the cluster"


def test_kafkas_own_topics_may_be_read_but_not_written() -> None:
    assert problems("x.Sink", topics="__consumer_offsets") == {}
    for cluster in ("here", "elsewhere", None):
        found = problems("x.Sink", cluster, topics="a", **{"errors.deadletterqueue.topic.name": "__consumer_offsets"})
        assert list(found) == ["errors.deadletterqueue.topic.name"]


@pytest.mark.parametrize(
    "key",
    [
        *("topic", "topics", "kafka.topic", "signal.kafka.topic", "topic.transaction", "x.topic.name"),
        *("errors.deadletterqueue.topic.name", "penstock.errors.deadletterqueue.topic.name"),
        *("transforms.a.replacement", "transforms.a.topic.format", "transforms.a.topic"),
        *("schema.history.internal.kafka.topic", "TOPIC"),
    ],
)
def test_a_source_may_not_name_internal_topics(key: str) -> None:
    for topic in ("c-config", " c-offset ", "own"):
        assert list(problems(FILE, **{key: topic})) == [key]
    assert problems(FILE, **{key: "C-CONFIG"}) == {}, "names are case-sensitive"
    assert problems(FILE, **{key: "c-config.x"}) == {}


def test_a_client_with_addresses_of_its_own_is_told_apart_by_them() -> None:
    props = {"x.topic": "c-config", "x.bootstrap.servers": "b:1", "topic": "t"}
    assert [(use.topic, use.client) for use in topic_uses(FILE, props, True)] == [
        ("c-config", "x."),
        ("t", "producer.override."),
    ]


def test_offsets_topics_may_be_shared_as_in_java() -> None:
    for topic in ("c-offset", "own", "mine"):
        assert problems(FILE, **{"offsets.storage.topic": topic}) == {}
    for topic in ("c-config", "other-offsets", "__consumer_offsets"):
        assert list(problems(FILE, **{"offsets.storage.topic": topic})) == ["offsets.storage.topic"]


def test_a_mirror_reads_equal_names_of_another_cluster() -> None:
    assert problems(MIRROR, "elsewhere", topics="c-config,.*") == {}
    assert list(problems(MIRROR, topics="c-config,.*")) == ["topics"]
    assert problems(MIRROR, topics=".*") == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("option.topic", "c-config"),
        ("option.TOPIC", "c-config"),
        ("option.subscribe", "a, own"),
        ("option.subscribePattern", r"c\-config"),
        ("option.assign", '{"c-config":[0]}'),
    ],
)
def test_options_of_sparks_kafka_source_and_sink(key: str, value: str) -> None:
    for connector in (SPARK_SINK, SPARK_SOURCE):
        assert list(problems(connector, **{key: value})) == [key]
        assert problems(connector, "elsewhere", **{key: value}) == {}
    assert problems(SPARK_SOURCE, **{"option.subscribePattern": ".*", "option.assign": "[" * 100_000}) == {}


NAMES = WorkerNames("connect", {"connect-configs"}, {"connect-cluster-connect", "connect-other-0"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("producer.override.client.id", "__admin_client"),
        ("consumer.override.client.id", " connect-configs "),
        ("admin.override.client.id", "connect-configs"),
        ("producer.override.transactional.id", "connect-cluster-connect"),
        ("producer.override.transactional.id", " connect-other-0"),
        ("option.kafka.transactional.id", "connect-other-0"),
        ("option.kafka.group.id", "connect"),
    ],
)
def test_names_of_the_workers_own_clients_are_refused(key: str, value: str) -> None:
    assert [each for each, _ in name_problems({key: value}, NAMES)] == [key]
    assert list(name_problems({key: f"{value}-mine"}, NAMES)) == []


def test_no_consumer_joins_the_group_of_the_workers() -> None:
    assert (
        joins_worker_group(" connect ", NAMES) == "Consumer group connect conflicts with Connect worker group connect"
    )
    assert joins_worker_group("connect-x", NAMES) is None
    assert joins_worker_group("connect", WorkerNames(None, (), ())) is None

"""Mirrored topics: their selection, settings, access rights, and tasks."""

from __future__ import annotations

import pytest

from penstock.api.kafka import TopicAcl, TopicSetting
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.checkpoint.connector import group_parts
from penstock.connectors.mirror.config import MirrorConfig
from penstock.connectors.mirror.settings import SOURCE_SETTINGS
from penstock.connectors.mirror.source.topics import Rules, round_robin, topic_partitions

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


def rules(**more: str) -> Rules:
    given = {"source.cluster.alias": "a", "target.cluster.alias": "b"}
    c = MirrorConfig(SOURCE_SETTINGS, given | {name.replace("_", "."): value for name, value in more.items()})
    heartbeats = c["heartbeats.replication.enabled"]
    topics, properties = c.topic_filter(), c.config_property_filter()
    return Rules(c.source, c.target, c.policy, topics, properties, heartbeats, c.checkpoints_topic)


# -- tasks


def test_partitions_are_dealt_out() -> None:
    eight = [
        *(TopicPartition("t0", n) for n in range(8)),
        TopicPartition("t1", 0),
        TopicPartition("t1", 1),
        TopicPartition("t2", 0),
        TopicPartition("t2", 1),
    ]
    assert [" ".join(map(str, part)) for part in round_robin(eight, 3)] == [
        "t0-0 t0-3 t0-6 t1-1",
        "t0-1 t0-4 t0-7 t2-0",
        "t0-2 t0-5 t1-0 t2-1",
    ]
    assert round_robin(eight[:2], 5) == [[eight[0]], [eight[1]]]
    assert round_robin([], 5) == []


def test_groups_are_split_into_contiguous_parts() -> None:
    assert group_parts(list("abcdefg"), 3) == [["a", "b", "c"], ["d", "e"], ["f", "g"]]
    assert group_parts(["a"], 3) == [["a"]]
    assert group_parts([], 3) == []


def test_topic_partitions_are_listed_in_javas_order() -> None:
    assert list(map(str, topic_partitions({"t": 3}))) == ["t-0", "t-1", "t-2"]
    assert [topic_partition.topic for topic_partition in topic_partitions({"x": 1, "c": 1, "b": 1, "a": 1})] == [
        "x",
        "a",
        "b",
        "c",
    ]
    assert topic_partitions({}) == []


# -- topics


@pytest.mark.parametrize(
    ("topic", "wanted"),
    [
        ("t", True),
        ("c.t", True),
        ("heartbeats", True),
        ("c.heartbeats", True),
        ("b.t", False),  # it came from there
        ("c.b.t", False),
        ("__consumer_offsets", False),
        ("mm2-offset-syncs.b.internal", False),
        ("c.checkpoints.internal", False),
    ],
)
def test_topics_that_are_mirrored(topic: str, wanted: bool) -> None:
    assert rules().wants(topic) is wanted


def test_heartbeats_are_mirrored_though_nobody_names_them() -> None:
    assert [rules(topics="t").wants(topic) for topic in ("t", "u", "heartbeats")] == [True, False, True]
    assert not rules(topics="t", heartbeats_replication_enabled="false").wants("heartbeats")


def test_cycles_are_not_seen_without_names_of_clusters() -> None:
    assert rules(replication_policy_class=IDENTITY).wants("b.t")


def test_topic_filter_and_policy_choose_mirrored_topics() -> None:
    r = rules()
    counts = {"a.t": 2, "a.b.u": 1}
    assert [topic for topic in ("a.t", "t", "b.t", "a.checkpoints.internal") if r.is_mirrored(topic)] == ["a.t"]
    assert r.upstream(counts) == {TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("b.u", 0)}


# -- settings


SET, DEFAULT = "DYNAMIC_TOPIC_CONFIG", "DEFAULT_CONFIG"
ENTRIES = [
    TopicSetting("retention.ms", "5", SET),
    TopicSetting("segment.bytes", "9", DEFAULT),
    TopicSetting("min.insync.replicas", "2", SET),
    TopicSetting("from.broker", "1", "STATIC_BROKER_CONFIG"),
    TopicSetting("from.cluster", "3", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    TopicSetting("secret", None, SET, is_sensitive=True),
    TopicSetting("fixed", "1", SET, is_read_only=True),
]


def test_settings_of_a_new_topic() -> None:
    assert rules().settings_of_new(ENTRIES) == {"retention.ms": "5", "from.cluster": "3"}
    with_defaults = rules(use_defaults_from="source").settings_of_new(ENTRIES)
    assert with_defaults == {"retention.ms": "5", "segment.bytes": "9", "from.cluster": "3"}


def test_settings_follow_and_go_back_to_the_default() -> None:
    assert rules().changes(ENTRIES) == {"retention.ms": "5", "segment.bytes": None, "from.cluster": "3"}
    found = rules(use_defaults_from="source", config_properties_exclude="re.*").changes(ENTRIES)
    assert found == {"segment.bytes": "9", "min.insync.replicas": "2", "from.cluster": "3"}


# -- access rights


def acl(topic: str, operation: str, permission: str = "ALLOW", pattern: str = "LITERAL") -> TopicAcl:
    return TopicAcl(topic, "User:x", "*", operation, permission, pattern)


def test_acls_of_mirrored_topics_are_reduced_to_reading() -> None:
    found = rules(topics="t").acls(
        [
            acl("t", "READ"),
            acl("t", "ALL"),
            acl("t", "WRITE"),
            acl("t", "WRITE", "DENY"),
            acl("t", "READ", pattern="PREFIXED"),
            acl("u", "READ"),
        ]
    )
    # Only one of READ, although ALL becomes READ too: the client refuses the request if two entries are equal.
    assert found == [acl("a.t", "READ"), acl("a.t", "WRITE", "DENY")]

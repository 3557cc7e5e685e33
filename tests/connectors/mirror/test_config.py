"""Settings of a mirror connector's clients, names of its topics, and the classes that it names."""

from __future__ import annotations

import pytest

from penstock.api.errors import ConfigError
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.classes.policy import DefaultReplicationPolicy
from penstock.connectors.mirror.config import MirrorConfig
from penstock.connectors.mirror.settings import CHECKPOINT_SETTINGS, SOURCE_SETTINGS

GIVEN = {
    "name": "m",
    "source.cluster.alias": "a",
    "target.cluster.alias": "b",
    "source.cluster.bootstrap.servers": "a:1",
    "source.cluster.security.protocol": "SSL",
    "source.cluster.group.id": "not for all clients",
    "target.cluster.bootstrap.servers": "b:1",
    "admin.timeout.ms": "1500",
    "consumer.poll.timeout.ms": "10",
}


def config(**more: str) -> MirrorConfig:
    return MirrorConfig(SOURCE_SETTINGS, GIVEN | {name.replace("_", "."): value for name, value in more.items()})


def test_clients_of_the_source() -> None:
    shared = {"bootstrap.servers": "a:1", "security.protocol": "SSL"}
    found = config(consumer_fetch_min_bytes="2", admin_retries="3", producer_linger_ms="4", producer_override_acks="1")
    reset = {"auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    assert found.consumer("source", "r") == shared | reset | {"fetch.min.bytes": "2", "client.id": "a->b|m|r"}
    assert found.admin("source", "r") == shared | {"retries": "3", "client.id": "a->b|m|r"}
    assert found.producer("source", "r") == shared | {"linger.ms": "4", "client.id": "a->b|m|r"}


def test_client_settings_of_one_cluster_override_shared_ones() -> None:
    found = config(consumer_check_crcs="true", source_consumer_check_crcs="false", consumer_enable_auto_commit="true")
    assert found.consumer("source", "r")["check.crcs"] == "false"
    assert found.consumer("target", "r")["check.crcs"] == "true"
    assert found.consumer("target", "r")["bootstrap.servers"] == "b:1"
    assert found.consumer("target", "r")["enable.auto.commit"] == "false"


def test_client_ids_name_the_flow_connector_and_role() -> None:
    assert config(consumer_client_id="me").consumer("source", "r")["client.id"] == "me|a->b|m|r"
    assert config(task_index="3").consumer("source", "r")["client.id"] == "a->b|m-3|r"


@pytest.mark.parametrize(
    ("location", "topic"), [("source", "mm2-offset-syncs.b.internal"), ("target", "mm2-offset-syncs.a.internal")]
)
def test_the_topic_of_offset_syncs(location: str, topic: str) -> None:
    found = MirrorConfig(SOURCE_SETTINGS, GIVEN | {"offset-syncs.topic.location": location})
    assert (found.offset_syncs_cluster, found.offset_syncs_topic) == (location, topic)
    assert found.checkpoints_topic == "a.checkpoints.internal"


def test_disabled_intervals_are_none() -> None:
    found = config(
        refresh_topics_interval_seconds="3", sync_topic_acls_enabled="false", sync_topic_configs_interval_seconds="-1"
    )
    assert [found.interval(what) for what in ("refresh.topics", "sync.topic.acls", "sync.topic.configs")] == [
        3,
        None,
        None,
    ]
    assert found.admin_timeout == 1.5


def test_partitions_of_a_task() -> None:
    assert config(task_assigned_partitions="a-0,b-c-12").task_partitions() == [
        TopicPartition("a", 0),
        TopicPartition("b-c", 12),
    ]
    assert config().task_partitions() == []


class Shouting(DefaultReplicationPolicy):
    made = 0

    def __init__(self) -> None:
        Shouting.made += 1

    def format_remote_topic(self, source: str, topic: str) -> str:
        return f"{source}.{topic}".upper()


class OnlyOne:
    """A topic filter of one's own."""

    def configure(self, config: dict[str, object]) -> None:
        self.only = config["only"]

    def should_replicate_topic(self, topic: str) -> bool:
        return topic == self.only


def test_classes_of_one_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(pytest)("my_mirror")
    module.Shouting, module.OnlyOne = Shouting, OnlyOne  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "my_mirror", module)
    monkeypatch.setattr(Shouting, "made", 0)
    found = config(replication_policy_class="my_mirror.Shouting", topic_filter_class="my_mirror:OnlyOne", only="t")
    assert found.policy.format_remote_topic("a", "t") == "A.T"
    assert [found.topic_filter().should_replicate_topic(topic) for topic in ("t", "u")] == [True, False]
    assert [found.offset_syncs_topic, found.checkpoints_topic] == [
        "mm2-offset-syncs.b.internal",
        "a.checkpoints.internal",
    ]
    assert Shouting.made == 1, "a policy may know something that another object of its class does not"


def test_a_class_of_the_wrong_kind() -> None:
    wrong = config(topic_filter_class="collections.OrderedDict")
    with pytest.raises(ConfigError, match="It should be a Python class with a method `should_replicate_topic`"):
        wrong.topic_filter()


def test_a_checkpoint_connector_has_a_topic_filter_that_it_does_not_define() -> None:
    found = MirrorConfig(CHECKPOINT_SETTINGS, GIVEN | {"topics": "x.*", "topics.exclude": "xy"}).topic_filter()
    assert [found.should_replicate_topic(topic) for topic in ("x", "xy", "y")] == [True, False, False]

"""Selection of topics to mirror, their settings and ACLs on the target cluster, and the partitions of each task.

Pure functions of what is on the clusters. Java: ``MirrorSourceConnector``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.api.kafka import TopicAcl, TopicSetting
from penstock.api.sink import TopicPartition
from penstock.api.values import hash_order
from penstock.connectors.mirror.classes.filters import DefaultConfigPropertyFilter, DefaultTopicFilter
from penstock.connectors.mirror.classes.policy import DefaultReplicationPolicy


def round_robin(topic_partitions: Sequence[TopicPartition], max_tasks: int) -> list[list[TopicPartition]]:
    """One list for each task, none empty; round-robin, since topics differ in traffic."""
    count = min(max_tasks, len(topic_partitions))
    return [list(topic_partitions[number::count]) for number in range(count)]


def topic_partitions(counts: Mapping[str, int]) -> list[TopicPartition]:
    """Return all partitions of these topics, topics in the order of Java's hash map."""
    capacity = 1 << (len(counts) - 1).bit_length() if counts else 1
    return [TopicPartition(topic, number) for topic in hash_order(counts, capacity) for number in range(counts[topic])]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for topics that follow from a source connector's settings."""

    source: str
    target: str
    policy: DefaultReplicationPolicy
    topics: DefaultTopicFilter
    properties: DefaultConfigPropertyFilter
    heartbeats: bool
    checkpoints_topic: str

    def remote(self, topic: str) -> str:
        return self.policy.format_remote_topic(self.source, topic)

    def wants(self, topic: str) -> bool:
        """Return whether a topic of the source cluster is mirrored."""
        named = self.topics.should_replicate_topic(topic) or (
            self.heartbeats and self.policy.is_heartbeats_topic(topic)
        )
        return named and not self.policy.is_internal_topic(topic) and not self.is_cycle(topic)

    def is_cycle(self, topic: str) -> bool:
        """Return whether the topic has already been on the target cluster."""
        while (source := self.policy.topic_source(topic)) is not None:
            if source == self.target:
                return True
            upstream = self.policy.upstream_topic(topic)
            if upstream is None or upstream == topic:
                return False  # as IdentityReplicationPolicy has it
            topic = upstream
        return False

    def is_mirrored(self, topic: str) -> bool:
        """Return whether a topic of the target cluster is a mirrored one of the source cluster."""
        return self.policy.topic_source(topic) == self.source and topic != self.checkpoints_topic

    def upstream(self, mirrored: Mapping[str, int]) -> set[TopicPartition]:
        """The source partitions that mirrored topics stand for."""
        return {
            TopicPartition(self.policy.upstream_topic(topic) or "", number)
            for topic, number in topic_partitions(mirrored)
        }

    # -- settings

    def settings_of_new(self, entries: Iterable[TopicSetting]) -> dict[str, str]:
        """The settings of a new mirrored topic, given those of its source."""
        return {
            entry.name: entry.value or ""
            for entry in entries
            if self._copied(entry) and (not entry.is_default or self._source_default(entry))
        }

    def changes(self, entries: Iterable[TopicSetting]) -> dict[str, str | None]:
        """The settings to change on a mirrored topic to follow its source; None resets one to the target's default."""
        return {
            entry.name: None if entry.is_default and not self._source_default(entry) else entry.value or ""
            for entry in entries
            if self._copied(entry)
        }

    def _copied(self, entry: TopicSetting) -> bool:
        return (
            not entry.is_read_only
            and not entry.is_sensitive
            and entry.source != "STATIC_BROKER_CONFIG"
            and self.properties.should_replicate_config_property(entry.name)
        )

    def _source_default(self, entry: TopicSetting) -> bool:
        return self.properties.should_replicate_source_default(entry.name)

    # -- ACLs

    def acls(self, given: Iterable[TopicAcl]) -> list[TopicAcl]:
        """The ACLs of mirrored topics, each once: WRITE is left out, and ALL becomes READ, which may be there too."""
        found = [
            replace(each, topic=self.remote(each.topic), operation="READ" if _allows(each, "ALL") else each.operation)
            for each in given
            if each.pattern == "LITERAL" and not _allows(each, "WRITE") and self.wants(each.topic)
        ]
        return list(dict.fromkeys(found))


def _allows(acl: TopicAcl, operation: str) -> bool:
    return acl.permission == "ALLOW" and acl.operation == operation

"""The names of mirrored topics, and the cluster that a topic came from.

Java: ``ReplicationPolicy``, ``DefaultReplicationPolicy``, ``IdentityReplicationPolicy``. A custom class, named by
``replication.policy.class``, derives from one of these.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

log = logging.getLogger(__name__)

HEARTBEATS = "heartbeats"


class DefaultReplicationPolicy:
    """``<source cluster><separator><topic>``."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"

    separator = "."
    internal_separator = "."

    def configure(self, config: Mapping[str, Any]) -> None:
        """Called once with the connector's configuration as it was given."""
        if "replication.policy.separator" not in config:
            return
        self.separator = self.internal_separator = config["replication.policy.separator"]
        if str(config.get("replication.policy.internal.topic.separator.enabled", "true")).lower() != "true":
            log.warning("Internal topics are named with '.' instead of the separator '%s'", self.separator)
            self.internal_separator = "."

    def format_remote_topic(self, source: str, topic: str) -> str:
        """The name on the target cluster of a topic of this source cluster."""
        return f"{source}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """The cluster that a topic was mirrored from; None if it was not mirrored."""
        source, found, rest = topic.partition(self.separator) if self.separator else _first(topic)
        # As in Java a topic is a mirrored one if something is left of it after a separator.
        return source if found and _left(rest, self.separator) else None

    def upstream_topic(self, topic: str) -> str | None:
        """Return the topic's name on that cluster."""
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        """Return the topic's name on the cluster where it originated."""
        while (upstream := self.upstream_topic(topic)) is not None and upstream != topic:
            topic = upstream
        return topic

    def heartbeats_topic(self) -> str:
        return HEARTBEATS

    def offset_syncs_topic(self, cluster: str) -> str:
        return f"mm2-offset-syncs{self.internal_separator}{cluster}{self._internal}"

    def checkpoints_topic(self, cluster: str) -> str:
        return f"{cluster}{self.internal_separator}checkpoints{self._internal}"

    def is_heartbeats_topic(self, topic: str) -> bool:
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_checkpoints_topic(self, topic: str) -> bool:
        return topic.endswith(f"{self.internal_separator}checkpoints{self._internal}")

    def is_internal_topic(self, topic: str) -> bool:
        """Return whether it is an internal topic of Kafka or the mirror connectors."""
        own = topic.startswith("mm2") and topic.endswith(self._internal)
        return own or topic.startswith(("__", ".")) or self.is_checkpoints_topic(topic)

    @property
    def _internal(self) -> str:
        return f"{self.internal_separator}internal"


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Mirrored topics keep their names; only heartbeats carry the cluster's. Cycles are not detected."""

    java_name = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"

    source: str | None = None

    def configure(self, config: Mapping[str, Any]) -> None:
        super().configure(config)
        self.source = config.get("source.cluster.alias")

    def format_remote_topic(self, source: str, topic: str) -> str:
        return super().format_remote_topic(source, topic) if self._is_heartbeat(topic) else topic

    def topic_source(self, topic: str) -> str | None:
        return super().topic_source(topic) if self._is_heartbeat(topic) else self.source

    def upstream_topic(self, topic: str) -> str | None:
        return super().upstream_topic(topic) if self._is_heartbeat(topic) else topic

    def _is_heartbeat(self, topic: str) -> bool:
        return topic.endswith(self.heartbeats_topic())


def _first(topic: str) -> tuple[str, str, str]:
    """An empty separator splits between any two characters."""
    return topic[:1], topic[:1], topic[1:]


def _left(rest: str, separator: str) -> bool:
    return bool(rest.replace(separator, "") if separator else rest)

"""Mirroring of clusters: topics, consumer offsets and heartbeats from one Kafka cluster to another (KIP-382).

Java: the connectors of MirrorMaker 2, package ``org.apache.kafka.connect.mirror``, whose names, settings, topics,
records and offsets these have.

| connector | task | what it copies |
|---|---|---|
| ``source.connector`` | ``source.task`` | topics with settings and access rights; records; ``source.offset_syncs`` |
| ``checkpoint.connector`` | ``checkpoint.task`` | offsets of groups, by ``checkpoint.translation`` |
| ``heartbeat`` | in the same file | a record every second |

Classes that users may replace, such as the replication policy, are in ``classes``.
"""

from __future__ import annotations

from penstock.connectors.mirror.checkpoint.connector import MirrorCheckpointConnector
from penstock.connectors.mirror.heartbeat import MirrorHeartbeatConnector
from penstock.connectors.mirror.source.connector import MirrorSourceConnector

__all__ = ["MirrorCheckpointConnector", "MirrorHeartbeatConnector", "MirrorSourceConnector"]

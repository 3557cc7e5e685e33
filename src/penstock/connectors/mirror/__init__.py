"""Mirroring of clusters: topics, consumer offsets and heartbeats from one Kafka cluster to another (KIP-382).

Java: the connectors of MirrorMaker 2, package ``org.apache.kafka.connect.mirror``, whose names, settings, topics,
records and offsets these have.

| connector | task | what it copies |
|---|---|---|
| ``source`` | ``source_task`` | topics with settings and access rights; records; ``offset_syncs`` |
| ``checkpoint`` | ``checkpoint_task`` | offsets of groups, by ``translation`` |
| ``heartbeat`` | in the same file | signs of life |
"""

from __future__ import annotations

from penstock.connectors.mirror.checkpoint import MirrorCheckpointConnector
from penstock.connectors.mirror.heartbeat import MirrorHeartbeatConnector
from penstock.connectors.mirror.source import MirrorSourceConnector

__all__ = ["MirrorCheckpointConnector", "MirrorHeartbeatConnector", "MirrorSourceConnector"]

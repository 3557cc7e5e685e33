"""``MirrorHeartbeatConnector``: a record every second, which shows on the target that mirroring works.

Java: ``org.apache.kafka.connect.mirror.MirrorHeartbeatConnector``, ``MirrorHeartbeatTask``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from penstock import KAFKA_VERSION
from penstock.api.kafka import TopicSpec
from penstock.api.record import SourceRecord
from penstock.api.schema import BYTES
from penstock.api.source import SourceTask
from penstock.connectors.mirror.config import MirrorConfig, MirrorConnector
from penstock.connectors.mirror.records import Heartbeat
from penstock.connectors.mirror.scheduler import Scheduler
from penstock.connectors.mirror.settings import HEARTBEAT_SETTINGS
from penstock.connectors.mirror.source_offsets import NO_OFFSET, check


class MirrorHeartbeatTask(SourceTask):
    """Sends a heartbeat every ``emit.heartbeats.interval.seconds``, the first after one interval."""

    java_name = "org.apache.kafka.connect.mirror.MirrorHeartbeatTask"

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    def start(self, config: Mapping[str, str]) -> None:
        c = MirrorConfig(HEARTBEAT_SETTINGS, config)
        self._source, self._target, self._topic = c.source, c.target, c.policy.heartbeats_topic()
        self._interval = c.interval("emit.heartbeats") or 0.0
        self._due = time.monotonic() + self._interval

    def poll(self) -> list[SourceRecord]:
        now = time.monotonic()
        if now < self._due:
            return []
        self._due = max(self._due + self._interval, now)
        beat = Heartbeat(self._source, self._target, int(time.time() * 1000))
        return [
            SourceRecord(
                topic=self._topic,
                partition=0,
                key_schema=BYTES,
                key=beat.key(),
                value_schema=BYTES,
                value=beat.value(),
                timestamp=beat.timestamp,
                source_partition=beat.source_partition(),
                source_offset=NO_OFFSET,
            )
        ]

    def idle(self) -> float:
        return max(self._due - time.monotonic(), 0.0)


class MirrorHeartbeatConnector(MirrorConnector):
    """Sends records at an interval, which show on the target cluster that mirroring works.

    It has one task, or none if heartbeats are disabled.
    """

    settings = HEARTBEAT_SETTINGS
    java_name = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        names = ("sourceClusterAlias", "targetClusterAlias")
        return check(offsets, names, with_partition=False, only_zero=True)

    def task_class(self) -> type[MirrorHeartbeatTask]:
        return MirrorHeartbeatTask

    def start(self, config: Mapping[str, str]) -> None:
        self._config = MirrorConfig(HEARTBEAT_SETTINGS, config)
        self._admin = self._config.new_admin(self.context.kafka, "target", "heartbeats-target-admin")
        timeout = self._config.admin_timeout
        scheduler = Scheduler(f"MirrorHeartbeatConnector: {self._config.label}", timeout)
        scheduler.execute(self._create_topic, "creating internal topics")
        scheduler.close()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [] if self._config.interval("emit.heartbeats") is None else [self._config.given]

    def _create_topic(self) -> None:
        c = self._config
        factor = c["heartbeats.topic.replication.factor"]
        spec = TopicSpec(c.policy.heartbeats_topic(), 1, factor, {"cleanup.policy": "compact"})
        self._admin.create_topic(spec, c.admin_timeout)

"""``MirrorCheckpointConnector``: offsets of the source cluster's groups, translated for the target cluster.

The connector finds the groups and assigns them to its tasks (``checkpoint.task``). Java:
``org.apache.kafka.connect.mirror.MirrorCheckpointConnector``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.config import ConfigValue
from penstock.api.errors import RetriableError
from penstock.api.kafka import TopicSpec
from penstock.api.values import hash_order
from penstock.connectors.mirror.checkpoint.task import MirrorCheckpointTask
from penstock.connectors.mirror.config import MirrorConfig, MirrorConnector
from penstock.connectors.mirror.scheduler import Scheduler
from penstock.connectors.mirror.settings import CHECKPOINT_SETTINGS, add_error
from penstock.connectors.mirror.source_offsets import check

log = logging.getLogger(__name__)


class MirrorCheckpointConnector(MirrorConnector):
    """Translates the offsets of the source cluster's consumer groups for the target cluster."""

    settings = CHECKPOINT_SETTINGS
    java_name = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"

    _scheduler: Scheduler | None = None
    _groups: list[str] | None = None
    """None until the source cluster has answered for the first time."""

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        if config.get("enabled", "true") == "false":
            return values
        name = "emit.offset-syncs.enabled"
        if config.get(name) == "false":
            add_error(values, name, "MirrorCheckpointConnector can't run without offset syncs")
        name = "emit.checkpoints.enabled"
        if config.get(name) == "false":
            add_error(values, name, f"MirrorCheckpointConnector can't run with {name} set to false")
        return values

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        return check(offsets, ("group", "topic"), with_partition=True, only_zero=True)

    def task_class(self) -> type[MirrorCheckpointTask]:
        return MirrorCheckpointTask

    def start(self, config: Mapping[str, str]) -> None:
        self._config = c = MirrorConfig(CHECKPOINT_SETTINGS, config)
        if not c["enabled"]:
            return
        self._timeout = c.admin_timeout
        self._topic_filter, self._group_filter = c.topic_filter(), c.group_filter()
        self._source = c.new_admin(self.context.kafka, "source", "checkpoint-source-admin")
        self._target = c.new_admin(self.context.kafka, "target", "checkpoint-target-admin")
        self._scheduler = s = Scheduler(f"MirrorCheckpointConnector: {c.label}", c.admin_timeout)
        s.execute(self._create_topic, "creating internal topics")
        s.execute(self._load, "loading initial consumer groups")
        s.repeat(self._refresh, c.interval("refresh.groups"), "refreshing consumer groups", at_once=False)

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.close()
            self._scheduler = None
            self._source.close()
            del self._source, self._target  # their threads and connections end with them

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        c = self._config
        if not c["enabled"] or c.interval("emit.checkpoints") is None:
            return []
        if self._groups is None:
            raise RetriableError("Timeout while loading consumer groups.")
        return [
            c.given | {"task.assigned.groups": ",".join(part), "task.index": str(number)}
            for number, part in enumerate(group_parts(self._groups, max_tasks))
        ]

    # -- on the scheduler's thread

    def _create_topic(self) -> None:
        c = self._config
        spec = TopicSpec(
            c.checkpoints_topic, 1, c["checkpoints.topic.replication.factor"], {"cleanup.policy": "compact"}
        )
        self._target.create_topic(spec, self._timeout)

    def _load(self) -> None:
        self._groups = self._find()
        log.info("Started %s with %d consumer groups.", self._config.name, len(self._groups))

    def _refresh(self) -> None:
        before, found = set(self._groups or ()), self._find()
        if set(found) != before or self._groups is None:
            log.info(
                "Found %d consumer groups for %s->%s. %d are new. %d were removed. Previously had %d.",
                len(found),
                self._config.source,
                self._config.target,
                len(set(found) - before),
                len(before - set(found)),
                len(before),
            )
            self._groups = found
            self.context.request_task_reconfiguration()

    def _find(self) -> list[str]:
        """The groups that are wanted and have an offset in a topic that is mirrored, in the order of Java's set."""
        named = filter(self._group_filter.should_replicate_group, self._source.groups(self._timeout))
        return hash_order(group for group in named if self._consumes(group))

    def _consumes(self, group: str) -> bool:
        offsets = self._source.committed(group, self._timeout)
        return any(self._topic_filter.should_replicate_topic(topic) for topic, _ in offsets)


def group_parts(groups: Sequence[str], max_tasks: int) -> list[list[str]]:
    """Split items into contiguous groups, the first ones with one more. Java: ``ConnectorUtils.groupPartitions``."""
    count = min(max_tasks, len(groups))
    least, more = divmod(len(groups), count) if count else (0, 0)
    parts, at = [], 0
    for number in range(count):
        size = least + (number < more)
        parts.append(list(groups[at : at + size]))
        at += size
    return parts

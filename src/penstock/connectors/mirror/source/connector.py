"""``MirrorSourceConnector``: copies topics with partitions, settings and ACLs from one cluster to another.

The connector looks for topics and assigns their partitions to its tasks (``source.task``), which copy the records.
It also creates the mirrored topics, and keeps their settings and ACLs in sync with those of their sources. Java:
``org.apache.kafka.connect.mirror.MirrorSourceConnector``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.api.config import ConfigValue
from penstock.api.connector import ExactlyOnceSupport
from penstock.api.errors import ConnectError
from penstock.api.kafka import TopicSpec
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror import cluster
from penstock.connectors.mirror.config import MirrorConfig, MirrorConnector, consumer_settings
from penstock.connectors.mirror.scheduler import Scheduler
from penstock.connectors.mirror.settings import SOURCE_SETTINGS, add_error
from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.connectors.mirror.source.topics import Rules, round_robin, topic_partitions
from penstock.connectors.mirror.source_offsets import check

log = logging.getLogger(__name__)

_NOT_EXACTLY_ONCE = (
    "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer is configured with "
    "isolation.level set to 'read_committed'; otherwise, records from aborted and uncommitted transactions will be "
    "replicated from the source cluster to the target cluster."
)


class MirrorSourceConnector(MirrorConnector):
    """Copies topics with partitions, settings and ACLs from one cluster to another."""

    settings = SOURCE_SETTINGS
    java_name = "org.apache.kafka.connect.mirror.MirrorSourceConnector"

    _scheduler: Scheduler | None = None
    _known: Sequence[TopicPartition] = ()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = super().validate(config)
        if config.get("exactly.once.support") == "required" and not _reads_committed(config):
            add_error(values, "exactly.once.support", _NOT_EXACTLY_ONCE)
        configured = any(name.startswith(("offset-syncs-", "offset-syncs.topic.")) for name in config)
        if configured and config.get("emit.offset-syncs.enabled") == "false":
            name = "emit.offset-syncs.enabled"
            add_error(values, name, f"MirrorSourceConnector can't setup offset-syncs feature while {name} set to false")
        return values

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Without reading committed records only, those of transactions that were aborted would be copied too."""
        return ExactlyOnceSupport.SUPPORTED if _reads_committed(config) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        return check(offsets, ("cluster", "topic"), with_partition=True, only_zero=False)

    def task_class(self) -> type[MirrorSourceTask]:
        return MirrorSourceTask

    def tasks_for_preview(self, config: Mapping[str, str]) -> list[dict[str, str]]:
        """Return tasks that write no offset syncs, and for which no topics have been created."""
        self._config = c = MirrorConfig(SOURCE_SETTINGS, config)
        if not c["enabled"]:
            return []
        self._connect(c)
        self._known = topic_partitions(self._wanted())
        return [task | {"emit.offset-syncs.enabled": "false"} for task in self.task_configs(1)]

    def start(self, config: Mapping[str, str]) -> None:
        self._config = c = MirrorConfig(SOURCE_SETTINGS, config)
        self._known = []
        if not c["enabled"]:
            return
        self._connect(c)
        self._mirrored: dict[str, int] = {}
        self._no_authorizer = False
        self._scheduler = s = Scheduler(f"MirrorSourceConnector: {c.label}", c.admin_timeout)
        s.execute(self._create_offset_syncs_topic, "creating upstream offset-syncs topic")
        s.execute(self._load, "loading initial set of topic-partitions")
        s.execute(self._create_topics, "creating downstream topic-partitions")
        s.execute(self._look_at_target, "refreshing known target topics")
        s.repeat(self._copy_rights, c.interval("sync.topic.acls"), "syncing topic ACLs", at_once=True)
        s.repeat(self._copy_settings, c.interval("sync.topic.configs"), "syncing topic configs", at_once=True)
        s.repeat(self._refresh, c.interval("refresh.topics"), "refreshing topics", at_once=False)
        log.info("Started %s with %d topic-partitions.", c.name, len(self._known))

    def _connect(self, c: MirrorConfig) -> None:
        self._timeout = c.admin_timeout
        self._rules = Rules(
            c.source,
            c.target,
            c.policy,
            c.topic_filter(),
            c.config_property_filter(),
            c["heartbeats.replication.enabled"],
            c.checkpoints_topic,
        )
        self._source = c.new_admin(self.context.kafka, "source", "replication-source-admin")
        self._target = c.new_admin(self.context.kafka, "target", "replication-target-admin")

    def stop(self) -> None:
        if self._scheduler is not None:
            self._scheduler.close()
            self._scheduler = None
            del self._source, self._target  # their threads and connections end with them

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [
            self._config.given | {"task.assigned.partitions": ",".join(map(str, part)), "task.index": str(number)}
            for number, part in enumerate(round_robin(self._known, max_tasks))
        ]

    # -- on the scheduler's thread

    def _create_offset_syncs_topic(self) -> None:
        c = self._config
        if c["emit.offset-syncs.enabled"]:
            at = c.offset_syncs_cluster
            admin = c.new_admin(self.context.kafka, at, f"offset-syncs-{at}-admin")
            factor = c["offset-syncs.topic.replication.factor"]
            admin.create_topic(TopicSpec(c.offset_syncs_topic, 1, factor, {"cleanup.policy": "compact"}), self._timeout)

    def _load(self) -> None:
        self._known = topic_partitions(self._wanted())
        self._look_at_target()

    def _wanted(self) -> dict[str, int]:
        counts = self._source.partition_counts(self._timeout)
        wanted = self._usable(topic for topic in counts if self._rules.wants(topic))
        return {topic: count for topic, count in counts.items() if topic in wanted}

    def _usable(self, topics: Iterable[str]) -> set[str]:
        """Return the topics that are internal neither here nor on the target."""
        remotes = {topic: self._rules.remote(topic) for topic in self._source.usable(topics, writing=False)}
        writable = self._target.usable(remotes.values(), writing=True)
        return {topic for topic, remote in remotes.items() if remote in writable}

    def _look_at_target(self) -> None:
        counts = self._target.partition_counts(self._timeout)
        self._mirrored = {topic: count for topic, count in counts.items() if self._rules.is_mirrored(topic)}

    def _refresh(self) -> None:
        """Look for topics and partitions that are new, deleted, or missing on the target."""
        found = topic_partitions(self._wanted())
        self._look_at_target()
        now, before = set(found), set(self._known)
        missing = now - self._rules.upstream(self._mirrored)
        if now == before and not missing:
            return
        log.info(
            "Found %d new topic-partitions on %s. Found %d deleted topic-partitions on %s. "
            "Found %d topic-partitions missing on %s.",
            len(now - before),
            self._rules.source,
            len(before - now),
            self._rules.source,
            len(missing),
            self._rules.target,
        )
        self._known = found
        self._create_topics()
        self.context.request_task_reconfiguration()

    def _create_topics(self) -> None:
        """Create missing topics and partitions on the target."""
        wanted: dict[str, int] = {}
        for topic_partition in self._known:
            wanted[topic_partition.topic] = wanted.get(topic_partition.topic, 0) + 1
        new = [topic for topic in wanted if self._rules.remote(topic) not in self._mirrored]
        if new:
            self._create_new(new, wanted)
        remotes = {self._rules.remote(topic): count for topic, count in wanted.items() if topic not in new}
        grown = {topic: count for topic, count in remotes.items() if count > self._mirrored[topic]}
        if grown:
            cluster.grow_topics(self._target, grown, self._timeout)

    def _create_new(self, topics: list[str], counts: Mapping[str, int]) -> None:
        settings = self._source.topic_settings(topics, self._timeout)
        factor = self._config["replication.factor"]
        made = [
            TopicSpec(self._rules.remote(topic), counts[topic], factor, self._rules.settings_of_new(settings[topic]))
            for topic in topics
        ]
        cluster.create_topics(self._target, made, self._timeout)

    def _copy_settings(self) -> None:
        mirrored = {topic for topic, _ in self._known if self._rules.remote(topic) in self._mirrored}
        found = self._source.topic_settings(mirrored, self._timeout)
        changes = {self._rules.remote(topic): self._rules.changes(entries) for topic, entries in found.items()}
        impossible = cluster.alter_settings(self._target, changes, self._timeout)
        if impossible is not None:
            error = ConnectError(
                f"the target cluster '{self._rules.target}' is not compatible with IncrementalAlterConfigs API"
            )
            error.__cause__ = impossible
            self.context.raise_error(error)

    def _copy_rights(self) -> None:
        found = cluster.topic_acls(self._source, self._timeout)
        if found is None:
            if not self._no_authorizer:
                self._no_authorizer = True
                log.info(
                    "No ACL authorizer is configured on the source Kafka cluster, so no topic ACL syncing will take "
                    "place. Consider disabling topic ACL syncing by setting sync.topic.acls.enabled to 'false'."
                )
            return
        usable = self._usable({each.topic for each in found if self._rules.wants(each.topic)})
        cluster.grant(self._target, self._rules.acls(each for each in found if each.topic in usable), self._timeout)


def _reads_committed(config: Mapping[str, str]) -> bool:
    return consumer_settings(config, "source").get("isolation.level") == "read_committed"

"""The task that writes checkpoints for some groups, and commits their offsets on the target cluster if configured.

Java: ``MirrorCheckpointTask``, ``CheckpointStore``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from penstock import KAFKA_VERSION
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import KafkaError
from penstock.api.kafka import KafkaAdmin
from penstock.api.origin import IdentifiedDict, identity_of
from penstock.api.schema import BYTES
from penstock.api.sink import TopicPartition
from penstock.api.source import SourceTask
from penstock.connectors.mirror import cluster
from penstock.connectors.mirror.checkpoint.known import MISSING_SECONDS, Checkpoints, KnownCheckpoints, TopicLook
from penstock.connectors.mirror.checkpoint.topic_reader import TopicReader
from penstock.connectors.mirror.checkpoint.translation import OffsetTranslation
from penstock.connectors.mirror.cluster import Committed
from penstock.connectors.mirror.config import MirrorConfig
from penstock.connectors.mirror.records import Checkpoint, OffsetSync
from penstock.connectors.mirror.scheduler import Scheduler
from penstock.connectors.mirror.settings import CHECKPOINT_SETTINGS
from penstock.connectors.mirror.source_offsets import NO_OFFSET

log = logging.getLogger(__name__)

TOPIC_PATIENCE = 30.0
"""Seconds for the checkpoints topic to appear. Java: ``KafkaBasedLog.CREATE_TOPIC_TIMEOUT_NS``."""
_TOPIC = "topic"
"""The member of an offset's identity with the ID of the mirrored topic."""


def is_news(checkpoint: Checkpoint, last: Checkpoint | None) -> bool:
    """Whether to write it: not if that would rewind the group on the target, unless the group was rewound on the
    source.
    """
    return last is None or checkpoint.upstream < last.upstream or checkpoint.downstream > last.downstream


def to_commit(checkpoints: Checkpoints, on_target: Committed | None) -> dict[TopicPartition, tuple[int, str]]:
    """The offsets to commit for a group that has these on the target, or does not exist there (None)."""
    return {
        topic_partition: (each.downstream, each.metadata)
        for topic_partition, each in checkpoints.items()
        if on_target is None or topic_partition not in on_target or on_target[topic_partition][0] < each.downstream
    }


class MirrorCheckpointTask(SourceTask):
    """Writes checkpoints for the groups of ``task.assigned.groups``."""

    java_name = "org.apache.kafka.connect.mirror.MirrorCheckpointTask"

    _scheduler: Scheduler | None = None

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    def __init__(self) -> None:
        self._stopping = False
        self._readers: list[TopicReader] = []
        self._reading: threading.Thread | None = None
        self._clients: list[KafkaAdmin] = []

    def start(self, config: Mapping[str, str]) -> None:
        self._config = c = MirrorConfig(CHECKPOINT_SETTINGS, config)
        self._groups: list[str] = c["task.assigned.groups"] or []
        self._topic_filter = c.topic_filter()
        self._interval = c.interval("emit.checkpoints") or 0.0
        self._due = time.monotonic() + self._interval
        self._timeout = c.admin_timeout
        kafka = self.context.kafka
        c.check_topics(kafka, c.offset_syncs_cluster, {c.offset_syncs_topic}, writing=False)
        c.check_topics(kafka, "target", {c.checkpoints_topic}, writing=False)
        self._source = c.new_admin(kafka, "source", "checkpoint-source-admin")
        self._target = c.new_admin(kafka, "target", "checkpoint-target-admin", asks_groups=True)
        self._clients = [self._source, self._target]
        self._translation = OffsetTranslation()
        self._checkpoints = KnownCheckpoints(c.target)
        self._loaded = False
        self._identified = False
        """Whether the IDs are known that checkpoints of an earlier run were written with."""
        self._idle: dict[str, Committed] = {}
        self._unanswered: set[str] = set()
        self._active: set[str] = set()
        self._scheduler = Scheduler(f"MirrorCheckpointTask: {c.label}", c.admin_timeout)
        self._reading = threading.Thread(target=self._read, name=f"mirror-{c.label}-topics", daemon=True)
        self._reading.start()
        log.info("Checkpointing %d consumer groups %s->%s: %s.", len(self._groups), c.source, c.target, self._groups)

    def stop(self) -> None:
        self._stopping = True
        for reader in self._readers:
            reader.stop()
        if self._scheduler is not None:
            self._scheduler.close()
        if self._reading is not None:
            self._reading.join(5)
        for client in self._clients:
            client.close()

    # -- what is known, on the reading thread

    def _read(self) -> None:
        """First the checkpoints that were written before, then offset syncs, for as long as the task runs."""
        c = self._config
        self._translation.must_read_to_end = not self._read_checkpoints()
        self._loaded = True
        at = c.offset_syncs_cluster
        settings = c.consumer(at, f"offset-syncs-{at}-consumer")
        syncs = TopicReader(
            self.context.kafka,
            settings,
            c.offset_syncs_topic,
            lambda key, value: self._translation.add(OffsetSync.read(key, value)),
        )
        self._readers.append(syncs)
        if self._stopping:
            return
        try:
            syncs.read(self._syncs_read, forever=True)
        except KafkaError:
            log.exception("Offset syncs can't be read, so no offsets can be translated")

    def _read_checkpoints(self) -> bool:
        c = self._config
        settings = c.consumer("target", "checkpoints-target-consumer")
        found: dict[tuple[str, TopicPartition], Checkpoint] = {}

        def take(key: bytes | None, value: bytes | None) -> None:
            checkpoint = Checkpoint.read(key, value)
            if checkpoint.group in self._groups:
                found[checkpoint.group, checkpoint.topic_partition] = checkpoint

        reader = TopicReader(self.context.kafka, settings, c.checkpoints_topic, take, TOPIC_PATIENCE)
        self._readers.append(reader)
        try:
            if not self._stopping:
                reader.read(lambda: None, forever=False)
        except KafkaError as error:
            log.warning(
                "Checkpoints topic %s could not be read (%s) - this may degrade offset translation as only checkpoints "
                "for offsets which were mirrored after the task started will be emitted",
                c.checkpoints_topic,
                error,
            )
            return False
        self._checkpoints.note(found.values(), {})
        return True

    def _syncs_read(self) -> None:
        self._translation.at_end = True
        assert self._scheduler is not None
        interval = self._config.interval("sync.group.offsets")
        self._scheduler.repeat(
            self._look_for_idle, interval, "refreshing idle consumers group offsets at target cluster", at_once=True
        )
        self._scheduler.repeat(
            self._commit_groups, interval, "sync idle consumer group offset from source to target", at_once=False
        )

    # -- checkpoints

    def poll(self) -> Batch | None:
        now = time.monotonic()
        if now < self._due:
            return None
        self._due = now + self._interval
        if self._stopping or not self._loaded:
            return None
        if not self._identified:
            self._identify()
        positions = {group: self._positions(group) for group in self._groups}
        look = self._look({place.topic for each in positions.values() for place in each})
        if look.is_open:
            self._due = min(self._due, time.monotonic() + MISSING_SECONDS)
        ids = look.ids
        found = [checkpoint for group in self._groups for checkpoint in self._of_group(group, positions[group], ids)]
        reached = self._reached({(each.group, each.topic_partition): each.downstream for each in found})
        found = [each for each in found if (each.group, each.topic_partition) in reached]
        self._checkpoints.note(found, ids)
        return self._batch(found, ids) if found else None

    def idle(self) -> float:
        return max(self._due - time.monotonic(), 0.05)

    def _identify(self) -> None:
        """Take the IDs that were stored with the checkpoints of an earlier run."""
        known = [each for checkpoints in self._checkpoints.known.values() for each in checkpoints.values()]
        stored = self.context.offset_reader.offsets([each.source_partition() for each in known])
        for checkpoint, offset in zip(known, stored, strict=True):
            id = (identity_of(offset) or {}).get(_TOPIC)
            if isinstance(id, str):
                self._checkpoints.note([checkpoint], {checkpoint.topic_partition.topic: id})
        self._identified = True

    def _look(self, topics: Iterable[str]) -> TopicLook:
        """Look for the topics for which there may be checkpoints now.

        Those that were created again lose their offset syncs too, unless these went back since, to the new topic.
        """
        return self._checkpoints.look(self._target, topics, self._timeout, self._forget)

    def _forget(self, renewed: Mapping[str, list[Checkpoint]]) -> None:
        removed: dict[TopicPartition, list[Checkpoint]] = {}
        for each in (each for checkpoints in renewed.values() for each in checkpoints):
            removed.setdefault(each.topic_partition, []).append(each)

        def is_stale(oldest: OffsetSync, last: OffsetSync) -> bool:
            place = self._renamed(last.topic_partition)
            # What these syncs can't have led to was by those of the earlier topic, which they have replaced.
            return place.topic in renewed and not any(
                each.downstream > last.downstream + 1 or each.upstream < oldest.upstream
                for each in removed.get(place, ())
            )

        self._translation.forget(is_stale)

    def _positions(self, group: str) -> dict[TopicPartition, tuple[TopicPartition, int, str]]:
        """The mirrored partitions of a group, each with its source partition, and the offset and metadata in it."""
        if self._stopping:
            return {}
        try:
            offsets = self._source.committed(group, self._timeout)
        except KafkaError as error:
            log.error(
                "Error querying offsets for consumer group %s on cluster %s: %s",
                group,
                self._config.source,
                error,
            )
            return {}
        return {
            self._renamed(place): (place, upstream, metadata)
            for place, (upstream, metadata) in offsets.items()
            if self._topic_filter.should_replicate_topic(place.topic)
        }

    def _of_group(
        self,
        group: str,
        positions: Mapping[TopicPartition, tuple[TopicPartition, int, str]],
        ids: Mapping[str, str | None],
    ) -> list[Checkpoint]:
        known = self._checkpoints.known.get(group, {})
        news = []
        for place, (source, upstream, metadata) in positions.items():
            downstream = self._translation.downstream(source, upstream) if place.topic in ids else None
            if downstream is None or downstream < 0:
                continue
            checkpoint = Checkpoint(group, place, upstream, downstream, metadata)
            if is_news(checkpoint, known.get(place)):
                news.append(checkpoint)
        return news

    def _reached(self, offsets: Mapping[tuple[str, TopicPartition], int]) -> set[tuple[str, TopicPartition]]:
        """Return the groups and mirrored partitions whose offset is not beyond the partition's end.

        An offset beyond it is by a sync for another topic, as when another target cluster took the place of one whose
        syncs are on the source cluster.
        """
        if not offsets:
            return set()
        ends = self._checkpoints.ends(self._target, {place for _, place in offsets}, self._timeout)
        return {(group, place) for (group, place), offset in offsets.items() if offset <= ends.get(place, -1)}

    def _renamed(self, topic_partition: TopicPartition) -> TopicPartition:
        """The partition on the target: a topic that once came from there has its own name again."""
        c = self._config
        if c.policy.topic_source(topic_partition.topic) == c.target:
            return TopicPartition(c.policy.original_topic(topic_partition.topic), topic_partition.partition)
        return TopicPartition(c.policy.format_remote_topic(c.source, topic_partition.topic), topic_partition.partition)

    def _batch(self, checkpoints: list[Checkpoint], ids: Mapping[str, str | None]) -> Batch:
        n, now = len(checkpoints), int(time.time() * 1000)
        return Batch.of(
            self._config.checkpoints_topic,
            [each.value() for each in checkpoints],
            value_schema=BYTES,
            keys=[each.key() for each in checkpoints],
            key_schema=BYTES,
            partitions=[0] * n,
            timestamps=[now] * n,
            origin=SourceOrigin([_identified(each, ids) for each in checkpoints], [NO_OFFSET] * n),
        )

    # -- offsets of groups on the target, on the scheduler's thread

    def _look_for_idle(self) -> None:
        """Note what groups without members have committed there; one that does not exist has nothing.

        Of one that could not be asked for it is not known, so nothing is committed for it: it might be farther there.
        Nor is anything for one with members, which might have left when it is committed.
        """
        self._unanswered, self._active = set(self._groups), set()
        for group in self._groups:
            try:
                idle = self._target.is_idle(group, self._timeout)
                if idle:
                    self._idle[group] = self._target.committed(group, self._timeout)
                elif idle is False:
                    self._active.add(group)
                self._unanswered.discard(group)
            except KafkaError as error:
                log.error(
                    "Error querying for consumer group %s on cluster %s: %s",
                    group,
                    self._config.target,
                    error,
                )

    def _commit_groups(self) -> None:
        if not self._identified:
            return
        ids = self._look({place.topic for each in list(self._checkpoints.known.values()) for place in each}).ids
        for group, checkpoints in list(self._checkpoints.known.items()):
            if group in self._unanswered:
                continue
            usable = {place: each for place, each in checkpoints.items() if place.topic in ids}
            stale, on_target = self._checkpoints.stale, self._idle.get(group)
            if stale and on_target is not None:
                on_target = {place: each for place, each in on_target.items() if stale.get((group, place)) != each[0]}
            offsets = to_commit(usable, on_target)
            reached = self._reached({(group, place): offset for place, (offset, _) in offsets.items()})
            offsets = {place: each for place, each in offsets.items() if (group, place) in reached}
            if offsets and group in self._active:
                cluster.warn_of_members(group)
            elif offsets and cluster.commit(self._target, group, offsets):
                for place in offsets:
                    stale.pop((group, place), None)
        self._idle.clear()


def _identified(checkpoint: Checkpoint, ids: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the source partition of a checkpoint, with the ID of its topic if that is known."""
    partition, id = checkpoint.source_partition(), ids.get(checkpoint.topic_partition.topic)
    return IdentifiedDict(partition, {_TOPIC: id}) if id else partition

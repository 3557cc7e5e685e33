"""The task that copies the records of some partitions to the mirrored topics on the target cluster.

Batches are columns of bytes, straight from the consumer. A record's partition stays what it was; the source offset of a
partition is that of the last record mirrored. Java: ``MirrorSourceTask``.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock import KAFKA_VERSION
from penstock.api.batch import Batch, SourceOrigin
from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import KafkaError
from penstock.api.kafka import (
    COMMITTED,
    EARLIEST,
    LATEST,
    KafkaAdmin,
    KafkaConsumer,
    KafkaRecords,
    KafkaRequestError,
)
from penstock.api.origin import ON_ORIGIN_CHANGED, OriginPolicy, origin_changed
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.schema import BYTES, OPTIONAL_BYTES
from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.api.source import SourceProgress, SourceTask
from penstock.connectors.mirror.config import MirrorConfig
from penstock.connectors.mirror.settings import SOURCE_SETTINGS
from penstock.connectors.mirror.source.identities import PROCEED, RESTART, Place, TopicIdentities, change_of
from penstock.connectors.mirror.source.offset_syncs import OffsetSyncs
from penstock.connectors.mirror.source_offsets import OFFSET, source_partition

log = logging.getLogger(__name__)

_MAX_POLL_RECORDS = 10_000
"""Records of one poll, unless ``max.poll.records`` of the consumer says otherwise."""
_PATIENCE = 0.1
"""Seconds of one ``fetch`` call, so that ``stop`` need not wait long."""
LOOK_SECONDS = 30.0
"""Longest interval of looks at the IDs of the source topics."""
MIN_LOOK_SECONDS = 5.0
LOOK_SECONDS_PER_TOPIC = 0.1
"""Part of the interval for each topic, within these limits."""
AGAIN_SECONDS = 1.0
"""Interval of attempts to learn them at the start."""
_RESETS = {"earliest": EARLIEST, "latest": LATEST}


class MirrorSourceTask(SourceTask, RuntimeHooks):
    """Mirrors the partitions of ``task.assigned.partitions``."""

    java_name = "org.apache.kafka.connect.mirror.MirrorSourceTask"
    samples_acknowledgements = True

    _consumer: KafkaConsumer | None = None
    _syncs: OffsetSyncs | None = None

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopping = False
        self._admin: KafkaAdmin | None = None
        self._next_look = -math.inf
        self._unanswered = False
        """Whether no records are read yet, since the IDs of their topics are not known."""
        self._uncarried: list[tuple[dict[str, Any], dict[str, Any] | None]] = []
        """Committed offsets to be stored with the ID of their topic, or to be removed (None)."""
        self._next_offsets: dict[Place, int] = {}
        """The offset after the last record of each partition that was fetched."""
        self._resumed: dict[Place, int] = {}
        """The offset after the last record that was mirrored before the start."""
        self._held: KafkaRecords | None = None
        """Records before the position of their partition, until the ID of their topic has been compared."""

    def start(self, config: Mapping[str, str]) -> None:
        c = MirrorConfig(SOURCE_SETTINGS, config)
        self._wait: float = c["consumer.poll.timeout.ms"] / 1000
        mirrored = c.task_partitions()
        self._topics = {
            topic_partition.topic: c.policy.format_remote_topic(c.source, topic_partition.topic)
            for topic_partition in mirrored
        }
        partitions: dict[Place, dict[str, Any]] = {each: source_partition(c.source, each) for each in mirrored}
        self._identities = TopicIdentities(partitions, self.context.offset_reader)
        self._partitions = self._identities.partitions
        kafka = self.context.kafka
        if c["emit.offset-syncs.enabled"]:
            at = c.offset_syncs_cluster
            c.check_topics(kafka, at, {c.offset_syncs_topic}, writing=True)
            settings = c.producer(at, f"offset-syncs-{at}-producer")
            self._syncs = OffsetSyncs(kafka.producer(settings), c.offset_syncs_topic, c["offset.lag.max"])
        settings = c.consumer("source", "replication-consumer")
        self._most = parse_type("max.poll.records", settings.get("max.poll.records", _MAX_POLL_RECORDS), ConfigType.INT)
        first = _RESETS.get(settings["auto.offset.reset"], COMMITTED)
        if "group.id" in settings:  # what this group has committed comes before the reset
            first = COMMITTED
        self._config = c
        self._policy = OriginPolicy(c[ON_ORIGIN_CHANGED])
        self._consumer = kafka.consumer(settings)
        self._assign(self._consumer, first)
        shown = ", ".join(map(str, mirrored))
        log.info("Replicating %d topic-partitions %s->%s: %s.", len(mirrored), c.source, c.target, shown)

    def _assign(self, consumer: KafkaConsumer, first: int) -> None:
        """Resume after the last record that was mirrored."""
        partitions = list(self._partitions.values())
        offsets = self.context.offset_reader.offsets(partitions)
        assigned: dict[TopicPartition, int] = {}
        for place, offset in zip(self._partitions, offsets, strict=True):
            last = -1 if offset is None or offset.get(OFFSET) is None else offset[OFFSET]
            if last < 0:
                assigned[TopicPartition(*place)] = first
            else:
                self._resumed[place] = last + 1
                epoch = None if self._policy is OriginPolicy.CONTINUE else self._identities.epoch(place)
                assigned[TopicPartition(*place)] = OffsetAndMetadata(last + 1, leader_epoch=epoch)
        self._assigned = assigned
        consumer.assign(assigned)
        log.info("Starting with %d previously uncommitted partitions.", list(assigned.values()).count(first))

    def poll(self) -> Batch | None:
        with self._lock:
            if self._stopping or self._consumer is None or not self._knows_topics(self._consumer):
                return None
            records = self._held or self._fetch(self._consumer)
            if records and records is not self._held and self._goes_back(records):
                # Of a topic that was created again, perhaps, or whose brokers have lost records.
                self._held, self._next_look = records, time.monotonic()
                if not self._knows_topics(self._consumer):
                    return None
                records = self._held
            self._held = None
            if records:
                self._identities.read(records.leader_epochs)
        return self._batch(records) if records else None

    def _goes_back(self, records: KafkaRecords) -> bool:
        """Return whether the first record of a partition is before the position, and keep the new positions."""
        if len(self._partitions) == 1:
            (place,) = self._partitions
            firsts = {place: records.offsets[0]}
            lasts = [(place, records.offsets[-1])]
        else:
            firsts = _first_offsets(records)
            lasts = list(zip(zip(records.topics, records.partitions, strict=True), records.offsets, strict=True))
        back = False
        for place, offset in firsts.items():
            position = self._next_offsets.get(place, self._resumed.get(place, 0))
            if offset < position:
                back = True
                log.warning(
                    "%s-%d of %s is read from offset %d on, and its position was %d: the topic was created again, or "
                    "its brokers have lost records, as after an unclean leader election",
                    *(*place, self._config.source, offset, position),
                )
        self._next_offsets.update((place, offset + 1) for place, offset in lasts)
        return back

    def idle(self) -> float:
        """Return 0: ``poll`` itself waits for records, but not for an answer about topics that fails at once."""
        return AGAIN_SECONDS if self._unanswered or self._held is not None else 0.0

    def uncarried_offsets(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return the offsets that are not stored with the ID of their topic yet, and None for those in topics that are
        gone.
        """
        with self._lock:
            uncarried, self._uncarried = self._uncarried, []
            return uncarried

    def _knows_topics(self, consumer: KafkaConsumer) -> bool:
        """Compare the topics' IDs with those of the committed offsets, at the start and at times; return whether
        records may be read now. Raises OriginChangedError.
        """
        now = time.monotonic()
        if now < self._next_look:
            return True
        first = self._next_look == -math.inf
        try:
            if self._admin is None:
                self._admin = self._config.new_admin(self.context.kafka, "source", "replication-topic-ids-admin")
            found = {}
            for topic, id in self._admin.topic_ids(self._topics, max(self._wait, 1.0)).items():
                if isinstance(id, KafkaRequestError):
                    raise id
                if id is not None:
                    found[topic] = id
        except KafkaError as error:
            refused = isinstance(error, KafkaRequestError) and not error.unreached
            self._unanswered = first and not refused
            if refused:
                log.warning("The IDs of the topics of %s can't be compared: %s", self._config.source, error)
                self._next_look = math.inf
            elif first:
                log.warning("Waiting for the IDs of the topics of %s: %s", self._config.source, error)
            elif self._held is not None:
                self._next_look = now + AGAIN_SECONDS
            else:
                self._next_look = now + self._interval
            return refused or (not first and self._held is None)
        self._next_look, self._unanswered = now + self._interval, False
        changed = self._identities.compare(found)
        if changed:
            self._recreated(consumer, changed)
        new = self._identities.take(found)
        self._uncarried += [(self._partitions[place], offset) for place in new if (offset := self._kept(place))]
        return not self._uncarried  # they are stored before those of records

    @property
    def _interval(self) -> float:
        """Seconds between two looks."""
        return min(LOOK_SECONDS, max(MIN_LOOK_SECONDS, LOOK_SECONDS_PER_TOPIC * len(self._topics)))

    def _recreated(self, consumer: KafkaConsumer, changed: Mapping[Place, tuple[str, str]]) -> None:
        """Do what ``on.origin.changed`` says of partitions whose topics were deleted and created again."""
        positions = {p: position for p, position in consumer.positions().items() if position is not None}
        used = {place[0]: ids for place, ids in changed.items() if self._has_position(place, positions)}
        for topic, ids in used.items():
            change = change_of(self._config.source, topic, ids)
            if self._policy is OriginPolicy.FAIL:
                raise origin_changed(change, RESTART, PROCEED)
            log.warning("%s. %s=%s", change, ON_ORIGIN_CHANGED, self._policy)
        if self._policy is OriginPolicy.RESTART and used:
            again = {place for place in changed if place[0] in used}
            held = {} if self._held is None else _first_offsets(self._held)  # they are fetched again
            positions |= {TopicPartition(*place): first for place, first in held.items()}
            self._assigned = {p: EARLIEST if p in again else n for p, n in (self._assigned | positions).items()}
            consumer.assign(self._assigned)
            self._next_offsets = {
                place: n for place, n in self._next_offsets.items() if place not in again | held.keys()
            }
            self._resumed = {place: n for place, n in self._resumed.items() if place not in again}
            self._held = None
            self._uncarried += [(partition, None) for place, partition in self._partitions.items() if place in again]

    def _kept(self, place: Place) -> dict[str, Any] | None:
        """Return the committed offset of a partition of which no record has been read, unless it is to be removed."""
        partition = self._partitions[place]
        if place in self._next_offsets or (partition, None) in self._uncarried:
            return None
        return self.context.offset_reader.offset(partition)

    def _has_position(self, place: Place, positions: Mapping[TopicPartition, int]) -> bool:
        """Return whether an offset of the partition has been committed, or records of it were read."""
        return place in positions or self.context.offset_reader.offset(self._partitions[place]) is not None

    def progress(self) -> list[SourceProgress]:
        with self._lock:
            if self._consumer is None:
                return []
            positions, ends = self._consumer.positions(), self._consumer.ends()
        return [
            SourceProgress(partition, positions[TopicPartition(*place)], ends[TopicPartition(*place)])
            for place, partition in self._partitions.items()
        ]

    def _fetch(self, consumer: KafkaConsumer) -> KafkaRecords | None:
        end = time.monotonic() + self._wait
        try:
            while (found := consumer.fetch(self._most, max(min(end - time.monotonic(), _PATIENCE), 0))) is None:
                if self._syncs is not None:
                    self._syncs.serve()
                if self._stopping or time.monotonic() >= end:
                    return None
        except KafkaError:
            log.warning("Failure during poll.", exc_info=True)
            return None
        if found.errors:  # a topic may have been deleted
            self._next_look = min(self._next_look, time.monotonic())
        for topic, error in found.errors:
            log.warning("Failure during poll of topic %s: %s", topic, error)
        return found

    def _batch(self, records: KafkaRecords) -> Batch:
        topic_partitions = zip(records.topics, records.partitions, strict=True)
        offsets = [{OFFSET: offset} for offset in records.offsets]
        return Batch.of(
            [self._topics[topic] for topic in records.topics],
            records.values,
            value_schema=BYTES,
            keys=records.keys,
            key_schema=OPTIONAL_BYTES,
            partitions=[*records.partitions],
            timestamps=[*records.timestamps],
            headers=records.headers,
            origin=SourceOrigin([self._partitions[each] for each in topic_partitions], offsets),
        )

    def commit_records(
        self, batch: Batch, topics: Sequence[str], partitions: Sequence[int], offsets: Sequence[int]
    ) -> None:
        if self._stopping or self._syncs is None:
            return
        assert isinstance(batch.origin, SourceOrigin)
        places, ups = batch.origin.partitions, batch.origin.offsets
        if places and places.count(places[0]) == len(places) and min(offsets) >= 0:
            self._syncs.mirrored(_topic_partition(places[0]), [up[OFFSET] for up in ups], offsets)
            return
        mirrored: dict[int, tuple[dict[str, Any], list[int], list[int]]] = {}
        for partition, upstream, downstream in zip(places, ups, offsets, strict=True):
            if downstream >= 0:
                found = mirrored.get(id(partition)) or mirrored.setdefault(id(partition), (partition, [], []))
                found[1].append(upstream[OFFSET])
                found[2].append(downstream)
        for partition, upstreams, downstreams in mirrored.values():
            self._syncs.mirrored(_topic_partition(partition), upstreams, downstreams)

    def commit(self) -> None:
        if self._syncs is not None:
            self._syncs.commit()
            if self._stopping:  # the last commit comes after ``stop``
                self._syncs.flush()

    def stop(self) -> None:
        self._stopping = True
        with self._lock:
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None
            if self._syncs is not None:
                self._syncs.flush()


def _topic_partition(partition: dict[str, Any]) -> TopicPartition:
    return TopicPartition(partition["topic"], partition["partition"])


def _first_offsets(records: KafkaRecords) -> dict[Place, int]:
    """Return the offset of the first record of each partition."""
    places = list(zip(records.topics, records.partitions, strict=True))
    return dict(zip(reversed(places), reversed(records.offsets), strict=True))

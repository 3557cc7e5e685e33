"""The member of a consumer group that a sink task is.

The worker removes it from the group if the task's process is killed (``kafka.group.removal``), and also the members of
earlier runs of the task if the group waits for them. Plugins that look behind the API (Iceberg's sink does) commit the
group's offsets in a transaction of their own, for which they need the generation and the id of the member that reads
the records.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.errors import KafkaError
from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.kafka.client_settings import connector_consumer
from penstock.pipeline.sink.partitions import SECONDS, names, of_client
from penstock.pipeline.task import TaskSpec

_SERIALIZED = b"CGMDv2:"
LONG_REBALANCE_SECONDS = 5.0
"""A rebalance that takes longer may wait for a member that no longer exists. A broker lets each group wait 3 s for its
first member.
"""


def consumer_settings(spec: TaskSpec) -> dict[str, str]:
    """Return the settings of the task's consumer, as Java's."""
    connector = {**spec.connector_config, "name": spec.connector}
    return connector_consumer(spec.worker_config, connector, client_id(spec))


def client_id(spec: TaskSpec) -> str:
    """Return the ``client.id`` of the task's consumer, unless it is overridden.

    A sink of the same name in another Connect cluster has it, too.
    """
    return f"connector-consumer-{spec.connector}-{spec.task}"


class MemberReport:
    """Reports the consumer's id in its group, and whether it waits long for a rebalance.

    ``update`` is called by the loop, often; ``joined`` and ``left`` when a rebalance is over and when one begins.
    """

    def __init__(self, client: Consumer, native: Mapping[str, Any], report: Callable[[str, bool], None]) -> None:
        """``native``: librdkafka's settings."""
        self._client, self._report = client, report
        self._reported = ""
        self._waits_since: float | None = None
        """None while it has its assignment, and as long as it has no id."""
        # The next run of a static member takes its place in the group, and waits for no other to leave; a member of
        # KIP-848's protocol is waited for by nobody, and can't be removed.
        self._removable = "group.instance.id" not in native and native.get("group.protocol") != "consumer"

    def update(self, now: float) -> None:
        """``now``: of ``time.monotonic``."""
        if not self._removable:
            return
        if (id := self._client.memberid() or "") != self._reported:
            self._reported, self._waits_since = id, now
            self._report(id, False)
        elif id and self._waits_since is not None and now - self._waits_since >= LONG_REBALANCE_SECONDS:
            self._waits_since = now
            self._report(id, True)

    def joined(self, now: float) -> None:
        self.update(now)
        self._waits_since = None

    def left(self, now: float) -> None:
        self._waits_since = now


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """Java: ``ConsumerGroupMetadata``. ``generation`` is -1 and ``member`` empty outside of a group."""

    group: str
    generation: int
    member: str
    instance: str | None

    @classmethod
    def parse(cls, serialized: bytes) -> GroupMetadata:
        """Parse what librdkafka's ``rd_kafka_consumer_group_metadata_write`` writes. Raises KafkaError otherwise."""
        start = len(_SERIALIZED) + 4
        parts = serialized[start:].split(b"\0", 2)
        if not serialized.startswith(_SERIALIZED) or len(parts) != 3 or not parts[2]:
            raise KafkaError("librdkafka's metadata of the consumer group is in an unknown format")
        (generation,) = struct.unpack("=i", serialized[len(_SERIALIZED) : start])
        group, member = parts[0].decode(), parts[1].decode()
        is_null, instance = parts[2][0], parts[2][1:].rstrip(b"\0").decode()
        return cls(group, generation, member, None if is_null else instance)


@dataclass(frozen=True, slots=True)
class SinkGroupMember:
    """The member, for plugins that look behind the API. Any thread may call it."""

    client: Consumer
    positions: Callable[[], Mapping[TopicPartition, int]]
    """The offset of the next record to be read of each partition."""

    def metadata(self) -> GroupMetadata:
        return GroupMetadata.parse(bytes(self.client.consumer_group_metadata()))

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the group's offset of each partition, with its metadata; None if there is none.

        Raises KafkaException if the brokers do not answer.
        """
        found = self.client.committed([ClientPartition(*each) for each in partitions], timeout=SECONDS)
        offsets = [of_client(each) if each.offset >= 0 else None for each in found]
        return dict(zip(names(found), offsets, strict=True))

    def ends(self, partitions: Iterable[TopicPartition], last: bool) -> dict[TopicPartition, int]:
        """Return the first offset of each partition, or the one after its last record. Raises KafkaException."""
        where = OFFSET_END if last else OFFSET_BEGINNING
        found = self.client.offsets_for_times([ClientPartition(*each, where) for each in partitions], timeout=SECONDS)
        for each in found:
            if each.error is not None:
                raise KafkaException(each.error)
        return dict(zip(names(found), (each.offset for each in found), strict=True))

    def described(self, topic: str) -> list[dict[str, Any]]:
        """Describe each partition of a topic; none if there is no such topic. Raises KafkaException."""
        found = self.client.list_topics(topic, timeout=SECONDS)
        nodes = {number: [number, broker.host, broker.port] for number, broker in found.brokers.items()}

        def node(number: int) -> list[Any]:
            return nodes.get(number, [number, "", -1])

        return [
            {
                "partition": each.id,
                "leader": nodes.get(each.leader),
                "replicas": list(map(node, each.replicas)),
                "isrs": list(map(node, each.isrs)),
            }
            for each in found.topics[topic].partitions.values()
        ]

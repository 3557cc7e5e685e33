"""A client for integration tests: create topics, produce records, read all records."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupState,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    ConsumerGroupDescription,
    NewTopic,
    TopicDescription,
)

from penstock.api.sink import TopicPartition as PartitionOfTopic
from penstock.kafka.admin import may_pass
from penstock.kafka.offsets.groups import GroupOffsets
from support.waiting import pause, until

READ_SECONDS = 900

PATIENCE_SECONDS = 60
"""Seconds that a producer has to send its records before another takes over."""

T = TypeVar("T")


def answered(ask: Callable[[], T], *final: int, seconds: float = READ_SECONDS) -> T:
    """Send a request again while its error may pass, and return the answer. Such errors are a coordinator that loads or
    moves, a leader or a topic that the broker does not know yet, and a timeout. librdkafka asks only once for admin
    clients and consumers without a subscription. Errors with the codes ``final`` are raised.
    """
    began = time.monotonic()
    while True:
        try:
            return ask()
        except KafkaException as error:
            waited = time.monotonic() - began
            if error.args[0].code() in final or not may_pass(error.args[0]) or waited >= seconds:
                raise
        time.sleep(pause(waited))


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a topic; text is produced as UTF-8."""

    value: bytes | str | None = None
    key: bytes | str | None = None
    partition: int = -1
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = 0
    offset: int = -1


class Kafka:
    """A client of the broker at ``bootstrap``. Topic names are random, so that tests don't interfere."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def create_topic(
        self, name: str | None = None, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic, and return its name when it can be used; the name is random if none is given."""
        name = name or f"t-{uuid.uuid4().hex[:12]}"
        self.create(NewTopic(name, partitions, 1, config=dict(config or {})))
        until(lambda: self._usable(name), f"{name} can be used", READ_SECONDS)
        return name

    def create(self, topic: NewTopic) -> None:
        """Create a topic; return when the controller has created it. Raises KafkaException if it exists."""
        unanswered = False

        def ask() -> None:
            nonlocal unanswered
            try:
                self.admin.create_topics([topic], request_timeout=READ_SECONDS)[topic.topic].result()
            except KafkaException as error:
                if unanswered and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    return  # by the request before this one
                unanswered = True
                raise

        answered(ask)

    def delete_topic(self, name: str) -> None:
        """Delete a topic; return when the broker has deleted it. A consumer may have created it again by then."""
        before = self._described(name)
        self.admin.delete_topics([name], request_timeout=READ_SECONDS)[name].result()
        gone = str(before and before.topic_id)
        until(lambda: str((now := self._described(name)) and now.topic_id) != gone, f"{name} is gone", READ_SECONDS)

    def renew_topic(self, name: str) -> None:
        """Delete the topic and create it again, empty and with one partition."""
        self.delete_topic(name)
        until(lambda: self._created(name), f"{name} is there again", READ_SECONDS)

    def _created(self, name: str) -> bool:
        """Try to create the topic; return False while the broker is still deleting an earlier one."""
        try:
            self.create_topic(name)
        except KafkaException:
            return name in self.topics()
        return True

    def _usable(self, name: str) -> bool:
        """Return whether the broker knows the topic: it learns of a new one a little later than its creator."""
        found = self._described(name)
        return found is not None and all(partition.leader for partition in found.partitions)

    def _described(self, name: str) -> TopicDescription | None:
        def ask() -> TopicDescription:
            return self.admin.describe_topics(TopicCollection([name]), request_timeout=READ_SECONDS)[name].result()

        try:
            return answered(ask, KafkaError.UNKNOWN_TOPIC_OR_PART)
        except KafkaException as e:
            if e.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise

    def topic_id(self, name: str) -> str:
        described = self._described(name)
        assert described is not None
        return str(described.topic_id)

    def topics(self) -> set[str]:
        return set(answered(lambda: self.admin.list_topics(timeout=READ_SECONDS)).topics)

    def produce(self, topic: str, records: Iterable[Record | bytes | str | None]) -> None:
        """Write ``records`` or bare values, and return when the broker has them all.

        A producer can lose its brokers permanently when an answer names none of them because they are all fenced
        (librdkafka's issue 5301): another one sends its remaining records after a while.
        """
        unsent = [record if isinstance(record, Record) else Record(record) for record in records]
        began = time.monotonic()
        while unsent:
            waited = time.monotonic() - began
            assert waited < READ_SECONDS, f"{len(unsent)} records not sent in {waited:.0f} s: {self._described(topic)}"
            unsent = self._send(topic, unsent)

    def _send(self, topic: str, records: list[Record]) -> list[Record]:
        """Write ``records`` by one producer; return those that it has not tried to send in ``PATIENCE_SECONDS``."""
        settings = {
            "bootstrap.servers": self.bootstrap,
            "partitioner": "murmur2_random",
            "linger.ms": 1,
            "message.timeout.ms": READ_SECONDS * 1000,
            # Keeps the order when the broker refuses the first of them because it does not lead a new topic yet.
            "max.in.flight.requests.per.connection": 1,
        }
        producer = Producer(settings)
        failed: list[KafkaError] = []
        unsent: list[int] = []

        def delivered(number: int, error: KafkaError | None) -> None:
            if error is not None and error.code() == KafkaError._PURGE_QUEUE:
                unsent.append(number)
            elif error is not None:
                failed.append(error)

        for number, record in enumerate(records):
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=record.partition,
                headers=list(record.headers),
                timestamp=record.timestamp,
                on_delivery=lambda error, _, number=number: delivered(number, error),  # type: ignore[misc]
            )
        if producer.flush(PATIENCE_SECONDS):
            producer.purge(in_queue=True, in_flight=False)
        left = producer.flush(READ_SECONDS)
        assert (left, failed) == (0, []), f"{left} records left of {len(records)}: {self._described(topic)}"
        return [records[number] for number in sorted(unsent)]

    def read_all(self, topic: str, isolation: str = "read_committed") -> list[Record]:
        """Return every record of ``topic`` that a consumer with this isolation level sees now, partition by
        partition.
        """
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": f"read-all-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "fetch.wait.max.ms": 20,
        }
        consumer = Consumer(settings)
        try:
            # The controller knows a topic that a task has just created before the broker does.
            partitions = until(
                lambda: answered(lambda: consumer.list_topics(topic, timeout=READ_SECONDS)).topics[topic].partitions,
                f"{topic} is known",
                READ_SECONDS,
            )
            unread = set(partitions)
            found: dict[int, list[Record]] = {partition: [] for partition in sorted(partitions)}
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found])
            while unread:
                message = consumer.poll(READ_SECONDS)
                assert message is not None, (
                    f"{topic}: partitions {sorted(unread)} returned nothing for {READ_SECONDS} s"
                )
                if message.error() is None:
                    found[message.partition()].append(_record(message))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                elif not may_pass(message.error()):
                    raise AssertionError(f"{topic}: {message.error()}")
            return [record for partition in found.values() for record in partition]
        finally:
            consumer.close()

    def configs(self, topic: str) -> dict[str, ConfigEntry]:
        """Return the settings of a topic, including those from the broker; the topic may be new."""
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
        return answered(lambda: self.admin.describe_configs([asked], request_timeout=READ_SECONDS)[asked].result())

    def delete_records(self, topic: str, before: int) -> None:
        """Delete the records of partition 0 before this offset."""
        wanted = TopicPartition(topic, 0, before)
        answered(lambda: self.admin.delete_records([wanted], request_timeout=READ_SECONDS)[wanted].result())

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the committed offsets of a group by topic and partition; empty if there is no such group."""
        with closing(self._offsets()) as offsets:
            found = offsets.committed(group, READ_SECONDS)
        return {(each.topic, each.partition): offset for each, (offset, _) in found.items()}

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        """Set a group's offset of a partition; the group must have no members."""
        with closing(self._offsets()) as offsets:
            offsets.commit(group, {PartitionOfTopic(topic, partition): (offset, "")}, READ_SECONDS)

    def delete_group(self, group: str) -> None:
        """Delete a group with its offsets; it must exist and have no members."""
        answered(lambda: self.admin.delete_consumer_groups([group], request_timeout=READ_SECONDS)[group].result())

    def _offsets(self) -> GroupOffsets:
        """Return Penstock's own client: librdkafka's admin client may crash the process when a coordinator loads or
        moves.
        """
        return GroupOffsets({"bootstrap.servers": self.bootstrap}, "tests")

    def _group(self, group: str) -> ConsumerGroupDescription:
        return answered(
            lambda: self.admin.describe_consumer_groups([group], request_timeout=READ_SECONDS)[group].result()
        )

    def members(self, group: str) -> set[str]:
        """Return the IDs of a group's present consumers, including those that are about to leave."""
        return {each.member_id for each in self._group(group).members}

    def sharing(self, group: str) -> int:
        """Return the number of consumers with partitions in a stable group; 0 while it rebalances."""
        found = self._group(group)
        stable = found.state is ConsumerGroupState.STABLE
        return sum(bool(each.assignment.topic_partitions) for each in found.members) if stable else 0

    def values(self, topic: str, isolation: str = "read_committed") -> list[bytes | None]:
        return [record.value for record in self.read_all(topic, isolation)]


def _record(message: Message) -> Record:
    return Record(
        message.value(),
        message.key(),
        message.partition(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
        message.offset(),
    )

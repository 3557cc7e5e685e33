"""A client for integration tests: create topics, produce records, read all records."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, TopicDescription

from support.waiting import until

READ_SECONDS = 900


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
        """Returns when the topic can be used; its name, a random one if none is given."""
        name = name or f"t-{uuid.uuid4().hex[:12]}"
        self.admin.create_topics([NewTopic(name, partitions, 1, config=dict(config or {}))])[name].result()
        until(lambda: self._usable(name), f"{name} can be used", READ_SECONDS)
        return name

    def delete_topic(self, name: str) -> None:
        """Returns when the broker has deleted it. A consumer may have created another of this name by then."""
        before = self._described(name)
        self.admin.delete_topics([name])[name].result()
        gone = str(before and before.topic_id)
        until(lambda: str((now := self._described(name)) and now.topic_id) != gone, f"{name} is gone", READ_SECONDS)

    def renew_topic(self, name: str) -> None:
        """Delete the topic and create it again, empty and with one partition."""
        self.delete_topic(name)
        until(lambda: self._created(name), f"{name} is there again", READ_SECONDS)

    def _created(self, name: str) -> bool:
        """A broker may not be done with the deletion yet."""
        try:
            self.create_topic(name)
        except KafkaException:
            return name in self.topics()
        return True

    def _usable(self, name: str) -> bool:
        """A broker learns of a new topic a little later than the client that created it."""
        found = self._described(name)
        return found is not None and all(partition.leader for partition in found.partitions)

    def _described(self, name: str) -> TopicDescription | None:
        try:
            return self.admin.describe_topics(TopicCollection([name]), request_timeout=READ_SECONDS)[name].result()
        except KafkaException as e:
            if e.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=READ_SECONDS).topics)

    def produce(self, topic: str, records: Iterable[Record | bytes | str | None]) -> None:
        """Writes ``records``, bare values among them, and returns when the broker has them all."""
        settings = {
            "bootstrap.servers": self.bootstrap,
            "partitioner": "murmur2_random",
            "linger.ms": 1,
            # In order, also when the broker refuses the first of them: it may not lead a new topic yet.
            "max.in.flight.requests.per.connection": 1,
        }
        producer = Producer(settings)
        failed: list[KafkaError] = []
        for record in records:
            record = record if isinstance(record, Record) else Record(record)
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=record.partition,
                headers=list(record.headers),
                timestamp=record.timestamp,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        left = producer.flush(READ_SECONDS)
        assert (left, failed) == (0, [])

    def read_all(self, topic: str, isolation: str = "read_committed") -> list[Record]:
        """Every record of ``topic`` that a consumer with this isolation level sees now, partition by partition."""
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
            # A topic that a task has made just now is known to the controller first.
            partitions = until(
                lambda: consumer.list_topics(topic, timeout=READ_SECONDS).topics[topic].partitions,
                f"{topic} is known",
                READ_SECONDS,
            )
            unread = set(partitions)
            found: dict[int, list[Record]] = {partition: [] for partition in sorted(partitions)}
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found])
            while unread:
                message = consumer.poll(READ_SECONDS)
                assert message is not None, f"{topic}: partitions {sorted(unread)} gave nothing for {READ_SECONDS} s"
                if message.error() is None:
                    found[message.partition()].append(_record(message))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                else:
                    raise AssertionError(f"{topic}: {message.error()}")
            return [record for partition in found.values() for record in partition]
        finally:
            consumer.close()

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """What a consumer group has committed, by topic and partition."""
        while True:
            try:
                found = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(900)
                break
            except KafkaException as error:  # a broker that is asked for the first time
                if error.args[0].code() != KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
                    raise
            time.sleep(0.1)
        return {(p.topic, p.partition): p.offset for p in found.topic_partitions or [] if p.offset >= 0}

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        """Set a group's offset of a partition; nobody may be in the group."""
        request = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition, offset)])]
        self.admin.alter_consumer_group_offsets(request)[group].result(READ_SECONDS)

    def members(self, group: str) -> int:
        """The number of consumers in a group now, including those that are about to leave."""
        return len(self.admin.describe_consumer_groups([group])[group].result(READ_SECONDS).members)

    def sharing(self, group: str) -> int:
        """The number of consumers that have partitions in a group that is stable; 0 while it rebalances."""
        found = self.admin.describe_consumer_groups([group])[group].result(READ_SECONDS)
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

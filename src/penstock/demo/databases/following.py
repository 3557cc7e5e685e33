"""Count of a topic's committed records, updated as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from penstock.demo.flights import DemoError
from penstock.kafka.clients import new_consumer

MAX_RECORDS = 10_000


class Following:
    """``count`` and ``ends`` (by partition, the offset after its last record) are those of the last ``look``."""

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer, self._topic = consumer, topic
        self._assigned = False
        self.count = 0
        self.ends: dict[int, int] = {}

    def look(self) -> int:
        """Read what has come since the last time; the number of all records. Raises DemoError."""
        if not self._assigned and not self._assign():
            return 0
        while found := self._consumer.consume(MAX_RECORDS, 0.05):
            for message in found:
                if (error := message.error()) is not None:
                    raise DemoError(f"Topic {self._topic} can't be read: {error.str()}.")
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                self.ends[partition] = offset + 1
            self.count += len(found)
        return self.count

    def _assign(self) -> bool:
        """Whether there is the topic. To ask for it by its name would create it."""
        found = self._consumer.list_topics(timeout=30).topics.get(self._topic)
        if found is None or not found.partitions:
            return False
        self._consumer.assign([TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in found.partitions])
        self._assigned = True
        return True


@contextmanager
def following(bootstrap: str, topic: str) -> Iterator[Following]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "penstock-demo-following", "enable.auto.commit": "false"}
    consumer = new_consumer({**settings, "isolation.level": "read_committed"})
    try:
        yield Following(consumer, topic)
    except KafkaException as error:
        raise DemoError(f"Topic {topic} can't be read: {error}") from error
    finally:
        consumer.close()

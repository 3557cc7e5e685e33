"""Whether every line has arrived, and how often: in the topic, as a consumer sees it that reads what is committed, and
in the sink's file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson
from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from penstock.demo.flights import DemoError
from penstock.kafka.clients import new_consumer
from penstock.kafka.log.reader import ConsumedMessage

SECONDS = 30


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of the lines that were sent and received."""

    count: int
    missing: int
    duplicates: int
    foreign: int
    """Lines that were not sent."""
    checksum: str
    """SHA-256 of the sorted lines, each with its end: ``LC_ALL=C sort FILE | sha256sum`` says the same."""

    @property
    def exactly_once(self) -> bool:
        return not (self.missing or self.duplicates or self.foreign)

    @classmethod
    def of(cls, sent: Iterable[bytes], arrived: Iterable[bytes]) -> Tally:
        before, after = Counter(sent), Counter(arrived)
        return cls(
            count=after.total(),
            missing=(before - after).total(),
            duplicates=sum(n - before[line] for line, n in after.items() if 0 < before[line] < n),
            foreign=sum(n for line, n in after.items() if line not in before),
            checksum=checksum(after.elements()),
        )


@dataclass(frozen=True, slots=True)
class Proof:
    topic: Tally
    file: Tally


def checksum(lines: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(line + b"\n" for line in sorted(lines))).hexdigest()


def read_lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines() if file.exists() else []


@dataclass(frozen=True, slots=True)
class InTopic:
    """All that is committed in a topic."""

    values: list[bytes]
    ends: dict[int, int]
    """By partition: the offset after its last record; none for an empty one."""

    def field(self, name: str) -> list[bytes]:
        """A text field of each value, which is JSON with a schema."""
        return [orjson.loads(value)["payload"][name].encode() for value in self.values]


def read_topic(bootstrap: str, topic: str) -> InTopic:
    """Raises DemoError if the broker does not give what it has."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "penstock-demo-proof", "isolation.level": "read_committed"}
    consumer = new_consumer({**settings, "enable.auto.commit": "false"}, **{"enable.partition.eof": True})
    try:
        unread = set(consumer.list_topics(topic, timeout=SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])
        values: list[bytes] = []
        ends: dict[int, int] = {}
        while unread:
            first = consumer.poll(SECONDS)
            if first is None:
                raise DemoError(f"Topic {topic} could not be read within {SECONDS} s.")
            for message in cast("list[ConsumedMessage]", [first, *consumer.consume(10_000, 0)]):
                if (error := message.error()) is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise DemoError(f"Topic {topic} can't be read: {error.str()}.")
                    unread.discard(message.partition())
                    continue
                if (value := message.value()) is None:
                    raise DemoError(f"Topic {topic} has a record without a value, which is not of this demo.")
                values.append(value)
                ends[message.partition()] = message.offset() + 1
        return InTopic(values, ends)
    finally:
        consumer.close()

"""Tally of the numbers that have arrived by source partition, with their order."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

READ_SECONDS = 900


@dataclass(slots=True)
class Tally:
    """Tally of one source partition. Numbers begin at 0."""

    counts: bytearray = field(default_factory=bytearray)
    """Number of arrivals of each number, at most 255."""
    last: int = -1
    disordered: int = 0
    """Count of numbers that were not greater than the one before."""

    def add(self, number: int) -> None:
        if number >= len(self.counts):
            self.counts.extend(bytes(number + 1 - len(self.counts)))
        self.counts[number] = min(self.counts[number] + 1, 255)
        self.disordered += number <= self.last
        self.last = number

    @property
    def missing(self) -> int:
        return self.counts.count(0)

    @property
    def repeated(self) -> int:
        return len(self.counts) - self.counts.count(0) - self.counts.count(1)


def read(bootstrap: str, topic: str) -> dict[int, Tally]:
    """Tally the topic up to its present end, as a read_committed reader sees it."""
    tallies: dict[int, Tally] = {}
    for source, number, _ in _numbers(bootstrap, topic, "read_committed"):
        tallies.setdefault(source, Tally()).add(number)
    return tallies


def sending_times(bootstrap: str, topic: str) -> dict[int, list[float]]:
    """Return the times at which each source partition's records were sent, including those of aborted transactions, in
    seconds of ``time.time``.
    """
    times: dict[int, list[float]] = {}
    for source, _, timestamp in _numbers(bootstrap, topic, "read_uncommitted"):
        times.setdefault(source, []).append(timestamp / 1000)
    return times


def _numbers(bootstrap: str, topic: str, isolation: str) -> Iterator[tuple[int, int, int]]:
    """Yield source partition, number and timestamp of each record up to the topic's end."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": f"tally-{uuid.uuid4().hex}",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": isolation,
    }
    consumer = Consumer(settings)
    try:
        unread = set(consumer.list_topics(topic, timeout=READ_SECONDS).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unread])
        while unread:
            for message in consumer.consume(10_000, 1.0):
                if message.error() is None:
                    source, number = message.value().split()
                    yield int(source), int(number), message.timestamp()[1]
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                else:
                    raise KafkaException(message.error())
    finally:
        consumer.close()


def amiss(tallies: Mapping[int, Tally], committed: Mapping[int, int], exactly_once: bool) -> list[str]:
    """Describe numbers that are missing, duplicated or out of order.

    ``committed``: by source partition, the number with which its source would go on; all before it must have arrived,
    and with exactly once none from it on.
    """
    wrong = []
    for source in sorted(tallies.keys() | committed.keys()):
        tally, end = tallies.get(source, Tally()), committed.get(source, 0)
        at = f"source partition {source}"
        if len(tally.counts) < end:
            wrong.append(f"{at}: numbers from {len(tally.counts)} to {end - 1} are lost")
        if tally.missing:
            wrong.append(f"{at}: {tally.missing} numbers are lost, the first is {tally.counts.index(0)}")
        if exactly_once and len(tally.counts) > end:
            wrong.append(f"{at}: numbers go to {len(tally.counts) - 1}, though the committed offset is {end}")
        if exactly_once and tally.repeated:
            first = next(number for number, count in enumerate(tally.counts) if count > 1)
            wrong.append(f"{at}: {tally.repeated} numbers are duplicated, the first is {first}")
        if exactly_once and tally.disordered:
            wrong.append(f"{at}: the order is broken in {tally.disordered} places")
    return wrong

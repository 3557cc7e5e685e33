"""The records of topics as lines, and lines as records."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator
from typing import IO, cast

from confluent_kafka import OFFSET_BEGINNING, KafkaException, Message, TopicPartition

from penstock.kafka.clients import new_consumer, new_producer

SECONDS = 30


class Shown:
    """What is in topics, from their beginnings. Used by one thread."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = new_consumer({"bootstrap.servers": bootstrap, "group.id": f"penstock-run-{uuid.uuid4().hex}"})
        self._partitions: set[tuple[str, int]] = set()

    def close(self) -> None:
        self._consumer.close()

    def follow(self, topics: Iterable[str]) -> None:
        """From now on the records of these are read too."""
        there = [(topic, partition) for topic in topics for partition in self._partitions_of(topic)]
        if added := [TopicPartition(*each, OFFSET_BEGINNING) for each in there if each not in self._partitions]:
            self._consumer.incremental_assign(added)
            self._partitions.update(there)

    def lines(self, most: int, seconds: float) -> Iterator[str]:
        """Those of at most so many records that come within this time."""
        for message in self._consumer.consume(most, seconds):
            if message.error() is None:
                yield line(message)

    def _partitions_of(self, topic: str) -> Iterable[int]:
        try:
            return self._consumer.list_topics(topic, SECONDS).topics[topic].partitions
        except KafkaException:  # asked again soon
            return ()


def line(message: Message) -> str:
    """``topic-partition@offset``, the key and the value, and headers if there are any, separated by tabs."""
    where = f"{message.topic()}-{message.partition()}@{message.offset()}"
    headers = [
        f"{name}={text(value)}" for name, value in cast("list[tuple[str, bytes | None]]", message.headers() or [])
    ]
    return "\t".join([where, text(message.key()), text(message.value()), *headers])


def text(value: str | bytes | None) -> str:
    """UTF-8 as it is, other bytes in hexadecimal."""
    if value is None or isinstance(value, str):
        return value or "null"
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"


def send_lines(bootstrap: str, topic: str, lines: IO[str]) -> None:
    """Start a thread that sends each line as the value of a record; it ends with its input or this process."""
    producer = new_producer({"bootstrap.servers": bootstrap})

    def send() -> None:
        for each in lines:
            producer.produce(topic, each.rstrip("\n").encode())
            producer.flush()

    threading.Thread(target=send, name="lines", daemon=True).start()

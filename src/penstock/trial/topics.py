"""The records of topics as lines, and lines as records."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator
from typing import IO

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Message, TopicPartition

from penstock.kafka.clients import new_consumer, new_producer
from penstock.kafka.headers import headers_of

SECONDS = 30


class TrialRecords:
    """Records of topics, from the beginning. Used by one thread."""

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
        """Yield the lines of at most ``most`` records that arrive within this time."""
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
    headers = [f"{name}={text(value)}" for (pairs,) in [headers_of([message])] for name, value in pairs or ()]
    return "\t".join([where, text(message.key()), text(message.value()), *headers])


def text(value: str | bytes | None) -> str:
    """UTF-8 as it is, other bytes in hexadecimal."""
    if value is None or isinstance(value, str):
        return value or "null"
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"


class Lines:
    """Sends each line as the value of a record, in a thread that ends with its input or with this process."""

    def __init__(self, bootstrap: str, topic: str, lines: IO[str]) -> None:
        self.topic = topic
        self.sent = 0
        self.ended = False
        """There are no more lines, and all are sent."""
        self.failure: str | None = None
        """Why a line was not sent."""
        self._producer = new_producer({"bootstrap.servers": bootstrap})
        threading.Thread(target=self._send, args=(lines,), name="lines", daemon=True).start()

    def _send(self, lines: IO[str]) -> None:
        try:
            for each in lines:
                self._producer.produce(self.topic, each.rstrip("\n").encode(), on_delivery=self._delivered)
                self._producer.flush()
        except KafkaException as error:  # such as of a line that is too long
            self._delivered(error.args[0], None)
        except UnicodeError as error:
            self.failure = f"A line can't be sent to topic {self.topic}: it is not UTF-8 ({error})."
        else:
            self.ended = True

    def _delivered(self, error: KafkaError | None, _: Message | None) -> None:
        if error is None:
            self.sent += 1
        else:
            self.failure = f"A line can't be sent to topic {self.topic}: {error.str()}."

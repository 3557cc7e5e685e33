"""Reading a dead letter queue: records that a connector could not process, with headers that say why (KIP-298).

What sinks write there is the record as it was read. The headers are there if the connector has
``errors.deadletterqueue.context.headers.enable``; several connectors may share a queue.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as BrokerError

from penstock.kafka.admin import NoAnswerError

PREFIX = "__connect.errors."
"""The prefix of headers about the failure."""
QUEUE_SETTINGS = {"sink": "errors.deadletterqueue.", "source": "penstock.errors.deadletterqueue."}
"""The prefix of the settings, by the type of connector: Java's, and ours for sources."""

UNKNOWN = "(unknown)"
PARTS = {
    "topic": "topic",
    "partition": "partition",
    "offset": "offset",
    "connector": "connector.name",
    "task": "task.id",
    "stage": "stage",
    "class": "class.name",
    "exception": "exception.class.name",
    "message": "exception.message",
}
_PATIENCE = 30.0
_HEADERS = methodcaller("headers")
"""Returns the headers of a message. If a name is not UTF-8 the client returns some, with an exception pending, which
Python notices at once when it is called so: SystemError.
"""


def queue_setting(type: str) -> str:
    """The setting that names the queue of such a connector."""
    return f"{QUEUE_SETTINGS[type]}topic.name"


@dataclass(frozen=True, slots=True)
class Letter:
    """One record of a queue."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    readable: bool = True
    """False if a name among its headers is not UTF-8; it then has no ``headers``."""

    @property
    def position(self) -> str:
        return f"{self.topic}-{self.partition}-{self.offset}"

    def error_header(self, name: str) -> str | None:
        """The header ``__connect.errors.<name>``; the last one if there are several."""
        found = [value for key, value in self.headers if key == PREFIX + name]
        return found[-1].decode(errors="replace") if found and found[-1] is not None else None

    @property
    def own_headers(self) -> list[tuple[str, bytes | None]]:
        """The headers that the record had before it failed."""
        return [(key, value) for key, value in self.headers if not key.startswith(PREFIX)]

    def may_be_of(self, connector: str) -> bool:
        """Whether it is this connector's, or does not name its connector."""
        return self.error_header("connector.name") in (None, connector)


def partitions_of(consumer: Consumer, topic: str) -> list[int]:
    """In order; none if there is no such topic."""
    found = consumer.list_topics(timeout=_PATIENCE).topics.get(topic)
    return [] if found is None else sorted(found.partitions)


def letters(consumer: Consumer, topic: str, starts: Mapping[int, int]) -> Iterator[Letter]:
    """All that is in these partitions from these offsets on, as of now; in order per partition.

    The consumer reads from the earliest offset where an offset is out of range, and has ``enable.partition.eof``.
    """
    consumer.assign([TopicPartition(topic, p, offset or OFFSET_BEGINNING) for p, offset in starts.items()])
    ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), _PATIENCE)[1] for p in starts}
    left = {p for p, end in ends.items() if end > 0}
    while left:
        message = consumer.poll(_PATIENCE)
        if message is None:
            raise NoAnswerError(f"Topic {topic} could not be read to its end within {_PATIENCE:g} s")
        partition: Any = message.partition()
        if (error := message.error()) is not None:
            if error.code() == BrokerError._PARTITION_EOF:
                left.discard(partition)
            elif error.fatal() or not error.retriable():
                raise KafkaException(error)
            continue
        letter = _letter(message)
        if letter.offset < ends[partition]:
            yield letter
        if letter.offset >= ends[partition] - 1:
            left.discard(partition)
    consumer.unassign()


def letter_at(consumer: Consumer, topic: str, partition: int, offset: int) -> Letter | None:
    """The record at exactly this offset; None if there is none."""
    if partition not in partitions_of(consumer, topic):
        return None
    found = next(letters(consumer, topic, {partition: offset}), None)
    return found if found is not None and found.offset == offset else None


def _letter(message: Message) -> Letter:
    time = message.timestamp()[1]
    place: tuple[Any, Any, Any] = (message.topic(), message.partition(), message.offset())
    headers: Any = ()
    readable = True
    try:
        headers = _HEADERS(message) or ()
    except (UnicodeDecodeError, SystemError):
        readable = False
    return Letter(*place, time if time >= 0 else None, message.key(), message.value(), tuple(headers), readable)


# -- one as JSON, for programs and the web page


def failure(letter: Letter) -> tuple[str, str, str]:
    """Stage, exception, and the class in which it was raised."""
    stage, exception, plugin = (letter.error_header(name) for name in ("stage", "exception.class.name", "class.name"))
    return stage or UNKNOWN, _simple(exception or ""), _simple(plugin or "")


def _simple(name: str) -> str:
    return name.rpartition(".")[2]


def document(letter: Letter, replayed: bool, whole: bool) -> dict[str, Any]:
    """With ``whole`` also the trace and the record itself. Bytes that are not UTF-8 become ``{"base64": …}``."""
    context = {name: letter.error_header(header) for name, header in PARTS.items()}
    found: dict[str, Any] = {"record": letter.position, "timestamp": letter.timestamp, "replayed": replayed, **context}
    if whole:
        found["trace"] = letter.error_header("exception.stacktrace")
        found["headers"] = [{"key": key, "value": readable(value)} for key, value in letter.own_headers]
        found["key"], found["value"] = readable(letter.key), readable(letter.value)
    return found


def readable(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}

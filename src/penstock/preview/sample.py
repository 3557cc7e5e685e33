"""Records of a sink's topics: the last ones, or those from an offset.

The consumer joins no group and commits nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError
from penstock.java.regex import compile_regex
from penstock.kafka.client_settings import connector_consumer
from penstock.kafka.clients import new_consumer
from penstock.kafka.letters.queue import PREFIX
from penstock.pipeline.sink.fetch import raw_batch
from penstock.preview.request import PreviewRequest

MOST_PARTITIONS = 200
ASK_S = 10.0


def sample(request: PreviewRequest) -> Batch:
    """At most ``limit`` records, as bytes. Raises ConnectError if there is no such topic."""
    name = "penstock-preview"
    java = connector_consumer(request.worker, request.connector, name, group_id=name)
    consumer = new_consumer(java, **{"enable.partition.eof": True})
    try:
        batch = raw_batch(_messages(consumer, request))
    finally:
        consumer.close()
    if request.origin is None or not len(batch) or not isinstance(batch.origin, SinkOrigin):
        return batch
    topic, partition, offset = request.origin
    origin = SinkOrigin([topic], [partition], [offset], batch.origin.timestamp_type_column)
    headers = [tuple(header for header in row if not header[0].startswith(PREFIX)) for row in batch.headers]
    return batch.with_(topics=[topic], partitions=[partition], headers=headers, origin=origin)


def _messages(consumer: Consumer, request: PreviewRequest) -> list[Message]:
    ends: dict[tuple[str, int], int] = {}
    starts = []
    for topic, partition in _partitions(consumer, request):
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ASK_S)
        wanted = high - request.limit if request.offset is None else request.offset
        start = min(max(low, wanted), high)
        if start < high:
            ends[topic, partition] = high
            starts.append(TopicPartition(topic, partition, start))
    if not starts:
        return []
    consumer.assign(starts)
    found = list(_until(consumer, ends, time.monotonic() + request.seconds, request.limit))
    found.sort(key=lambda message: (message.timestamp()[1], message.partition() or 0, message.offset() or 0))
    return found[-request.limit :] if request.offset is None else found[: request.limit]


def _until(consumer: Consumer, ends: dict[tuple[str, int], int], deadline: float, most: int) -> Iterator[Message]:
    """Records before these ends, ``most`` of each partition. The last ones before an end may be no records, but the
    marks of transactions.
    """
    left = dict.fromkeys(ends, most)
    while left and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is None:
            continue
        place = str(message.topic()), int(message.partition() or 0)
        if (error := message.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                left.pop(place, None)
            continue
        if place not in left:
            continue
        yield message
        left[place] -= 1
        if left[place] == 0 or int(message.offset() or 0) + 1 >= ends[place]:
            del left[place]


def _partitions(consumer: Consumer, request: PreviewRequest) -> list[tuple[str, int]]:
    topics = [topic.strip() for topic in request.connector.get("topics", "").split(",") if topic.strip()]
    if pattern := request.connector.get("topics.regex"):
        matches = compile_regex(pattern).fullmatch
        topics = sorted(topic for topic in consumer.list_topics(timeout=ASK_S).topics if matches(topic))
    found = []
    for topic in topics:
        known = consumer.list_topics(topic, timeout=ASK_S).topics[topic]
        if known.error is not None:
            raise ConnectError(f"Topic {topic} cannot be read: {known.error.str()}")
        found += [(topic, partition) for partition in sorted(known.partitions)]
    if request.partition is not None:
        found = [(topic, partition) for topic, partition in found if partition == request.partition]
    return found[:MOST_PARTITIONS]

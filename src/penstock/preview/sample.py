"""Records of a sink's topics for a preview: the last ones, those from an offset, or one dead letter.

The consumer joins no group and commits nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS, InternalTopics
from penstock.core.config.sink import topics_of
from penstock.java.regex import compile_regex
from penstock.kafka.client_settings import bootstrap_servers, connector_consumer, unmatched_topics
from penstock.kafka.clients import new_consumer
from penstock.kafka.letters.queue import PREFIX, Letter
from penstock.kafka.topic_guard import TopicGuard
from penstock.pipeline.broker_errors import check_topics
from penstock.pipeline.sink.fetch import raw_batch
from penstock.preview.messages import PreviewRequest

MAX_PARTITIONS = 200
METADATA_S = 10.0


def sample(request: PreviewRequest) -> Batch:
    """Read at most ``limit`` records, as bytes. Raises ConnectError if there is no such topic, or it is internal."""
    name = "penstock-preview"
    java = connector_consumer(request.worker, request.connector, name, group_id=name)
    consumer = new_consumer(java, **{"enable.partition.eof": True})
    try:
        batch = raw_batch(_messages(consumer, request, java))
    finally:
        consumer.close()
    if request.origin is None or not len(batch) or not isinstance(batch.origin, SinkOrigin):
        return batch
    topic, partition, offset = request.origin
    origin = SinkOrigin([topic], [partition], [offset], batch.origin.timestamp_type_column)
    headers = [tuple(header for header in row if not header[0].startswith(PREFIX)) for row in batch.headers]
    return batch.with_(topics=[topic], partitions=[partition], headers=headers, origin=origin)


def _messages(consumer: Consumer, request: PreviewRequest, java: Mapping[str, str]) -> list[Message]:
    ends: dict[tuple[str, int], int] = {}
    starts = []
    for topic, partition in _partitions(consumer, request, java):
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=METADATA_S)
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


def _until(consumer: Consumer, ends: dict[tuple[str, int], int], deadline: float, limit: int) -> Iterator[Message]:
    """Yield records before these ends, at most ``limit`` of each partition.

    The last offsets before an end may be the marks of transactions instead of records.
    """
    left = dict.fromkeys(ends, limit)
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


def _partitions(consumer: Consumer, request: PreviewRequest, java: Mapping[str, str]) -> list[tuple[str, int]]:
    topics = topics_of(request.connector.get("topics"))

    def look_up() -> str | None:
        return consumer.list_topics(timeout=METADATA_S).cluster_id

    guard = TopicGuard(request.internal_topics, bootstrap_servers(java), look_up)
    if pattern := request.connector.get("topics.regex", "").strip():
        listed = consumer.list_topics(timeout=METADATA_S)
        matches, unmatched = compile_regex(pattern).fullmatch, unmatched_topics(java)
        names = {topic for topic in listed.topics if topic not in unmatched and matches(topic)}
        topics = sorted(guard.readable(names, listed.cluster_id))
    check_topics(topics)
    guard.check_read(topics)
    found = []
    for topic in topics:
        known = consumer.list_topics(topic, timeout=METADATA_S).topics[topic]
        if known.error is not None:
            raise ConnectError(f"Topic {topic} cannot be read: {known.error.str()}")
        found += [(topic, partition) for partition in sorted(known.partitions)]
    if request.partition is not None:
        found = [(topic, partition) for topic, partition in found if partition == request.partition]
    return found[:MAX_PARTITIONS]


def request_of_letter(
    config: Mapping[str, str],
    letter: Letter,
    worker: dict[str, str],
    plugin_path: list[str],
    internal_topics: InternalTopics = NO_INTERNAL_TOPICS,
) -> PreviewRequest:
    """Return the request to preview a dead letter of a sink, as if it had been read from its original topic."""
    place = [letter.error_header(name) for name in ("topic", "partition", "offset")]
    topic, partition, offset = place
    known = topic and partition and offset and partition.isdecimal() and offset.isdecimal()
    servers = config.get("producer.override.bootstrap.servers")
    return PreviewRequest(
        connector={
            **{key: value for key, value in config.items() if key != "topics.regex"},
            **({"consumer.override.bootstrap.servers": servers} if servers else {}),
            "topics": letter.topic,
        },
        worker=worker,
        internal_topics=internal_topics,
        plugin_path=plugin_path,
        limit=1,
        partition=letter.partition,
        offset=letter.offset,
        origin=(topic, int(partition), int(offset)) if known and topic and partition and offset else None,
    )

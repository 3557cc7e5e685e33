"""Records of one topic of a connector, decoded by its converters, for people who look at them.

The consumer joins no group and commits nothing. Fields that the connector's transforms mask are masked here too, before
a text is searched for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.masked_fields import MaskedFields, masked_fields
from penstock.core.config.overrides import CLIENT_SETTINGS, CONSUMER
from penstock.core.config.secrets import MASK
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.kafka.client_settings import bootstrap_servers, connector_consumer, connector_producer
from penstock.kafka.clients import new_consumer
from penstock.kafka.topic_guard import TopicGuard
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.errors import Step
from penstock.pipeline.sink.fetch import raw_batch
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.preview import shown
from penstock.preview.messages import RecordsAnswer, RecordsRequest
from penstock.preview.run import spec_of
from penstock.preview.sample import MAX_PARTITIONS, METADATA_S

CLIENT = "penstock-records"
SEARCHED_LAST = 10_000
"""Offsets of each partition that are searched before its end if the last records are wanted."""
AT_ONCE = 200

Decode = Callable[[Message], dict[str, Any]]


def topic_records(request: RecordsRequest) -> RecordsAnswer:
    """Return the records; an error that keeps them from being read is part of the answer."""
    try:
        plugins = Plugins.discover(
            tuple(request.plugin_path),
            task_classes(JavaSettings.of(request.worker, tuple(request.plugin_path))),
            request.worker,
        )
        kind = plugins.kind(request.connector)
        with (
            task_jvm(spec_of(request, kind)),
            _decoder(request, plugins) as decode,
            _consumer(request, kind) as consumer,
        ):
            return _Search(consumer, request, decode).answer()
    except Exception as error:
        return RecordsAnswer(error=str(error) if isinstance(error, (ConfigError, ConnectError)) else headline(error))


def topic_consumer(worker: Mapping[str, str], connector: Mapping[str, str], kind: str) -> dict[str, str]:
    """Return the settings of a consumer of a connector's topics: those of a sink's consumer, or those of a source's
    producer that a consumer knows, too.
    """
    if kind == "sink":
        return connector_consumer(worker, connector, CLIENT, CLIENT)
    known = CLIENT_SETTINGS[CONSUMER].keys
    producer = connector_producer(worker, connector, CLIENT)
    return {
        **{
            name: value
            for name, value in producer.items()
            if name in known and not name.endswith("interceptor.classes")
        },
        "client.id": CLIENT,
        "group.id": CLIENT,
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
    }


@contextmanager
def _consumer(request: RecordsRequest, kind: str) -> Iterator[Consumer]:
    java = {**topic_consumer(request.worker, request.connector, kind), "allow.auto.create.topics": "false"}
    consumer = new_consumer(java, **{"enable.partition.eof": True})
    try:
        guard = TopicGuard(
            request.internal_topics,
            bootstrap_servers(java),
            lambda: consumer.list_topics(timeout=METADATA_S).cluster_id,
        )
        guard.check_read([request.topic])
        yield consumer
    finally:
        consumer.close()


@contextmanager
def _decoder(request: RecordsRequest, plugins: Plugins) -> Iterator[Decode]:
    conversion = Conversion.build(request.connector, request.worker, plugins.resolver(request.connector))
    try:
        for converter in (conversion.key, conversion.value):
            if isinstance(converter, RegistryConverter):
                converter.waits = False
        steps, masked = conversion.to_connect(), masked_fields(request.connector)
        yield lambda message: _decoded(message, steps, masked)
    finally:
        conversion.close()


def _decoded(message: Message, steps: list[Step], masked: MaskedFields) -> dict[str, Any]:
    """Return a record as it is shown. Bytes that no converter reads are shown, unless fields of them are masked."""
    record = raw_batch([message])
    sizes = {"key": shown.size(record.keys[0]), "value": shown.size(record.values[0])}
    errors = []
    for step in steps:
        try:
            record = step.apply(record)
        except Exception as error:
            said = headline(error).partition(":")[0] if masked else headline(error)
            errors.append({"stage": step.stage.name, "class": step.plugin, "message": said})
    found = shown.record(record)
    origin = found.pop("origin")
    for side in ("key", "value"):
        found[side] = _masked(found[side], masked, whole=side in masked.sides)
    return {**found, "partition": origin["partition"], "offset": origin["offset"], "bytes": sizes, "errors": errors}


def _masked(value: Any, masked: MaskedFields, whole: bool) -> Any:
    match value:
        case dict():
            return {
                name: MASK if name in masked.names and each is not None else _masked(each, masked, whole=False)
                for name, each in value.items()
            }
        case list():
            return [_masked(each, masked, whole) for each in value]
        case None:
            return None
    return MASK if whole else value


class _Search:
    def __init__(self, consumer: Consumer, request: RecordsRequest, decode: Decode) -> None:
        self._consumer, self._request, self._decode = consumer, request, decode
        self._wanted = None if request.search is None else request.search.casefold()
        self._ends: dict[int, int] = {}
        """Ends, at the beginning of the search, of partitions that are not yet read up to them."""
        self._next: dict[int, int] = {}
        self._found: list[dict[str, Any]] = []
        self._scanned = 0

    def answer(self) -> RecordsAnswer:
        request, last = self._request, self._request.start == "latest" and not self._request.offsets
        starts = [TopicPartition(request.topic, partition, offset) for partition, offset in self._starts()]
        if starts:
            self._consumer.assign(starts)
            deadline = time.monotonic() + request.seconds
            while self._ends and time.monotonic() < deadline and (last or len(self._found) < request.limit):
                for message in self._consumer.consume(AT_ONCE, 0.2):
                    self._take(message)
                    if time.monotonic() >= deadline or (not last and len(self._found) >= request.limit):
                        break
        self._found.sort(key=lambda each: (each["timestamp"] or 0, each["partition"], each["offset"]))
        found = self._found[-request.limit :] if last else self._found[: request.limit]
        left = sorted((partition, self._next[partition]) for partition in self._ends)
        return RecordsAnswer(records=found, scanned=self._scanned, left=left)

    def _take(self, message: Message) -> None:
        partition, offset = int(message.partition() or 0), int(message.offset() or 0)
        if (error := message.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._ends.pop(partition, None)
            elif error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART):
                raise ConnectError(f"Topic {self._request.topic} cannot be read: {error.str()}")
            return
        if partition not in self._ends or offset >= self._ends[partition]:
            self._ends.pop(partition, None)
            return
        self._scanned += 1
        self._next[partition] = offset + 1
        if offset + 1 >= self._ends[partition]:
            del self._ends[partition]
        record = self._decode(message)
        if self._wanted is None or self._wanted in _text(record):
            self._found.append(record)

    def _starts(self) -> Iterator[tuple[int, int]]:
        """Yield the offsets at which partitions are begun; those with nothing to read are left out."""
        request = self._request
        times = self._at_time() if isinstance(request.start, int) else {}
        for partition in self._partitions():
            low, high = self._consumer.get_watermark_offsets(
                TopicPartition(request.topic, partition), timeout=METADATA_S
            )
            if request.offsets:
                wanted = request.offsets[str(partition)]
            elif isinstance(request.start, int):
                wanted = high if times[partition] < 0 else times[partition]
            elif request.start == "earliest":
                wanted = low
            else:
                wanted = high - (request.limit if self._wanted is None else max(request.limit, SEARCHED_LAST))
            start = min(max(low, wanted), high)
            if start < high:
                self._ends[partition], self._next[partition] = high, start
                yield partition, start

    def _at_time(self) -> dict[int, int]:
        start = int(self._request.start)
        wanted = [TopicPartition(self._request.topic, partition, start) for partition in self._partitions()]
        found = self._consumer.offsets_for_times(wanted, timeout=METADATA_S)
        return {each.partition: each.offset for each in found}

    def _partitions(self) -> list[int]:
        topic = self._request.topic
        known = self._consumer.list_topics(topic, timeout=METADATA_S).topics[topic]
        if known.error is not None:
            raise ConnectError(f"Topic {topic} cannot be read: {known.error.str()}")
        partitions = sorted(known.partitions)
        named = [self._request.partition] if self._request.partition is not None else map(int, self._request.offsets)
        if missing := [each for each in named if each not in partitions]:
            raise ConnectError(f"Topic {topic} has no partition {missing[0]}; it has {len(partitions)}")
        if self._request.offsets:
            partitions = [each for each in partitions if str(each) in self._request.offsets]
        if self._request.partition is not None:
            partitions = [each for each in partitions if each == self._request.partition]
        if len(partitions) > MAX_PARTITIONS:
            raise ConnectError(
                f"Topic {topic} has {len(partitions)} partitions, and {MAX_PARTITIONS} are read at most: name one"
            )
        return partitions


def _text(record: Mapping[str, Any]) -> str:
    parts = (record["key"], record["value"], record["headers"])
    return "\n".join(
        part if isinstance(part, str) else json.dumps(part, ensure_ascii=False) for part in parts
    ).casefold()

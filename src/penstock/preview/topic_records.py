"""Records of one topic of a connector, decoded by its converters, for people who look at them.

The consumer joins no group and commits nothing. Fields that the connector's transforms mask are masked here too, before
a text is searched for.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.internal_topics import InternalTopicError
from penstock.core.config.masked_fields import masked_fields
from penstock.core.config.overrides import CLIENT_SETTINGS, CONSUMER
from penstock.core.model.messages import Refused
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.kafka.client_settings import bootstrap_servers, connector_consumer, connector_producer
from penstock.kafka.clients import new_consumer
from penstock.kafka.topic_guard import TopicGuard
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.converters.registry.converter import RegistryConverter
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.preview.decoded import DecodedRecord, decoded
from penstock.preview.messages import RecordsAnswer, RecordsRequest
from penstock.preview.run import spec_of
from penstock.preview.sample import MAX_PARTITIONS, METADATA_S

CLIENT = "penstock-records"
SEARCHED_LAST = 10_000
"""Offsets of each partition that are searched before its end if the last records are wanted."""
AT_ONCE = 200
MAX_BYTES = 16 << 20
"""Bytes of the records of an answer, as JSON: an answer has no more records when it has reached them."""
MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
LASTING = frozenset(
    {
        *(KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED),
        *(KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._AUTHENTICATION, KafkaError._SSL),
        *(KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTO_OFFSET_RESET, KafkaError._FATAL, *MISSING),
    }
)
"""Errors of a consumer that end a search at once; others may pass before its time is over."""

Decode = Callable[[Message], DecodedRecord]


def topic_records(request: RecordsRequest) -> RecordsAnswer:
    """Return the records; an error that keeps them from being read is part of the answer."""
    errors: list[KafkaError] = []
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
            _consumer(request, kind, errors) as consumer,
        ):
            return _Search(consumer, request, decode, errors).answer()
    except Refused as refused:
        return RecordsAnswer(error=refused.message, status=refused.status)
    except InternalTopicError as error:
        return RecordsAnswer(error=str(error), status=403)
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
def _consumer(request: RecordsRequest, kind: str, errors: list[KafkaError]) -> Iterator[Consumer]:
    """Yield a consumer that adds its errors which concern no partition to ``errors``."""
    java = {**topic_consumer(request.worker, request.connector, kind), "allow.auto.create.topics": "false"}
    consumer = new_consumer(java, **{"enable.partition.eof": True, "error_cb": errors.append})
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
        steps = conversion.to_connect()
        masked = masked_fields(request.connector, written=plugins.kind(request.connector) == "source")
        yield lambda message: decoded(message, steps, masked)
    finally:
        conversion.close()


class _Search:
    def __init__(self, consumer: Consumer, request: RecordsRequest, decode: Decode, errors: list[KafkaError]) -> None:
        self._consumer, self._request, self._decode, self._errors = consumer, request, decode, errors
        self._wanted = None if request.search is None else request.search.casefold()
        self._newest = request.start == "latest" and not request.offsets
        """Whether the last records before the ends are wanted, instead of the first ones."""
        self._ends: dict[int, int] = {}
        """Ends, at the beginning of the search, of partitions that are not yet read up to them."""
        self._next: dict[int, int] = {}
        self._found: list[tuple[tuple[int, int, int], int, dict[str, Any]]] = []
        """A heap of records, each with its time, partition and offset, and its size."""
        self._bytes = 0
        self._scanned = 0
        self._problem: KafkaError | None = None
        """The consumer's last error, if it has read nothing since."""

    def answer(self) -> RecordsAnswer:
        request = self._request
        starts = [TopicPartition(request.topic, partition, offset) for partition, offset in self._starts()]
        if starts:
            self._consumer.assign(starts)
            self._errors.clear()
            deadline = time.monotonic() + request.seconds
            while self._ends and time.monotonic() < deadline and not self._full():
                messages = self._consumer.consume(AT_ONCE, 0.2)
                for error in self._errors:
                    self._fail(error)
                self._errors.clear()
                for message in messages:
                    self._take(message)
                    if time.monotonic() >= deadline or self._full():
                        break
        if self._ends and self._problem is not None:
            raise ConnectError(f"Topic {request.topic} cannot be read: {self._problem.str()}")
        records = [record for _, _, record in sorted(self._found, key=lambda each: each[0])]
        left = sorted((partition, self._next[partition]) for partition in self._ends)
        return RecordsAnswer(records=records, scanned=self._scanned, left=left)

    def _full(self) -> bool:
        return not self._newest and (len(self._found) >= self._request.limit or self._bytes >= MAX_BYTES)

    def _take(self, message: Message) -> None:
        partition, offset = int(message.partition() or 0), int(message.offset() or 0)
        if (error := message.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self._ends.pop(partition, None)
            else:
                self._fail(error)
            return
        self._problem = None
        if partition not in self._ends or offset >= self._ends[partition]:
            self._ends.pop(partition, None)
            return
        self._scanned += 1
        self._next[partition] = offset + 1
        if offset + 1 >= self._ends[partition]:
            del self._ends[partition]
        record = self._decode(message)
        if self._wanted is None or record.has(self._wanted):
            self._keep(record.shown())

    def _fail(self, error: KafkaError) -> None:
        """Raise ConnectError for an error that lasts; keep another one until something was read."""
        if error.code() in LASTING:
            raise ConnectError(f"Topic {self._request.topic} cannot be read: {error.str()}")
        self._problem = error

    def _keep(self, record: dict[str, Any]) -> None:
        """Keep a record. If the newest are wanted, older ones that are too many or too large go."""
        size = len(msgspec.json.encode(record))
        place = record["timestamp"] or 0, record["partition"], record["offset"]
        heapq.heappush(self._found, (place, size, record))
        self._bytes += size
        while self._newest and (
            len(self._found) > self._request.limit or (self._bytes > MAX_BYTES and len(self._found) > 1)
        ):
            self._bytes -= heapq.heappop(self._found)[1]

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
            elif self._newest:
                wanted = high - (request.limit if self._wanted is None else max(request.limit, SEARCHED_LAST))
            else:
                wanted = low
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
            if known.error.code() in MISSING:
                raise Refused(404, f"There is no topic {topic}")
            raise ConnectError(f"Topic {topic} cannot be read: {known.error.str()}")
        partitions = sorted(known.partitions)
        named = [self._request.partition] if self._request.partition is not None else map(int, self._request.offsets)
        if missing := [each for each in named if each not in partitions]:
            raise Refused(400, f"Topic {topic} has no partition {missing[0]}; it has {len(partitions)}")
        if self._request.offsets:
            partitions = [each for each in partitions if str(each) in self._request.offsets]
        if self._request.partition is not None:
            partitions = [each for each in partitions if each == self._request.partition]
        if len(partitions) > MAX_PARTITIONS:
            raise Refused(
                400, f"Topic {topic} has {len(partitions)} partitions, and {MAX_PARTITIONS} are read at most: name one"
            )
        return partitions

"""The topics that a query reads: their partitions, where to start in them, and the reading by Spark's Kafka source.

Spark reads with Java's consumers, so the connector's consumer settings need no translation; but groups, deserializers
and starting offsets are set by Spark or by us.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException, TopicPartition
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import AdminClient, ClusterMetadata, TopicMetadata

from penstock.api.errors import ConnectError
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS, InternalTopics
from penstock.core.config.sink import topics_of
from penstock.java.regex import compile_regex
from penstock.kafka.admin import topic_ids
from penstock.kafka.client_settings import bootstrap_servers, connector_consumer, unmatched_topics
from penstock.kafka.topic_guard import Latest, TopicGuard
from penstock.pipeline.broker_errors import broker_error, check_topics
from penstock.spark.query.asking import SECONDS, asked, failed
from penstock.spark.query.sink.progress import Partition, Span

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

T = TypeVar("T")
IDS_SECONDS = 5.0
"""For a request for the IDs of topics."""

_OURS = frozenset(
    {
        "group.id",
        "client.id",
        "enable.auto.commit",
        "auto.offset.reset",
        "key.deserializer",
        "value.deserializer",
        "interceptor.classes",
        "partition.assignment.strategy",
        "group.protocol",
        "group.instance.id",
    }
)


def kafka_options(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's Kafka source that are the same for every batch."""
    java = connector_consumer(worker, connector, "")
    settings = {f"kafka.{name}": value for name, value in java.items() if name not in _OURS}
    return {
        **settings,
        "includeHeaders": "true",
        # As Java's consumer, which continues with the records that are left.
        "failOnDataLoss": "false",
    }


def as_json(offsets: Mapping[Partition, int]) -> str:
    """Encode offsets of partitions as Spark does."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(found)


def from_json(text: str) -> dict[Partition, int]:
    found: dict[str, dict[str, int]] = json.loads(text)
    return {(topic, int(partition)): offset for topic, each in found.items() for partition, offset in each.items()}


def assignment(partitions: Any) -> str:
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        found.setdefault(topic, []).append(partition)
    return json.dumps(found)


class KafkaReader:
    """Spark's Kafka source, with the connector's consumer settings."""

    def __init__(self, session: SparkSession, options: Mapping[str, str]) -> None:
        self._session, self._options = session, options

    def stream(self, start: Mapping[Partition, int], most: int) -> DataFrame:
        """Return a stream of all records from ``start`` on; ``most`` is the maximum of a batch."""
        return (
            self._session.readStream.format("kafka")
            .options(**self._options)
            .option("assign", assignment(start))
            .option("startingOffsets", as_json(start))
            .option("maxOffsetsPerTrigger", most)
            .load()
        )

    def batch(self, span: Span) -> DataFrame:
        """Return exactly the records of ``span``."""
        return (
            self._session.read.format("kafka")
            .options(**self._options)
            .option("assign", assignment(span.end))
            .option("startingOffsets", as_json(span.start))
            .option("endingOffsets", as_json(span.end))
            .load()
        )


class Topics:
    """The partitions of the topics that ``topics`` names or ``topics.regex`` matches."""

    def __init__(
        self,
        consumer: Consumer,
        connector: Mapping[str, str],
        java: Mapping[str, str],
        aborted: Callable[[], bool],
        internal: InternalTopics = NO_INTERNAL_TOPICS,
        latest: Latest = lambda: None,
        make_admin: Callable[[], AdminClient] | None = None,
    ) -> None:
        """``java``: the consumer's settings. ``aborted``: as that of ``QueryOffsets``. ``internal``: topics that are
        refused if they are named, and match no pattern; ``latest``: see ``TopicGuard.follow``. Without ``make_admin``
        the IDs of topics are not known.
        """
        self._make_admin = make_admin
        self._admin: AdminClient | None = None
        self._lock = threading.Lock()
        guard = TopicGuard(internal, bootstrap_servers(java), lambda: self._listing(None).cluster_id)
        self._guard = guard.follow(latest)
        self._consumer, self._reset, self._aborted = consumer, java["auto.offset.reset"], aborted
        self._unmatched = unmatched_topics(java)
        self._topics = topics_of(connector.get("topics"))
        regex = connector.get("topics.regex", "").strip()
        self._pattern = compile_regex(regex) if regex and not self._topics else None

    def partitions(self) -> list[Partition]:
        """Return the partitions that exist now, sorted. Raises KafkaError, InternalTopicError among them."""
        check_topics(self._topics)
        self._guard.check_read(self._topics)
        try:
            if self._pattern is not None:
                listed = self._listing(None)
                found = listed.topics
                named = {name for name in found if name not in self._unmatched and self._pattern.fullmatch(name)}
                wanted = sorted(self._guard.readable(named, listed.cluster_id))
            else:
                found = {}
                for topic in self._topics:
                    found |= self._listed(topic)
                wanted = self._topics
        except KafkaException as e:
            raise failed("The topics to read can't be listed", e.args[0]) from broker_error(e.args[0])
        return sorted((name, number) for name in wanted if name in found for number in found[name].partitions)

    def ids(self, topics: Iterable[str]) -> dict[str, str] | None:
        """Return the IDs of those of the topics that exist; None if they can't be had now, or not at all.

        Any thread may call.
        """
        if self._make_admin is None:
            return None
        try:
            with self._lock:
                if self._admin is None:  # its truth is that of its length, the number of its events
                    self._admin = self._make_admin()
                admin = self._admin
            return topic_ids(admin, topics, IDS_SECONDS)
        except KafkaException as error:
            log.debug("The IDs of topics can't be compared: %s", error)
            self._admin = None  # it may have lost its brokers
            return None

    def _listed(self, topic: str | None) -> dict[str, TopicMetadata]:
        topics: dict[str, TopicMetadata] = self._listing(topic).topics
        return topics

    def _listing(self, topic: str | None) -> ClusterMetadata:
        def ask() -> ClusterMetadata:
            return self._consumer.list_topics(topic, timeout=SECONDS)

        return asked("the topics to read were listed", ask, self._aborted)

    def starts(self, partitions: list[Partition], committed: Mapping[Partition, int]) -> dict[Partition, int]:
        """Return where to start: at the committed offset if it is in range, otherwise as ``auto.offset.reset`` says.

        Raises ConnectError if that is ``none``.
        """
        ranges = self._ranges(partitions)
        return {
            partition: self._start(partition, *ranges[partition], committed.get(partition)) for partition in partitions
        }

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the ends of the partitions whose leaders answer within a second."""
        found = {}
        with contextlib.suppress(KafkaException):
            for partition in partitions:
                found[partition] = self._consumer.get_watermark_offsets(TopicPartition(*partition), timeout=1.0)[1]
        return found

    def firsts(self, partitions: list[Partition]) -> dict[Partition, int]:
        """Return the first offset of each partition that is there still. Raises ConnectError."""
        return self._asked(partitions, lambda at: at(OFFSET_BEGINNING))

    def _ranges(self, partitions: list[Partition]) -> dict[Partition, tuple[int, int]]:
        """Return the first offset of each partition and the one after its last record, by one request for all."""

        def both(at: Callable[[int], dict[Partition, int]]) -> dict[Partition, tuple[int, int]]:
            first, end = at(OFFSET_BEGINNING), at(OFFSET_END)
            return {partition: (first[partition], end[partition]) for partition in partitions}

        return self._asked(partitions, both)

    def _asked(
        self, partitions: list[Partition], ask: Callable[[Callable[[int], dict[Partition, int]]], dict[Partition, T]]
    ) -> dict[Partition, T]:
        """Return the answer of ``ask``, which gets a function that returns offsets at the beginning or the end."""
        whose = "the topics"

        def at(where: int) -> dict[Partition, int]:
            nonlocal whose
            wanted = [TopicPartition(*partition, where) for partition in partitions]
            found: dict[Partition, int] = {}
            for each in self._consumer.offsets_for_times(wanted, timeout=SECONDS):
                if each.error is not None or each.offset < 0:  # -1 and -2 are what was asked for, not an answer
                    whose = f"{each.topic}-{each.partition}"
                    raise KafkaException(each.error or BrokerError(BrokerError._TIMED_OUT))
                found[each.topic, each.partition] = each.offset
            return found

        if not partitions:
            return {}
        try:
            return asked("the offsets of the topics were read", lambda: ask(at), self._aborted)
        except KafkaException as e:
            raise failed(f"The offsets of {whose} can't be read", e.args[0]) from broker_error(e.args[0])

    def _start(self, partition: Partition, low: int, high: int, committed: int | None) -> int:
        if committed is not None and low <= committed <= high:
            return committed
        topic, number = partition
        if committed is not None:
            log.warning(
                "Offset %d of %s-%d is out of range (%d to %d); auto.offset.reset=%s",
                committed,
                topic,
                number,
                low,
                high,
                self._reset,
            )
        match self._reset:
            case "earliest":
                return low
            case "latest":
                return high
        raise ConnectError(
            f"There is no committed offset in range for {topic}-{number}, and auto.offset.reset={self._reset}"
        )

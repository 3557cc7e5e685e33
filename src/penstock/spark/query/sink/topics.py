"""What a query reads: the partitions of its topics, from where, and how Spark's Kafka source is told so.

Spark reads with Java's consumers, so the connector's consumer settings need no translation; but groups, deserializers
and where to begin are Spark's matter and ours.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from penstock.api.errors import ConnectError
from penstock.core.config.sink import topics_of
from penstock.java.regex import compile_regex
from penstock.kafka.client_settings import connector_consumer
from penstock.pipeline.broker_errors import broker_error
from penstock.spark.query.sink.offsets import Place, failed

log = logging.getLogger(__name__)

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
_INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def kafka_options(worker: Mapping[str, str], connector: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's Kafka source that are the same for every batch."""
    java = connector_consumer(worker, connector, "")
    settings = {f"kafka.{name}": value for name, value in java.items() if name not in _OURS}
    return {
        **settings,
        "includeHeaders": "true",
        # As Java's consumer does, which goes on with what there still is.
        "failOnDataLoss": "false",
    }


def as_json(offsets: Mapping[Place, int]) -> str:
    """As Spark writes offsets of partitions."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(found)


def from_json(text: str) -> dict[Place, int]:
    found: dict[str, dict[str, int]] = json.loads(text)
    return {(topic, int(partition)): offset for topic, each in found.items() for partition, offset in each.items()}


def assignment(places: Any) -> str:
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        found.setdefault(topic, []).append(partition)
    return json.dumps(found)


class Topics:
    """The partitions that ``topics`` or ``topics.regex`` mean."""

    def __init__(self, consumer: Consumer, connector: Mapping[str, str], reset: str) -> None:
        """``reset``: Java's ``auto.offset.reset``."""
        self._consumer, self._reset = consumer, reset
        self._topics = topics_of(connector.get("topics"))
        regex = connector.get("topics.regex", "").strip()
        self._pattern = compile_regex(regex) if regex and not self._topics else None

    def partitions(self) -> list[Place]:
        """Those that there are now. Raises KafkaError."""
        try:
            if self._pattern is not None:
                found = self._consumer.list_topics(timeout=30).topics
                wanted = [name for name in found if name not in _INTERNAL and self._pattern.fullmatch(name)]
            else:
                found = {}
                for topic in self._topics:
                    found |= self._consumer.list_topics(topic, timeout=30).topics
                wanted = self._topics
        except KafkaException as e:
            raise failed("The topics to read can't be listed", e.args[0]) from broker_error(e.args[0])
        return sorted((name, number) for name in wanted if name in found for number in found[name].partitions)

    def starts(self, places: list[Place], committed: Mapping[Place, int]) -> dict[Place, int]:
        """Where to begin: what is committed, if it is still there, otherwise as ``auto.offset.reset`` says.

        Raises ConnectError where it says nothing.
        """
        return {place: self._start(place, committed.get(place)) for place in places}

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """Of those that brokers tell at once; as good as none if they are away."""
        found = {}
        with contextlib.suppress(KafkaException):
            for place in places:
                found[place] = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=1.0)[1]
        return found

    def _start(self, place: Place, committed: int | None) -> int:
        try:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=30)
        except KafkaException as e:
            what = "The offsets of {}-{} can't be asked for".format(*place)
            raise failed(what, e.args[0]) from broker_error(e.args[0])
        if committed is not None and low <= committed <= high:
            return committed
        topic, partition = place
        if committed is not None:
            log.warning(
                "Offset %d of %s-%d is out of range (%d to %d); auto.offset.reset=%s",
                committed,
                topic,
                partition,
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
            f"There is no committed offset of {topic}-{partition} that can be read, and auto.offset.reset={self._reset}"
        )

"""Kafka's clients for connectors: the implementations of ``penstock.api.kafka``."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import ConsumerGroupState, KafkaException, Producer
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from penstock.api.errors import KafkaError
from penstock.api.kafka import KafkaRequestError, Outcome, TopicAcl, TopicSetting, TopicSpec
from penstock.api.sink import TopicPartition
from penstock.core.config.internal_topics import InternalTopics
from penstock.kafka.admin import answer, create_topic, ends, topic_id_outcomes
from penstock.kafka.clients import AT_GROUPS, check_resolvable, new_admin, new_consumer, new_producer
from penstock.kafka.connector_consumer import ConnectorConsumer, asking, failure, request_error
from penstock.kafka.offsets.groups import GroupOffsets
from penstock.kafka.statistics import ClientStatistics
from penstock.kafka.topic_guard import TopicGuard, guard_of

T = TypeVar("T")

log = logging.getLogger(__name__)

SILENT_SECONDS = 30.0
"""Seconds without any answer after which the next request of an admin client is sent by another client."""

_ANY_ACL_OF_TOPICS = AclBindingFilter(
    ResourceType.TOPIC,
    None,  # type: ignore[arg-type]
    ResourcePatternType.ANY,
    None,  # type: ignore[arg-type]
    None,  # type: ignore[arg-type]
    AclOperation.ANY,
    AclPermissionType.ANY,
)


def _outcome(future: Future[Any], timeout: float) -> Outcome:
    try:
        answer(future, timeout)
    except KafkaException as error:
        return failure(error)
    return None


class ConnectorProducer:
    """``KafkaProducer`` of librdkafka; one that has lost its brokers is replaced; what it still holds fails."""

    def __init__(self, make: Callable[..., Producer], guard: TopicGuard) -> None:
        """``make`` gets settings of librdkafka, for statistics."""
        self._make, self._guard = make, guard
        self._lock = threading.Lock()
        self._producer, self._statistics = self._another()

    def _another(self) -> tuple[Producer, ClientStatistics]:
        statistics = ClientStatistics("producer", "")
        return self._make(**statistics.settings()), statistics

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int,
        on_delivery: Callable[[KafkaError | None], None],
    ) -> None:
        def delivered(error: BrokerError | None, _: object) -> None:
            on_delivery(None if error is None else request_error(error))

        with self._lock:
            self._guard.check_written((topic,))
        try:
            self._producer.produce(topic, value, key, partition=partition, on_delivery=delivered)
        except KafkaException as error:
            on_delivery(failure(error))
        except BufferError as error:
            on_delivery(KafkaRequestError(str(error), "_QUEUE_FULL", unreached=True))

    def serve(self) -> None:
        self._producer.poll(0)
        if self._statistics.lost:
            log.warning("A connector's producer has lost all its brokers; replacing it by a new one")
            lost = self._producer
            self._producer, self._statistics = self._another()
            lost.purge()
            lost.flush(1)  # reports what was purged

    def flush(self, seconds: float) -> None:
        self._producer.flush(seconds)


class ConnectorAdmin:
    """``KafkaAdmin``: topics by librdkafka, offsets of groups by kafka-python.

    A client of librdkafka that has not answered for SILENT_SECONDS is replaced: it may have lost all its brokers.
    """

    def __init__(self, settings: Mapping[str, str], guard: TopicGuard, *, asks_groups: bool) -> None:
        self._guard, self._lock = guard, threading.Lock()
        self._settings, self._asks_groups = {**(AT_GROUPS if asks_groups else {}), **settings}, asks_groups
        self._admin: AdminClient | None = new_admin(self._settings)
        self._silent_since: float | None = None
        """Time of the first of the last requests that no broker has answered, by the monotonic clock."""
        self._name = settings.get("client.id", "")
        self._offsets = GroupOffsets(settings, self._name)

    @property
    def _client(self) -> AdminClient:
        if self._admin is None:
            self._admin = new_admin(self._settings)
        return self._admin

    def _asking(self) -> asking:
        """Return ``asking`` that notes whether a broker has answered."""
        return asking(self._heard, self._name)

    def _heard(self, outcomes: Iterable[object]) -> None:
        """Note the outcomes of a request; drop the client if none has been an answer for too long."""
        found = list(outcomes)
        if not found or not all(isinstance(each, KafkaRequestError) and each.unreached for each in found):
            self._silent_since = None
            return
        now = time.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since >= SILENT_SECONDS:
            self._admin = self._silent_since = None

    def _outcomes(self, asked: Mapping[str, Future[Any]], timeout: float) -> dict[str, Outcome]:
        found = {name: _outcome(future, timeout) for name, future in asked.items()}
        self._heard(found.values())
        return found

    def partition_counts(self, timeout: float) -> dict[str, int]:
        with self._asking():
            topics = self._client.list_topics(timeout=timeout).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def topic_ids(self, topics: Iterable[str], timeout: float) -> dict[str, str | KafkaRequestError | None]:
        with asking(client=self._name):
            found = topic_id_outcomes(self._client, topics, timeout)
        ids = {name: failure(id) if isinstance(id, KafkaException) else id for name, id in found.items()}
        self._heard(ids.values())
        return ids

    def ends(
        self, partitions: Iterable[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int | KafkaRequestError]:
        with asking(client=self._name):
            found = ends(self._client, partitions, timeout)
        positions = {
            TopicPartition(*place): failure(end) if isinstance(end, KafkaException) else end
            for place, end in found.items()
        }
        self._heard(positions.values())
        return positions

    def usable(self, topics: Iterable[str], *, writing: bool) -> set[str]:
        with self._lock:
            return self._guard.usable(topics, writing=writing)

    def _check(self, topics: Iterable[str]) -> None:
        with self._lock:
            self._guard.check_written(topics)

    def create_topic(self, topic: TopicSpec, timeout: float) -> None:
        self._check((topic.name,))
        create_topic(self._client, topic, timeout)

    def create_topics(self, topics: Sequence[TopicSpec], timeout: float) -> dict[str, Outcome]:
        self._check(each.name for each in topics)
        new = [
            NewTopic(each.name, each.partitions, each.replication_factor, config=dict(each.configs)) for each in topics
        ]
        return self._outcomes(
            self._client.create_topics(new, operation_timeout=timeout, request_timeout=timeout), timeout
        )

    def add_partitions(self, counts: Mapping[str, int], timeout: float) -> dict[str, Outcome]:
        self._check(counts)
        wanted = [NewPartitions(topic, count) for topic, count in counts.items()]
        return self._outcomes(self._client.create_partitions(wanted, request_timeout=timeout), timeout)

    def topic_settings(self, topics: Iterable[str], timeout: float) -> dict[str, list[TopicSetting]]:
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        with self._asking():
            asked = self._client.describe_configs(resources, request_timeout=timeout)
            return {
                resource.name: [_setting(each) for each in answer(future, timeout).values()]
                for resource, future in asked.items()
            }

    def alter_topic_settings(
        self, changes: Mapping[str, Mapping[str, str | None]], timeout: float
    ) -> dict[str, Outcome]:
        self._check(changes)
        resources = [
            ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[_change(*each) for each in settings.items()])
            for topic, settings in changes.items()
            if settings
        ]
        if not resources:
            return {}
        asked = self._client.incremental_alter_configs(resources, request_timeout=timeout)
        return self._outcomes({resource.name: future for resource, future in asked.items()}, timeout)

    def topic_acls(self, timeout: float) -> list[TopicAcl]:
        with self._asking():
            found = answer(self._client.describe_acls(_ANY_ACL_OF_TOPICS, request_timeout=timeout), timeout)
        return [
            TopicAcl(
                each.name,
                each.principal,
                each.host,
                each.operation.name,
                each.permission_type.name,
                each.resource_pattern_type.name,
            )
            for each in found
        ]

    def create_topic_acls(self, acls: Sequence[TopicAcl], timeout: float) -> dict[TopicAcl, Outcome]:
        self._check(each.topic for each in acls)
        bindings = {
            AclBinding(
                ResourceType.TOPIC,
                each.topic,
                ResourcePatternType[each.pattern],
                each.principal,
                each.host,
                AclOperation[each.operation],
                AclPermissionType[each.permission],
            ): each
            for each in acls
        }
        if not bindings:
            return {}
        asked = self._client.create_acls(list(bindings), request_timeout=timeout)
        found = {bindings[binding]: _outcome(future, timeout) for binding, future in asked.items()}
        self._heard(found.values())
        return found

    def groups(self, timeout: float) -> list[str]:
        with self._asking():
            found = answer(self._client.list_consumer_groups(request_timeout=timeout), timeout)
            if found.errors and not found.valid:  # no broker has answered
                raise KafkaException(found.errors[0])
        return [group.group_id for group in found.valid]

    def is_idle(self, group: str, timeout: float) -> bool | None:
        try:
            with asking(client=self._name):
                asked = self._client.describe_consumer_groups([group], request_timeout=timeout)
                description = answer(asked[group], timeout)
        except KafkaRequestError as error:
            if error.code == "GROUP_ID_NOT_FOUND":
                return None
            if error.unreached and self._asks_groups:
                self._admin = None  # it may wait for a coordinator that is no broker of the cluster any more
            raise
        if description.state == ConsumerGroupState.DEAD:  # what brokers say of a group that there is not
            return None
        return bool(description.state == ConsumerGroupState.EMPTY)

    def committed(self, group: str, timeout: float) -> dict[TopicPartition, tuple[int, str]]:
        with asking(client=self._name):
            return self._offsets.committed(group, timeout)

    def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        with asking(client=self._name):
            self._offsets.commit(group, offsets)

    def close(self) -> None:
        self._offsets.close()


def _setting(entry: ConfigEntry) -> TopicSetting:
    source = ConfigSource(entry.source).name
    return TopicSetting(entry.name, entry.value, source, bool(entry.is_read_only), bool(entry.is_sensitive))


def _change(name: str, value: str | None) -> ConfigEntry:
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    return ConfigEntry(name, value, incremental_operation=operation)


class ConnectorClients:
    """``KafkaClients`` of the runtime.

    ``internal`` returns the topics that no connector may use as they are known now. Called when a client is made, and
    whenever it is to use topics; it may block.
    """

    def __init__(self, internal: Callable[[], InternalTopics] = InternalTopics) -> None:
        self._internal = internal

    def _guard(self, settings: Mapping[str, str]) -> TopicGuard:
        return guard_of(self._internal(), settings).follow(self._internal)

    def check_topics(self, settings: Mapping[str, str], topics: Iterable[str], *, writing: bool) -> None:
        guard = self._guard(settings)
        if writing:
            guard.check_written(topics)
        else:
            guard.check_read(set(topics))

    def consumer(self, settings: Mapping[str, str], *, reports_ends: bool = False) -> ConnectorConsumer:
        named = {"group.id": settings.get("client.id") or "unused", **settings}  # never used, but required
        native = {"enable.partition.eof": reports_ends}
        return ConnectorConsumer(lambda **more: new_consumer(named, **native, **more), self._guard(settings))

    def producer(self, settings: Mapping[str, str]) -> ConnectorProducer:
        return ConnectorProducer(lambda **native: new_producer(settings, **native), self._guard(settings))

    def admin(self, settings: Mapping[str, str], *, asks_groups: bool = False) -> ConnectorAdmin:
        check_resolvable(settings)
        return ConnectorAdmin(settings, self._guard(settings), asks_groups=asks_groups)

"""The mirror connectors' requests to a cluster: topics and their settings, ACLs, groups and their offsets.

Functions over an ``AdminClient`` or ``GroupOffsets``; each waits for its answer, ``timeout`` seconds at most, and
raises KafkaException, or what it says, if the request as a whole fails. Failures of single topics or groups are logged;
the others are processed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException
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
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kafka import errors as group_errors
from penstock.api.errors import KafkaError
from penstock.api.sink import TopicPartition
from penstock.kafka.admin import answer, code_of, sentence
from penstock.kafka.offsets.groups import GroupOffsets

log = logging.getLogger(__name__)

Committed = Mapping[TopicPartition, tuple[int, str]]
"""Offsets of a group, each with its metadata."""

ANY_TOPIC_RIGHTS = AclBindingFilter(
    ResourceType.TOPIC,
    None,  # type: ignore[arg-type]
    ResourcePatternType.ANY,
    None,  # type: ignore[arg-type]
    None,  # type: ignore[arg-type]
    AclOperation.ANY,
    AclPermissionType.ANY,
)


def partition_counts(admin: AdminClient, timeout: float) -> dict[str, int]:
    """Return all topics with the number of their partitions."""
    topics = admin.list_topics(timeout=timeout).topics
    return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}


def topic_settings(admin: AdminClient, topics: Iterable[str], timeout: float) -> dict[str, list[ConfigEntry]]:
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    if not resources:
        return {}
    asked = admin.describe_configs(resources, request_timeout=timeout)
    return {resource.name: list(answer(future, timeout).values()) for resource, future in asked.items()}


def create_topics(admin: AdminClient, topics: list[NewTopic], timeout: float) -> None:
    counts = {topic.topic: topic.num_partitions for topic in topics}
    for name, future in admin.create_topics(topics, operation_timeout=timeout, request_timeout=timeout).items():
        if _done(future, timeout, "Could not create topic %s: %s", name):
            log.info("Created remote topic %s with %d partitions.", name, counts[name])


def grow_topics(admin: AdminClient, counts: Mapping[str, int], timeout: float) -> None:
    """Increase each topic to this number of partitions."""
    wanted = [NewPartitions(topic, count) for topic, count in counts.items()]
    for name, future in admin.create_partitions(wanted, request_timeout=timeout).items():
        problem = "Could not create topic-partitions for %s: %s"
        if _done(future, timeout, problem, name, BrokerError.INVALID_PARTITIONS):
            log.info("Increased size of %s to %d partitions.", name, counts[name])


def alter_settings(
    admin: AdminClient, changes: Mapping[str, Mapping[str, str | None]], timeout: float
) -> Exception | None:
    """Set these settings of topics, or reset them to their defaults (None).

    Returns an error if the cluster does not support it at all.
    """
    resources = []
    for topic, settings in changes.items():
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET if value is not None else _DELETE)
            for name, value in settings.items()
        ]
        if entries:
            resources.append(ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries))
    if not resources:
        return None
    for resource, future in admin.incremental_alter_configs(resources, request_timeout=timeout).items():
        try:
            answer(future, timeout)
        except KafkaException as error:
            if code_of(error) in (BrokerError.UNSUPPORTED_VERSION, BrokerError._UNSUPPORTED_FEATURE):
                return error
            log.warning("Could not alter configuration of topic %s: %s", resource.name, sentence(error))
    return None


_DELETE = AlterConfigOpType.DELETE


def topic_rights(admin: AdminClient, timeout: float) -> list[AclBinding] | None:
    """Return the ACLs of topics, or None if the cluster has no authorizer."""
    try:
        found: list[AclBinding] = answer(admin.describe_acls(ANY_TOPIC_RIGHTS, request_timeout=timeout), timeout)
    except KafkaException as error:
        if code_of(error) == BrokerError.SECURITY_DISABLED:
            return None
        raise
    return found


def grant(admin: AdminClient, rights: Sequence[AclBinding], timeout: float) -> None:
    if not rights:
        return
    for binding, future in admin.create_acls(list(rights), request_timeout=timeout).items():
        _done(future, timeout, "Could not sync ACL of topic %s: %s", binding.name)


def groups(admin: AdminClient, timeout: float) -> list[str]:
    """The consumer groups of the cluster."""
    found = answer(admin.list_consumer_groups(request_timeout=timeout), timeout)
    return [group.group_id for group in found.valid]


def committed(offsets: GroupOffsets, group: str, timeout: float) -> dict[TopicPartition, tuple[int, str]]:
    """The offsets that a group has committed, with their metadata. Raises KafkaError."""
    try:
        return offsets.committed(group, timeout)
    except group_errors.KafkaError as error:
        raise KafkaError(str(error)) from error


def is_idle(admin: AdminClient, group: str, timeout: float) -> bool:
    """Return whether the group exists and has no members."""
    try:
        description = answer(admin.describe_consumer_groups([group], request_timeout=timeout)[group], timeout)
    except KafkaException as error:
        if code_of(error) == BrokerError.GROUP_ID_NOT_FOUND:
            return False
        raise
    return bool(description.state == ConsumerGroupState.EMPTY)


def commit(target: GroupOffsets, group: str, offsets: Committed) -> None:
    """Commit offsets for a group; logged if the group has members, which would not see it, or for another reason."""
    try:
        target.commit(group, offsets)
    except group_errors.UnknownMemberIdError:
        log.warning(
            "Unable to sync offsets for consumer group %s. This is likely caused by consumers currently using this "
            "group in the target cluster.",
            group,
        )
    except group_errors.KafkaError as error:
        log.error("Unable to sync offsets for consumer group %s: %s", group, error)


def _done(future: Future[Any], timeout: float, problem: str, name: str, expected: int | None = None) -> bool:
    """Return whether a request succeeded; log a failure, unless it is the expected one."""
    try:
        answer(future, timeout)
    except KafkaException as error:
        if expected is None or code_of(error) != expected:
            log.warning(problem, name, sentence(error))
        return False
    return True

"""Changes that the mirror connectors make to a cluster: topics, their settings, ACLs, and offsets of groups.

Failures of single topics or groups are logged; the others are processed. If a request as a whole fails, the functions
raise KafkaRequestError.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from penstock.api.kafka import KafkaAdmin, KafkaRequestError, Outcome, TopicAcl, TopicSpec
from penstock.api.sink import TopicPartition

log = logging.getLogger(__name__)

Committed = Mapping[TopicPartition, tuple[int, str]]
"""Offsets of a group, each with its metadata."""


def create_topics(admin: KafkaAdmin, topics: list[TopicSpec], timeout: float) -> None:
    counts = {topic.name: topic.partitions for topic in topics}
    for name, outcome in admin.create_topics(topics, timeout).items():
        if _done(outcome, "Could not create topic %s: %s", name):
            log.info("Created remote topic %s with %d partitions.", name, counts[name])


def grow_topics(admin: KafkaAdmin, counts: Mapping[str, int], timeout: float) -> None:
    """Increase each topic to this number of partitions."""
    for name, outcome in admin.add_partitions(counts, timeout).items():
        if _done(outcome, "Could not create topic-partitions for %s: %s", name, "INVALID_PARTITIONS"):
            log.info("Increased size of %s to %d partitions.", name, counts[name])


def alter_settings(
    admin: KafkaAdmin, changes: Mapping[str, Mapping[str, str | None]], timeout: float
) -> KafkaRequestError | None:
    """Set these settings of topics, or reset them to their defaults (None).

    Returns an error if the cluster does not support it at all.
    """
    for topic, outcome in admin.alter_topic_settings(changes, timeout).items():
        if outcome is not None and outcome.code in ("UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE"):
            return outcome
        _done(outcome, "Could not alter configuration of topic %s: %s", topic)
    return None


def topic_acls(admin: KafkaAdmin, timeout: float) -> list[TopicAcl] | None:
    """Return the ACLs of topics, or None if the cluster has no authorizer."""
    try:
        return admin.topic_acls(timeout)
    except KafkaRequestError as error:
        if error.code == "SECURITY_DISABLED":
            return None
        raise


def grant(admin: KafkaAdmin, acls: Sequence[TopicAcl], timeout: float) -> None:
    for acl, outcome in admin.create_topic_acls(acls, timeout).items():
        _done(outcome, "Could not sync ACL of topic %s: %s", acl.topic)


def commit(target: KafkaAdmin, group: str, offsets: Committed) -> bool:
    """Commit offsets for a group, and return whether that was done; it is logged if not, as when the group has members,
    which would not see it.
    """
    try:
        target.commit(group, offsets)
    except KafkaRequestError as error:
        if error.code == "UNKNOWN_MEMBER_ID":
            warn_of_members(group)
        else:
            log.error("Unable to sync offsets for consumer group %s: %s", group, error)
        return False
    return True


def warn_of_members(group: str) -> None:
    log.warning(
        "Unable to sync offsets for consumer group %s. This is likely caused by consumers currently using this "
        "group in the target cluster.",
        group,
    )


def _done(outcome: Outcome, problem: str, name: str, expected: str | None = None) -> bool:
    """Return whether a request succeeded; log a failure, unless it is the expected one."""
    if outcome is not None and outcome.code != expected:
        log.warning(problem, name, outcome)
    return outcome is None

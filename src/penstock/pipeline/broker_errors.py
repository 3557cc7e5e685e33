"""Errors of brokers and of librdkafka, with the Java class names that traces and dead letter headers show."""

from __future__ import annotations

import re
from collections.abc import Iterable

import confluent_kafka as ck

from penstock.api.errors import ConnectError, KafkaError
from penstock.core.model.tasks import TaskId
from penstock.kafka.admin import NO_ANSWER
from penstock.pipeline.task import TaskFencedError

_NAMES = {
    ck.KafkaError.MSG_SIZE_TOO_LARGE: "RecordTooLargeException",
    ck.KafkaError.RECORD_LIST_TOO_LARGE: "RecordBatchTooLargeException",
    ck.KafkaError._MSG_TIMED_OUT: "TimeoutException",
    ck.KafkaError._TIMED_OUT: "TimeoutException",
    ck.KafkaError.REQUEST_TIMED_OUT: "TimeoutException",
    ck.KafkaError.UNKNOWN_TOPIC_OR_PART: "UnknownTopicOrPartitionException",
    ck.KafkaError._UNKNOWN_TOPIC: "UnknownTopicOrPartitionException",
    ck.KafkaError._UNKNOWN_PARTITION: "UnknownTopicOrPartitionException",
    ck.KafkaError.TOPIC_EXCEPTION: "InvalidTopicException",
    ck.KafkaError.INVALID_REPLICATION_FACTOR: "InvalidReplicationFactorException",
    ck.KafkaError.INVALID_PARTITIONS: "InvalidPartitionsException",
    ck.KafkaError.INVALID_CONFIG: "InvalidConfigurationException",
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ck.KafkaError.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ck.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    ck.KafkaError._AUTHENTICATION: "SaslAuthenticationException",
    ck.KafkaError.SASL_AUTHENTICATION_FAILED: "SaslAuthenticationException",
    ck.KafkaError.INVALID_PRODUCER_EPOCH: "InvalidProducerEpochException",
    ck.KafkaError._FENCED: "ProducerFencedException",
    ck.KafkaError.PRODUCER_FENCED: "ProducerFencedException",
    ck.KafkaError.INVALID_RECORD: "InvalidRecordException",
    ck.KafkaError.POLICY_VIOLATION: "PolicyViolationException",
    ck.KafkaError.NOT_ENOUGH_REPLICAS: "NotEnoughReplicasException",
    ck.KafkaError._NO_OFFSET: "NoOffsetForPartitionException",
    ck.KafkaError._AUTO_OFFSET_RESET: "NoOffsetForPartitionException",
}
_SENTENCES = {
    ck.KafkaError.MSG_SIZE_TOO_LARGE: "The request included a message larger than the max message size the server "
    "will accept.",
    ck.KafkaError.RECORD_LIST_TOO_LARGE: "The request included message batch larger than the configured segment size "
    "on the server.",
    ck.KafkaError.UNKNOWN_TOPIC_OR_PART: "This server does not host this topic-partition.",
    ck.KafkaError.TOPIC_EXCEPTION: "The request attempted to perform an operation on an invalid topic.",
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ck.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ck.KafkaError.INVALID_RECORD: "One or more records have been rejected",
    ck.KafkaError._INVALID_DIFFERENT_RECORD: "Failed to append record because it was part of a batch which had one "
    "more more invalid records",
    ck.KafkaError.NOT_ENOUGH_REPLICAS: "Messages are rejected since there are fewer in-sync replicas than required.",
}
"""Java's messages for these codes."""
_TOPIC_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
_FENCED = (ck.KafkaError.INVALID_PRODUCER_EPOCH, ck.KafkaError._FENCED, ck.KafkaError.PRODUCER_FENCED)
_FORGOTTEN = (ck.KafkaError.INVALID_PRODUCER_ID_MAPPING, ck.KafkaError.UNKNOWN_PRODUCER_ID)

_OUTSIDE_ERRORS = ("InvalidRecordException",)
"""Errors whose Java class is not in the package ``errors``."""


def _kind(name: str) -> type[KafkaError]:
    package = "org.apache.kafka.common" if name in _OUTSIDE_ERRORS else "org.apache.kafka.common.errors"
    return type(name, (KafkaError,), {"java_name": f"{package}.{name}"})


_kinds = {name: _kind(name) for name in _NAMES.values()}


def broker_error(error: ck.KafkaError, where: str = "", reason: str | None = None) -> KafkaError:
    """The error of this code, with the broker's own reason if that is known, and where it happened.

    Without a reason the message is that of Java's clients for the code, else librdkafka's.
    """
    kind = _kinds.get(_NAMES.get(error.code(), ""), KafkaError)
    return kind(f"{reason or _SENTENCES.get(error.code(), error.str())}{f' ({where})' if where else ''}")


def check_topics(names: Iterable[str]) -> None:
    """Raises the error of Java's consumers for names that no topic can have.

    librdkafka says of those, too, that there is no such topic yet.
    """
    if wrong := sorted(name for name in names if not _TOPIC_NAME.fullmatch(name)):
        raise _kinds["InvalidTopicException"](f"Invalid topics: [{', '.join(wrong)}]")


def keyless_record(topic: str, partition: int) -> str:
    """The reason with which brokers refuse a record without a key for a compacted topic.

    librdkafka gets it with the response, but its Python client does not pass it on.
    """
    return f"Compacted topic cannot accept message without key in topic partition {topic}-{partition}."


def is_fenced(error: ck.KafkaError) -> bool:
    """Return whether a newer producer with its transactional id, or a transaction's timeout, has fenced this one."""
    return error.code() in _FENCED


def is_forgotten(error: ck.KafkaError) -> bool:
    """Return whether the brokers have forgotten this producer, which has to claim its transactional id once more.

    They forget an id ``transactional.id.expiration.ms`` (seven days) after its last transaction.
    """
    return error.code() in _FORGOTTEN


def is_away(error: ck.KafkaError) -> bool:
    """Return whether no broker has answered in time; librdkafka does not call all of these errors retriable."""
    return error.code() in NO_ANSWER


_TIMED_OUT = (
    "The task {} was unable to finish writing records to Kafka before its producer transaction expired, or a newer "
    "run of it has taken its place. If it was too slow: tune the connector's producer configuration for higher "
    "throughput, increase its transaction.timeout.ms, decrease the interval (with transaction.boundary=interval), "
    "or use transaction.boundary=poll."
)


def unsent(task: TaskId, error: ck.KafkaError) -> ConnectError:
    """Return the error for a transaction that can't be ended, or a record that can't be sent in it."""
    return transaction_failure(task, error, f"Failed to flush offsets and/or records for task {task}")


def transaction_failure(task: TaskId, error: ck.KafkaError, otherwise: str) -> ConnectError:
    """Return the error for a step of a transaction. Another run, or the same one once the brokers answer again,
    continues after a TaskFencedError.

    Java's producer has no limit of time in Connect; librdkafka's gives up when the transaction's time is over, by which
    the brokers, when they are back, have aborted it. Where they have forgotten the transactional id, nothing of the
    transaction is there, so that a new run can begin it again.
    """
    if is_fenced(error):
        return TaskFencedError(_TIMED_OUT.format(task))
    if is_away(error):
        return TaskFencedError(f"{otherwise}: the brokers have not answered in time")
    if is_forgotten(error):
        return TaskFencedError(
            f"{otherwise}: the brokers have forgotten its transactional id, as they do transactional.id.expiration.ms "
            "after the last transaction"
        )
    return ConnectError(otherwise)

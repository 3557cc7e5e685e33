"""Requests to brokers: topics, their settings, their offsets, the cluster's id.

Functions over an ``AdminClient`` of ``clients``; each blocks, so none is called on the worker's loop. The wording of
errors is Java's: ``TopicAdmin``.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import NamedTuple, TypeVar

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition, Uuid
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from penstock.api.errors import ConfigError, ConnectError
from penstock.api.kafka import TopicSpec
from penstock.api.topic_settings import BROKER_DEFAULT

log = logging.getLogger(__name__)

T = TypeVar("T")

_NO_ID = str(Uuid(0, 0))
TIMEOUT = 60.0
"""Seconds; Java's default.api.timeout.ms."""

# The broker refuses to say; the topic is assumed to exist, or to be created by the broker.
_NOT_ALLOWED = (
    BrokerError.CLUSTER_AUTHORIZATION_FAILED,
    BrokerError.TOPIC_AUTHORIZATION_FAILED,
    BrokerError.UNSUPPORTED_VERSION,
)
NO_ANSWER = (
    BrokerError._TIMED_OUT,
    BrokerError._TIMED_OUT_QUEUE,
    BrokerError._MSG_TIMED_OUT,
    BrokerError._TRANSPORT,
    BrokerError._ALL_BROKERS_DOWN,
    BrokerError._FAIL,
    BrokerError._RESOLVE,
    BrokerError._WAIT_COORD,
    BrokerError._WAIT_CACHE,
    BrokerError._DESTROY_BROKER,  # a broker that is not among those of the last answer is given up, its requests too
    BrokerError._NODE_UPDATE,  # it has another address now
    BrokerError._UNKNOWN_BROKER,
    BrokerError._OUTDATED,
)
"""librdkafka's own errors where no broker has answered; it does not call all of them retriable."""
_UNREACHED = (
    *NO_ANSWER,
    BrokerError.REQUEST_TIMED_OUT,
    BrokerError.THROTTLING_QUOTA_EXCEEDED,  # of topics made in a time (KIP-599); Java's client asks again by itself
    BrokerError.NOT_CONTROLLER,
    BrokerError.LEADER_NOT_AVAILABLE,
    BrokerError.NOT_LEADER_FOR_PARTITION,
    BrokerError.FENCED_LEADER_EPOCH,  # what the client knows of the leader is old
    BrokerError.UNKNOWN_LEADER_EPOCH,  # what the broker knows is
    BrokerError.REPLICA_NOT_AVAILABLE,
    BrokerError.OFFSET_NOT_AVAILABLE,
    BrokerError.KAFKA_STORAGE_ERROR,
    BrokerError.NETWORK_EXCEPTION,
    BrokerError.COORDINATOR_NOT_AVAILABLE,
    BrokerError.COORDINATOR_LOAD_IN_PROGRESS,
    BrokerError.NOT_COORDINATOR,
    BrokerError.UNSTABLE_OFFSET_COMMIT,
)
"""Broker errors that Java's clients retry. librdkafka does not mark them as retriable where an admin client, or one of
several partitions, returns them.
"""
_UNKNOWN = (BrokerError.UNKNOWN_TOPIC_OR_PART, BrokerError._UNKNOWN_TOPIC, BrokerError._UNKNOWN_PARTITION)
"""A broker that has just started does not know all of its topics yet."""


class Creation(enum.Enum):
    """The result of creating a topic."""

    NEW = "new"
    EXISTS = "exists"
    NOT_ALLOWED = "not allowed"
    """The broker does not let us, so the topic may exist or not."""


class NoAnswerError(ConnectError):
    """The brokers did not answer in time; the same call may succeed later."""


class TopicTimeoutError(NoAnswerError):
    """They did not, or too few of them are up."""


def code_of(error: BaseException | None) -> int | None:
    """The broker's or librdkafka's code behind an error of its client."""
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], BrokerError):
        return error.args[0].code()
    return None


def is_unreached(error: BaseException) -> bool:
    """Whether the brokers could not be reached, or not answer now, so that a retry makes sense."""
    return isinstance(error, TimeoutError) or code_of(error) in _UNREACHED


def may_pass(error: BrokerError) -> bool:
    """Whether the same request may succeed a little later: the error is retriable for Java's clients, too."""
    return bool(error.retriable()) or error.code() in (*_UNREACHED, *_UNKNOWN)


def sentence(error: BaseException) -> str:
    """The message of an error of librdkafka."""
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], BrokerError):
        return str(error.args[0].str())
    return str(error) or type(error).__name__


def create_topic(admin: AdminClient, spec: TopicSpec, timeout: float = TIMEOUT) -> Creation:
    """Create the topic unless it exists. Raises ConnectError."""
    new = NewTopic(spec.name, spec.partitions, spec.replication_factor, config=dict(spec.configs))
    try:
        answer(admin.create_topics([new], operation_timeout=timeout, request_timeout=timeout)[spec.name], timeout)
    except KafkaException as e:
        return _not_created(spec, e)
    log.info("Created topic %s", _described(spec))
    return Creation.NEW


def _not_created(spec: TopicSpec, error: KafkaException) -> Creation:
    code = code_of(error)
    if code == BrokerError.TOPIC_ALREADY_EXISTS:
        return Creation.EXISTS
    if code in _NOT_ALLOWED:
        log.debug("Topic '%s' can't be created (%s); assuming that it exists", spec.name, sentence(error))
        return Creation.NOT_ALLOWED
    if code in (BrokerError.INVALID_CONFIG, BrokerError.INVALID_REPLICATION_FACTOR):
        kind = ConnectError if code == BrokerError.INVALID_CONFIG else TopicTimeoutError
        raise kind(f"Unable to create topic(s) '{spec.name}': {sentence(error)}") from error
    if is_unreached(error):
        raise TopicTimeoutError(
            f"Timed out while checking for or creating topic(s) '{spec.name}'. This could indicate a connectivity "
            "issue, unavailable topic partitions, or if this is your first use of the topic it may have taken too long "
            "to create."
        ) from error
    failed = f"Error while attempting to create/find topic(s) '{spec.name}'"
    raise ConnectError(failed) from ConnectError(sentence(error))


def _described(spec: TopicSpec) -> str:
    count = "the broker's default number of" if spec.partitions == BROKER_DEFAULT else str(spec.partitions)
    settings = "".join(f", {name}={value}" for name, value in spec.configs.items())
    return f"`{spec.name}` with {count} partitions{settings}"


def topic_configs(admin: AdminClient, topic: str, timeout: float = TIMEOUT) -> dict[str, str]:
    """All settings of a topic, none if it does not exist or we may not see them. Raises ConnectError."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        entries = answer(admin.describe_configs([resource], request_timeout=timeout)[resource], timeout)
    except KafkaException as e:
        if code_of(e) in (*_NOT_ALLOWED, BrokerError.UNKNOWN_TOPIC_OR_PART):
            return {}
        if is_unreached(e):
            raise TopicTimeoutError(f"Timed out while describing the settings of topic '{topic}': {sentence(e)}") from e
        raise ConnectError(f"Error while attempting to describe the settings of topic '{topic}'") from e
    return {name: entry.value for name, entry in entries.items() if entry.value is not None}


class TopicLimit(NamedTuple):
    """Limits of a topic: the maximum bytes of a record batch, and whether records need keys (compacted topics)."""

    max_bytes: int
    compacted: bool


def topic_limits(admin: AdminClient, topics: Iterable[str], timeout: float = TIMEOUT) -> dict[str, TopicLimit]:
    """The limits of those of the topics that exist. Raises KafkaException, also if we may not see them."""
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    found = {}
    for resource, future in admin.describe_configs(resources, request_timeout=timeout).items():
        try:
            configs = answer(future, timeout)
            compacted = "compact" in configs["cleanup.policy"].value
            found[resource.name] = TopicLimit(int(configs["max.message.bytes"].value), compacted)
        except KafkaException as e:
            if code_of(e) != BrokerError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


def verify_only_compact(admin: AdminClient, topic: str, setting: str, purpose: str, timeout: float = TIMEOUT) -> None:
    """Raise ConfigError unless the topic is compacted and nothing else. A policy that can't be read passes."""
    given = topic_configs(admin, topic, timeout).get("cleanup.policy", "")
    policies = sorted({part.strip().lower() for part in given.split(",")} - {""})
    if policies in ([], ["compact"]):
        return
    raise ConfigError(
        f"Topic '{topic}' supplied via the '{setting}' property is required to have 'cleanup.policy=compact' to "
        f"guarantee consistency and durability of {purpose}, but found the topic currently has "
        f"'cleanup.policy={','.join(policies)}'. Continuing would likely result in eventually losing {purpose} and "
        f"problems restarting this Connect cluster in the future. Change the '{setting}' property in the Connect "
        "worker configurations to use a topic with 'cleanup.policy=compact'."
    )


def partition_counts(admin: AdminClient, topics: Iterable[str], timeout: float = TIMEOUT) -> dict[str, int]:
    """The number of partitions of those of the topics that exist; never creates one. Raises ConnectError."""
    names = list(dict.fromkeys(topics))
    counts: dict[str, int] = {}
    for name, future in admin.describe_topics(TopicCollection(names), request_timeout=timeout).items():
        try:
            counts[name] = len(answer(future, timeout).partitions)
        except KafkaException as e:
            if code_of(e) == BrokerError.UNKNOWN_TOPIC_OR_PART:
                continue
            if is_unreached(e):
                raise TopicTimeoutError(f"Timed out while describing topic(s) '{name}': {sentence(e)}") from e
            raise ConnectError(f"Error while attempting to describe topic(s) '{name}': {sentence(e)}") from e
    return counts


def topic_ids(admin: AdminClient, topics: Iterable[str], timeout: float = TIMEOUT) -> dict[str, str]:
    """The IDs (KIP-516) of those of the topics that exist and have one. Raises KafkaException."""
    found = {}
    for name, id in topic_id_outcomes(admin, topics, timeout).items():
        if isinstance(id, KafkaException):
            raise id
        if id is not None:
            found[name] = id
    return found


def topic_id_outcomes(
    admin: AdminClient, topics: Iterable[str], timeout: float
) -> dict[str, str | KafkaException | None]:
    """The IDs of those of the topics that exist, or the errors; None for a topic whose brokers know no IDs."""
    found: dict[str, str | KafkaException | None] = {}
    for name, future in admin.describe_topics(TopicCollection(list(topics)), request_timeout=timeout).items():
        try:
            id = str(answer(future, timeout).topic_id)
            found[name] = None if id == _NO_ID else id
        except KafkaException as error:
            if code_of(error) not in _UNKNOWN:
                found[name] = error
    return found


def ends(
    admin: AdminClient, partitions: Iterable[tuple[str, int]], timeout: float
) -> dict[tuple[str, int], int | KafkaException]:
    """The offsets after the last records of those of the partitions that exist, or the errors."""
    asked = {TopicPartition(*each): OffsetSpec.latest() for each in partitions}
    found: dict[tuple[str, int], int | KafkaException] = {}
    leaderless: dict[tuple[str, int], KafkaException] = {}
    for where, future in admin.list_offsets(asked, request_timeout=timeout).items() if asked else ():
        place = (where.topic, where.partition)
        try:
            offset = answer(future, timeout).offset
            if offset < 0:  # without an error, while the leader can't be reached
                raise KafkaException(BrokerError(BrokerError._TIMED_OUT, f"The end of {where.topic} is not known"))
            found[place] = offset
        except KafkaException as error:
            if code_of(error) == BrokerError._NOENT:
                leaderless[place] = error
            elif code_of(error) not in _UNKNOWN:
                found[place] = error
    return found | _existing(admin, leaderless, timeout)


def _existing(
    admin: AdminClient, leaderless: dict[tuple[str, int], KafkaException], timeout: float
) -> dict[tuple[str, int], KafkaException]:
    """Return those of the partitions that exist. librdkafka gives them all this error if none of them has a leader,
    also because there is no such partition.
    """
    topics = list({topic for topic, _ in leaderless})
    if not topics:
        return {}
    counts: dict[str, int] = {}
    errors: dict[str, KafkaException] = {}
    for name, future in admin.describe_topics(TopicCollection(topics), request_timeout=timeout).items():
        try:
            counts[name] = len(answer(future, timeout).partitions)
        except KafkaException as error:
            if code_of(error) not in _UNKNOWN:
                errors[name] = error
    return {
        (topic, partition): errors.get(topic, error)
        for (topic, partition), error in leaderless.items()
        if topic in errors or partition < counts.get(topic, 0)
    }


def offsets_at(
    admin: AdminClient,
    topic: str,
    partitions: Iterable[int],
    spec: OffsetSpec,
    timeout: float = TIMEOUT,
    *,
    committed: bool = False,
) -> dict[int, int]:
    """The offsets of ``OffsetSpec.earliest()`` or ``latest()``; raises KafkaException. With ``committed``, the latest
    is the last stable offset: where the first open transaction begins.
    """
    asked = {TopicPartition(topic, partition): spec for partition in partitions}
    if not asked:
        return {}
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    futures = admin.list_offsets(asked, isolation_level=isolation, request_timeout=timeout)
    offsets = {where.partition: answer(future, timeout).offset for where, future in futures.items()}
    if min(offsets.values()) < 0:
        # librdkafka's answer, without an error, while the leaders can't be reached.
        raise KafkaException(BrokerError(BrokerError._TIMED_OUT, f"The offsets of topic {topic} are not known"))
    return offsets


def cluster_id(admin: AdminClient, timeout: float = TIMEOUT) -> str:
    """The id of the Kafka cluster. Raises ConnectError, NoAnswerError among them, with the message with which Java's
    worker ends.
    """
    try:
        found = admin.list_topics(timeout=timeout).cluster_id
    except KafkaException as e:
        kind = NoAnswerError if is_unreached(e) else ConnectError
        raise kind(
            "Failed to connect to and describe Kafka cluster. Check worker's broker connection and security "
            f"properties. ({sentence(e)})"
        ) from e
    return found or ""


def answer(future: Future[T], timeout: float) -> T:
    """Return the response to an admin client's request, which librdkafka gives up after ``timeout``.

    Raises the future's KafkaException, but as a new object: the original would hold the frames that it has passed, and
    with them the future and the client, so that the client's threads and connections would stay until Python's garbage
    collector runs.
    """
    try:
        error = future.exception(timeout + 5)
    except FutureTimeout:  # librdkafka has not given up
        error = KafkaException(BrokerError(BrokerError._TIMED_OUT))
    if error is not None:
        raise type(error)(*error.args)
    return future.result()

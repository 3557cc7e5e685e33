"""Kafka clusters, for connectors that read, write or manage one themselves. Provisional.

``context.kafka`` of connectors and of source tasks makes the clients. Their settings are those of Java's clients, as
texts, and nothing is added to them: not the worker's own cluster, not its logins. A setting that Java's client would
refuse raises ConfigError, a client that can't be made KafkaError.

A client refuses topics that belong to workers or to Kafka itself where it is to read, write, create or change one:
ConnectError. Whether a cluster is the worker's is asked of its brokers if a topic has the name of such a one:
RetriableError if none answers.

All times are in seconds. Every method may be called from any thread, unless it says otherwise; those with a ``timeout``
wait for their answer, so long at most, and raise KafkaRequestError if there is none or it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from penstock.api.errors import ConnectError, KafkaError
from penstock.api.record import Header
from penstock.api.sink import TopicPartition
from penstock.api.topic_settings import BROKER_DEFAULT

EARLIEST, LATEST, COMMITTED = -2, -1, -1000
"""Positions in place of an offset: that of the first record, that after the last, and that of the consumer's group, or
where ``auto.offset.reset`` says if it has none.
"""


class KafkaRequestError(KafkaError):
    """A request that brokers refused, or did not answer in time."""

    def __init__(self, message: str, code: str, *, unreached: bool = False) -> None:
        """Make an error; ``code`` is Kafka's name of it, such as TOPIC_AUTHORIZATION_FAILED.

        The client's own errors begin with an underscore, such as _TIMED_OUT. ``unreached``: the brokers could not be
        reached, or not answer now, so that a retry makes sense.
        """
        super().__init__(message)
        self.code, self.unreached = code, unreached


Outcome = KafkaRequestError | None
"""The outcome of a request for one topic, or one of whatever it is for: None if it has succeeded."""


@dataclass(frozen=True, slots=True)
class KafkaRecords:
    """Records of one fetch, as columns of equal length, in the order of each partition."""

    topics: list[str]
    partitions: list[int]
    offsets: list[int]
    timestamps: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    headers: list[tuple[Header, ...]] | None
    """None if no record has any."""
    ended: tuple[TopicPartition, ...] = ()
    """Partitions whose end was reached, if the consumer reports that; their records are among these, or came before."""
    errors: tuple[tuple[str, KafkaRequestError], ...] = ()
    """Topics that could not be read, each with the error; the consumer goes on trying."""
    leader_epochs: Mapping[tuple[str, int], int | None] = field(default_factory=dict)
    """The leader epoch of the last record of each partition; None if the broker has not told it."""

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.offsets)


class KafkaConsumer(Protocol):
    """Reads the partitions that it is given; it joins no group. Used by one thread at a time."""

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets, or EARLIEST, LATEST or COMMITTED; no others from now on.

        An ``OffsetAndMetadata`` with the leader epoch of the record before it is compared with the partition's log
        (KIP-320): where the log has lost that record, ``auto.offset.reset`` says where reading begins.
        Raises ConnectError for a topic that no connector may read.
        """

    def fetch(self, max_records: int, seconds: float) -> KafkaRecords | None:
        """Return what has arrived, after waiting for it at most so long; None if nothing has."""

    def positions(self) -> dict[TopicPartition, int | None]:
        """Return the offset of the next record of each partition; None if it is not known yet."""

    def ends(self) -> dict[TopicPartition, int | None]:
        """Return the offset after the last record of each partition, as the last fetch saw it; None if unknown."""

    def check_topic(self, topic: str, timeout: float) -> None:
        """Raise KafkaRequestError unless a broker knows the topic and lets this client see it."""

    def close(self) -> None:
        """Close its connections; called once, at the end."""


class KafkaProducer(Protocol):
    """Sends records. Its connections are closed when nobody refers to it any more."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int,
        on_delivery: Callable[[KafkaError | None], None],
    ) -> None:
        """Send a record; ``on_delivery`` is called once with its outcome: by this, ``serve`` or ``flush``.

        Raises ConnectError for a topic that no connector may write.
        """

    def serve(self) -> None:
        """Report the outcomes that have arrived, without waiting."""

    def flush(self, seconds: float) -> None:
        """Wait, so long at most, until the outcomes of all records have been reported."""


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic to create; -1 and settings that are not given are the broker's defaults."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicSetting:
    """A setting of a topic, as the brokers tell it."""

    name: str
    value: str | None
    """None for a secret."""
    source: str
    """Source of the value: DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG, ..., see KIP-226."""
    is_read_only: bool = False
    is_sensitive: bool = False

    @property
    def is_default(self) -> bool:
        """Whether it is set nowhere."""
        return self.source == "DEFAULT_CONFIG"


@dataclass(frozen=True, slots=True)
class TopicAcl:
    """A rule of who may do what with topics, by Kafka's names: READ, ALLOW, LITERAL, ..."""

    topic: str
    principal: str
    host: str
    operation: str
    permission: str
    pattern: str = "LITERAL"


class KafkaAdmin(Protocol):
    """Asks and changes a cluster. Its connections are closed when nobody refers to it any more."""

    def partition_counts(self, timeout: float) -> dict[str, int]:
        """Return all topics with the number of their partitions."""

    def topic_ids(self, topics: Iterable[str], timeout: float) -> dict[str, str | KafkaRequestError | None]:
        """Return the IDs of topics (KIP-516), or the error of each, without those that do not exist.

        The ID is None if the brokers know none.
        """

    def ends(
        self, partitions: Iterable[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int | KafkaRequestError]:
        """Return the offset after the last record of each partition, or its error, without those that do not exist."""

    def usable(self, topics: Iterable[str], *, writing: bool) -> set[str]:
        """Return the topics that connectors may read, or write; those left out are logged, once."""

    def create_topic(self, topic: TopicSpec, timeout: float) -> None:
        """Create a topic unless it exists, or only others may create it. Raises ConnectError."""

    def create_topics(self, topics: Sequence[TopicSpec], timeout: float) -> dict[str, Outcome]:
        """Create topics; return the outcome of each."""

    def add_partitions(self, counts: Mapping[str, int], timeout: float) -> dict[str, Outcome]:
        """Increase topics to these numbers of partitions; return the outcome of each."""

    def topic_settings(self, topics: Iterable[str], timeout: float) -> dict[str, list[TopicSetting]]:
        """Return the settings of topics."""

    def alter_topic_settings(
        self, changes: Mapping[str, Mapping[str, str | None]], timeout: float
    ) -> dict[str, Outcome]:
        """Set these settings of topics, or reset them to their defaults (None); return the outcome of each topic."""

    def topic_acls(self, timeout: float) -> list[TopicAcl]:
        """Return the rules of all topics; SECURITY_DISABLED if the cluster has no authorizer."""

    def create_topic_acls(self, acls: Sequence[TopicAcl], timeout: float) -> dict[TopicAcl, Outcome]:
        """Add rules, each of which may be there; return the outcome of each. No two may be equal."""

    def groups(self, timeout: float) -> list[str]:
        """Return the consumer groups."""

    def is_idle(self, group: str, timeout: float) -> bool | None:
        """Return whether the group has no members; None if there is no such group."""

    def committed(self, group: str, timeout: float) -> dict[TopicPartition, tuple[int, str]]:
        """Return the offsets that a group has committed, each with its metadata; none if there is no such group."""

    def commit(self, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]) -> None:
        """Commit offsets, each with its metadata, for a group without members; UNKNOWN_MEMBER_ID if it has some."""

    def close(self) -> None:
        """Close the connections to coordinators of groups; they are made again when they are needed."""


class KafkaClients(Protocol):
    """Makes clients of Kafka clusters: ``context.kafka``."""

    def check_topics(self, settings: Mapping[str, str], topics: Iterable[str], *, writing: bool) -> None:
        """Raise ConnectError for a topic that no connector may read, or write.

        ``settings`` are those of a client of the cluster. Clients check the topics themselves when they use them; this
        is for a task that is to fail when it starts.
        """

    def consumer(self, settings: Mapping[str, str], *, reports_ends: bool = False) -> KafkaConsumer:
        """Make a consumer, which reads nothing yet.

        ``reports_ends``: a fetch says which partitions have ended; whenever that happens, once.
        """

    def producer(self, settings: Mapping[str, str]) -> KafkaProducer:
        """Make a producer."""

    def admin(self, settings: Mapping[str, str], *, asks_groups: bool = False) -> KafkaAdmin:
        """Make an admin client. Raises KafkaError if no address of the cluster can be resolved.

        ``asks_groups``: for clients that call ``is_idle`` again and again. They find a coordinator again that was away.
        """


class NoKafkaClients:
    """``KafkaClients`` where there are none: each method raises ConnectError with the reason."""

    def __init__(self, reason: str) -> None:
        """Make them; ``reason`` is a sentence."""
        self._reason = reason

    def check_topics(self, settings: Mapping[str, str], topics: Iterable[str], *, writing: bool) -> NoReturn:
        """Raise ConnectError."""
        raise ConnectError(self._reason)

    def consumer(self, settings: Mapping[str, str], *, reports_ends: bool = False) -> NoReturn:
        """Raise ConnectError."""
        raise ConnectError(self._reason)

    def producer(self, settings: Mapping[str, str]) -> NoReturn:
        """Raise ConnectError."""
        raise ConnectError(self._reason)

    def admin(self, settings: Mapping[str, str], *, asks_groups: bool = False) -> NoReturn:
        """Raise ConnectError."""
        raise ConnectError(self._reason)

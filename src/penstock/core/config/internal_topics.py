"""Internal topics: those that belong to workers or to Kafka, and that no connector may read or write.

A topic is identified by the ID of its Kafka cluster and its name, so that a topic of another cluster that has the same
name stays usable, as mirrors need. Plain data: the worker makes an ``InternalTopics``, and every task gets one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from penstock.api.errors import ConnectError

TOPICS_DENIED = "penstock.topics.denied"
OF_KAFKA = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""Kafka's own topics, of every cluster. Brokers let consumers read them, and so may connectors, as in Java."""
OFFSETS_OF_CONNECTOR = "the offsets topic of a connector"


class InternalTopicError(ConnectError):
    """A connector's client was to use an internal topic; no record was read or written.

    A refusal, not a failure of records: ``errors.tolerance`` does not apply, and the worker writes an audit record.
    """

    java_name = "penstock.errors.InternalTopicException"


@dataclass(frozen=True, slots=True)
class InternalTopics:
    """The internal topics that a worker knows."""

    owners: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of the topics on the worker's cluster, by name."""
    denied: tuple[str, ...] = ()
    """Patterns of ``penstock.topics.denied``, for topics on the worker's cluster."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Offsets topics of connectors on other clusters: pairs of the cluster's ID and the name."""
    servers: str = ""
    """``bootstrap.servers`` of the worker."""
    cluster: str = ""
    """ID of the worker's cluster."""

    def is_here(self, servers: str) -> bool:
        """Whether these ``bootstrap.servers`` have an address in common with the worker's.

        Other addresses may lead to the same cluster: only its ID tells.
        """
        return not _addresses(servers).isdisjoint(_addresses(self.servers))

    def suspects(self, topics: Collection[str], *, writing: bool) -> set[str]:
        """Return those of the topics that are internal on some cluster."""
        names = {name for _, name in self.elsewhere}
        return {
            topic
            for topic in topics
            if isinstance(topic, str)  # a plugin's record may lack a topic, which is refused when it is sent
            and (
                (plain := _plain(topic)) in self.owners
                or plain in names
                or (writing and plain in OF_KAFKA)
                or self._is_denied(plain)
            )
        }

    def owner(self, topic: str, cluster: str | None, *, writing: bool) -> str | None:
        """Describe whose topic this is on the cluster of this ID, or return None if it is not internal.

        ``cluster``: None if the ID is not known.
        """
        plain = _plain(topic)
        if writing and plain in OF_KAFKA:
            return "a topic of Kafka's own"
        if cluster is None:
            return None
        if cluster == self.cluster and plain in self.owners:
            return self.owners[plain]
        if cluster == self.cluster and self._is_denied(plain):
            return f"a topic that `{TOPICS_DENIED}` of the worker denies"
        return OFFSETS_OF_CONNECTOR if (cluster, plain) in self.elsewhere else None

    def _is_denied(self, topic: str) -> bool:
        return any(fnmatchcase(topic, pattern) for pattern in self.denied)


NO_INTERNAL_TOPICS = InternalTopics()


def refusal(topic: str, owner: str, *, writing: bool) -> str:
    """Return the sentence with which a topic is refused."""
    return (
        f"{topic} is {owner}, which no connector may {'write' if writing else 'read'}: name a topic that is neither a "
        "worker's nor Kafka's"
    )


def _plain(topic: str) -> str:
    """Return a name as Kafka's C client takes it, which ends at a NUL byte; brokers refuse all other variants."""
    return topic.partition("\0")[0].strip()


def _addresses(servers: str) -> frozenset[str]:
    return frozenset(each.strip().casefold() for each in servers.split(",") if each.strip())

"""Refusal of internal topics where a connector's clients use topics: the last check before Kafka.

A configuration is checked before (``core.config.permissions.topics``). But a task or a transform may choose a record's
topic, and the addresses of brokers do not tell which cluster they belong to.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from confluent_kafka import KafkaException

from penstock.api.errors import ConnectError, KafkaError, RetriableError
from penstock.core.config.clients import ADMIN_SETTINGS
from penstock.core.config.internal_topics import InternalTopicError, InternalTopics, refusal
from penstock.kafka.admin import sentence
from penstock.kafka.client_settings import bootstrap_servers
from penstock.kafka.clients import SILENT, new_admin

log = logging.getLogger(__name__)

LOOK_UP_S = 10.0
MAX_KNOWN = 10_000
"""Topics that a guard remembers to be none of these."""


Latest = Callable[[], InternalTopics | None]
"""Returns the internal topics that are known by now; None if they are those known at the start."""


class TopicGuard:
    """Guard of the topics that one client of a connector uses. Used by one thread at a time."""

    def __init__(self, internal: InternalTopics, servers: str, look_up: Callable[[], str | None]) -> None:
        """``servers``: the client's ``bootstrap.servers``. ``look_up`` asks the brokers for the ID of their cluster; it
        is called only for a topic that has the name of an internal one, and raises KafkaException.
        """
        self.internal = internal
        self._here, self._look_up = internal.is_here(servers), look_up
        self._cluster: str | None = None
        self._fine: set[str] = set()
        self._excluded: set[str] = set()
        self._latest: Latest = lambda: None

    def follow(self, latest: Latest) -> Self:
        """Take the internal topics that this returns from now on, if it returns any. Called at most once."""
        self._latest = latest
        return self

    def _update(self) -> None:
        if (latest := self._latest()) is not None and latest is not self.internal:
            self.internal = latest
            self._fine.clear()

    def check_read(self, topics: Collection[str]) -> None:
        """Raises InternalTopicError for a topic that may not be read; RetriableError if it is not known whether it may,
        since no broker answers.
        """
        self._check(topics, writing=False)

    def check_written(self, topics: Iterable[str]) -> None:
        """Do the same for topics that are written, or created. Called with the topics of each batch."""
        self._update()
        new = set(topics) - self._fine
        if new:
            self._check(new, writing=True)
            if len(self._fine) > MAX_KNOWN:
                self._fine.clear()
            self._fine |= new

    def readable(self, topics: Iterable[str], cluster: str | None) -> set[str]:
        """Return the topics, of all of the cluster of this ID, that a pattern may match."""
        self._update()
        return self._without(set(topics), None if self._here else cluster, writing=False)

    def usable(self, topics: Iterable[str], *, writing: bool) -> set[str]:
        """Return those of the topics that may be read, or written; raises RetriableError as ``check_read``."""
        self._update()
        wanted = set(topics)
        suspects = self.internal.suspects(wanted, writing=writing)
        return self._without(wanted, self.cluster(suspects), writing=writing) if suspects else wanted

    def _without(self, topics: set[str], cluster: str | None, *, writing: bool) -> set[str]:
        where = self.internal.cluster if self._here else cluster
        found = {
            topic
            for topic in self.internal.suspects(topics, writing=writing)
            if self.internal.owner(topic, where, writing=writing) is not None
        }
        if new := found - self._excluded:
            log.warning("Leaving out topics that belong to workers or Kafka: %s", ", ".join(sorted(new)))
            self._excluded |= new
        return topics - found

    def _check(self, topics: Collection[str], *, writing: bool) -> None:
        suspects = sorted(self.internal.suspects(topics, writing=writing))
        for topic in suspects:
            owner = self.internal.owner(topic, self.cluster(suspects), writing=writing)
            if owner is not None:
                raise InternalTopicError(refusal(topic, owner, writing=writing))

    def cluster(self, topics: Collection[str]) -> str | None:
        """Return the ID of the client's cluster. Raises RetriableError if no broker answers."""
        if self._here:
            return self.internal.cluster
        if self._cluster is None:
            try:
                self._cluster = self._look_up()
            except KafkaException as e:
                raise RetriableError(
                    f"Topics {', '.join(sorted(topics))} have names of internal ones, and whether they are on the "
                    f"worker's cluster is not known: {sentence(e)}"
                ) from e
        return self._cluster


def look_up(settings: Mapping[str, Any], timeout: float = LOOK_UP_S) -> str | None:
    """Ask the brokers that a client with these settings of Java reaches for their cluster's ID.

    Raises KafkaException.
    """
    known = {name: value for name, value in settings.items() if name in ADMIN_SETTINGS.keys and name != "client.id"}
    return new_admin(known, log_level=SILENT).list_topics(timeout=timeout).cluster_id


def guard_of(internal: InternalTopics, settings: Mapping[str, Any]) -> TopicGuard:
    """Make the guard of clients with these settings of Java."""
    return TopicGuard(internal, bootstrap_servers(settings), lambda: look_up(settings))


@dataclass(slots=True)
class ClusterIds:
    """IDs of clusters by their addresses; what was asked once is not asked again. Any thread may use this."""

    timeout: float = 5.0
    """Seconds to wait for an answer."""
    retry: float = 60.0
    """Seconds until brokers that have not answered are asked again."""
    _known: dict[str, tuple[str | None, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, settings: Mapping[str, Any]) -> str | None:
        """Return the ID of the cluster of a client with these settings of Java; None if it is not known. May block."""
        servers = bootstrap_servers(settings)
        now = time.monotonic()
        with self._lock:
            known = self._known.get(servers)
        if known is not None and (known[0] is not None or now < known[1]):
            return known[0]
        try:
            found = look_up(settings, self.timeout)
        except (KafkaException, KafkaError, ConnectError) as error:
            log.warning("The ID of the Kafka cluster at %s is not known: %s", servers, sentence(error))
            found = None
        with self._lock:
            if len(self._known) > MAX_KNOWN:
                self._known.clear()
            self._known[servers] = (found, now + self.retry)
        return found

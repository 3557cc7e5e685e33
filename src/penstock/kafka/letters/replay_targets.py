"""Targets of a replay of dead letters: the topics that the connector reads by its own configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import Consumer

from penstock.api.errors import ConnectError
from penstock.core.config.internal_topics import InternalTopics
from penstock.core.config.sink import topics_of
from penstock.java.regex import compile_regex
from penstock.java.regex.pattern import JavaPattern
from penstock.kafka.client_settings import bootstrap_servers
from penstock.kafka.letters.queue import Letter
from penstock.kafka.topic_guard import TopicGuard

LOOK_UP_SECONDS = 30.0


def check_replay(connector: str, kind: str, config: Mapping[str, str]) -> None:
    """Raises ConnectError for a connector whose dead letters can't be replayed."""
    if kind == "source":
        raise ConnectError(
            f"Connector {connector} is a source: its dead letters are records that could not be converted for "
            "their topic. Fix the cause, then let the source read them again: `penstock offsets alter`"
        )
    reads, writes = (config.get(f"{c}.override.bootstrap.servers") for c in ("consumer", "producer"))
    if reads != writes:
        raise ConnectError(
            f"Connector {connector} reads from one Kafka cluster and has its dead letter queue on another "
            "(consumer.override.bootstrap.servers and producer.override.bootstrap.servers differ): its dead letters "
            "can't be sent back in one transaction"
        )


def only_topic(config: Mapping[str, str]) -> str | None:
    """The one topic that the connector reads; None if there may be several."""
    topics = topics_of(config.get("topics"))
    return topics[0] if len(topics) == 1 else None


class ReplayTargets(Protocol):
    """The topics to which the dead letters of a sink may be sent: those that it reads by its own configuration."""

    def may_receive(self, topic: str, letter: Letter | None) -> bool:
        """Whether this topic is one. ``letter``: the one that names it, None if a user does.

        Raises ConnectError if that is not known.
        """

    def __str__(self) -> str:
        """Return the setting that says which topics these are."""


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """``ReplayTargets`` of a configuration whose references are resolved."""

    names: frozenset[str]
    pattern: JavaPattern | None
    """``topics.regex``; None if topics are named."""
    guard: TopicGuard
    """Guard of the producer of the replay."""
    existing: frozenset[str] = frozenset()
    """The topics that exist, which a pattern may match."""

    @classmethod
    def of(
        cls, config: Mapping[str, str], consumer: Consumer, settings: Mapping[str, Any], internal: InternalTopics
    ) -> ReadTopics:
        """``consumer`` and its ``settings``: of the queue's cluster, which is also that of the topics.

        Raises ConfigError for a ``topics.regex`` that Java does not take.
        """
        names, pattern = frozenset(topics_of(config.get("topics"))), config.get("topics.regex", "").strip()
        compiled = compile_regex(pattern) if pattern and not names else None
        existing = frozenset(consumer.list_topics(timeout=LOOK_UP_SECONDS).topics) if compiled else frozenset[str]()

        def look_up() -> str | None:
            return consumer.list_topics(timeout=LOOK_UP_SECONDS).cluster_id

        return cls(names, compiled, TopicGuard(internal, bootstrap_servers(settings), look_up), existing)

    def may_receive(self, topic: str, letter: Letter | None) -> bool:
        matched = self.pattern is not None and topic in self.existing and self.pattern.fullmatch(topic) is not None
        return (matched or topic in self.names) and topic in self.guard.usable({topic}, writing=True)

    def __str__(self) -> str:
        return f"topics.regex={self.pattern.pattern}" if self.pattern else f"topics={','.join(sorted(self.names))}"

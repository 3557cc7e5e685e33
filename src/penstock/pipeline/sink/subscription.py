"""The topics that a sink task reads: a list, or a regular expression of Java's that is expanded here.

librdkafka's own patterns are of another dialect. Java: ``SinkConnectorConfig.parseTopicsList``,
``Consumer.subscribe(Pattern)``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, KafkaException, TopicPartition

from penstock.api.errors import RetriableError
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS, InternalTopics
from penstock.core.config.sink import topics_of
from penstock.java.regex import compile_regex
from penstock.kafka.client_settings import bootstrap_servers, unmatched_topics
from penstock.kafka.topic_guard import LOOK_UP_S, Latest, TopicGuard
from penstock.pipeline.broker_errors import check_topics

log = logging.getLogger(__name__)

Rebalance = Callable[[Consumer, list[TopicPartition]], None]


class Subscription:
    """Subscribes a consumer, again whenever other topics match."""

    def __init__(
        self,
        config: Mapping[str, str],
        consumer: Mapping[str, str],
        max_age: float,
        internal: InternalTopics = NO_INTERNAL_TOPICS,
        latest: Latest = lambda: None,
    ) -> None:
        """``consumer``: its settings, as Java's. ``max_age``: seconds between two look-ups. ``internal``: topics that
        are refused if they are named, and match no pattern; ``latest``: see ``TopicGuard.follow``.
        """
        self._internal, self._latest, self._servers = internal, latest, bootstrap_servers(consumer)
        self._guard: TopicGuard | None = None
        self._topics = set(topics_of(config.get("topics")))
        regex = config.get("topics.regex", "").strip()
        self._pattern = compile_regex(regex) if regex and not self._topics else None
        self._unmatched = unmatched_topics(consumer)
        self._max_age, self._next = max_age, 0.0
        self._subscribed: set[str] | None = None

    def update(
        self, consumer: Consumer, now: float, on_assign: Rebalance, on_revoke: Rebalance, on_lost: Rebalance
    ) -> None:
        """Called by the loop in each turn; subscribes at first, and when topics have been created or deleted.

        Raises KafkaError for a name that no topic can have, InternalTopicError for a topic that may not be read.
        """
        if now < self._next:
            return
        wanted = self._topics
        if self._pattern is not None:
            self._next = now + self._max_age
            try:
                listed = consumer.list_topics(timeout=10)
            except KafkaException as e:
                log.warning("The topics that match %s could not be listed: %s", self._pattern.pattern, e.args[0].str())
                self._next = now + 1.0
                return
            names = {name for name in listed.topics if name not in self._unmatched and self._pattern.fullmatch(name)}
            wanted = self._guarded(consumer).readable(names, listed.cluster_id)
        else:
            check_topics(wanted)
            try:
                self._guarded(consumer).check_read(wanted)
            except RetriableError as e:
                log.warning("%s", e)
                self._next = now + 1.0
                return
            self._next = float("inf")
        if wanted != self._subscribed:
            self._subscribed = wanted
            log.info("Subscribing to topics %s", ", ".join(sorted(wanted)) or "(none matches yet)")
            if wanted:
                consumer.subscribe(sorted(wanted), on_assign=on_assign, on_revoke=on_revoke, on_lost=on_lost)
            else:
                consumer.unsubscribe()

    def _guarded(self, consumer: Consumer) -> TopicGuard:
        if self._guard is None:
            guard = TopicGuard(
                self._internal, self._servers, lambda: consumer.list_topics(timeout=LOOK_UP_S).cluster_id
            )
            self._guard = guard.follow(self._latest)
        return self._guard

"""The IDs of the topics that a sink task reads (KIP-516): a topic that was deleted and created again has another one,
and the task's positions in the old topic mean nothing in it.

The consumer goes on from its position in the new topic if that has so many records. So the IDs are read before the
first position is, and compared before offsets are committed. Java commits the old positions to the new topic.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from penstock.api.sink import TopicPartition
from penstock.kafka.admin import sentence, topic_id_outcomes
from penstock.pipeline.sink.partitions import renewed_positions

log = logging.getLogger(__name__)

ASK_SECONDS = 3.0
"""Timeout in seconds for the IDs of topics. Brokers that do not answer are no reason not to commit."""
KEEP_SECONDS = 10.0
"""The maximum interval of comparisons between which the client is kept; for rarer ones a client is made each time."""


class TopicIdRequests:
    """Asks brokers for the IDs of topics."""

    def __init__(self, make_admin: Callable[[], AdminClient], interval: float) -> None:
        """``interval``: seconds between two requests."""
        self._make_admin, self._keeps = make_admin, interval < KEEP_SECONDS
        self._admin: AdminClient | None = None

    def ask(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the IDs of those of the topics that exist, as far as the brokers tell them."""
        if not (asked := sorted(topics)):
            return {}
        admin = self._admin or self._make_admin()
        outcomes = topic_id_outcomes(admin, asked, ASK_SECONDS)
        failed = {topic: each for topic, each in outcomes.items() if isinstance(each, KafkaException)}
        for topic, error in failed.items():
            log.debug("The ID of topic %s can't be compared: %s", topic, sentence(error))
        self._admin = admin if self._keeps and not failed else None  # it may have lost its brokers
        return {topic: id for topic, id in outcomes.items() if isinstance(id, str)}


class TopicIdentities:
    """The IDs that the topics of the assigned partitions had when their positions were looked up, or since."""

    def __init__(self, ask: Callable[[Iterable[str]], Mapping[str, str]]) -> None:
        """``ask``: as that of ``TopicIdRequests``."""
        self._ask = ask
        self._known: dict[str, str] = {}

    def learn(self, partitions: Iterable[TopicPartition]) -> None:
        """Take the IDs of topics that have none yet; called before positions in their partitions are looked up."""
        new = {partition.topic for partition in partitions} - self._known.keys()
        self._known |= self._ask(new)

    def keep(self, assigned: Iterable[TopicPartition]) -> None:
        """Forget topics of which no partition is assigned any more."""
        topics = {partition.topic for partition in assigned}
        self._known = {topic: id for topic, id in self._known.items() if topic in topics}

    def recreated(
        self, consumer: Consumer, assigned: Iterable[TopicPartition], reset: str
    ) -> dict[TopicPartition, int]:
        """Return the partitions of topics that were deleted and created again, with where ``reset`` (librdkafka's
        ``auto.offset.reset``) lets reading begin there. A topic that does not exist now keeps its ID.

        Raises the errors of ``renewed_positions``; then the old IDs stay.
        """
        found = self._ask(self._known)
        changed = {topic: (id, found[topic]) for topic, id in self._known.items() if found.get(topic, id) != id}
        if not changed:
            return {}
        partitions = sorted(partition for partition in assigned if partition.topic in changed)
        starts = renewed_positions(consumer, partitions, reset) if partitions else {}
        for topic, (old, new) in changed.items():
            self._known[topic] = new
            where = ", ".join(f"{p.partition} at {start}" for p, start in starts.items() if p.topic == topic)
            log.warning(
                "Topic %s was deleted and created again: its ID is %s, and the positions of the task are in the topic "
                "with the ID %s. Its partitions are closed, opened again, and read from where auto.offset.reset says: "
                "partition %s",
                topic,
                new,
                old,
                where,
            )
        return starts

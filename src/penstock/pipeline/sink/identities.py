"""The IDs of the topics that a sink task reads (KIP-516): a topic that was deleted and created again has another one,
and the task's positions in the old topic mean nothing in it.

The consumer goes on from its position in the new topic if that has so many records. So the IDs are read before the
first position is, and compared before offsets are committed. Java commits the old positions to the new topic.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from penstock.api.errors import KafkaError
from penstock.api.sink import TopicPartition
from penstock.kafka.admin import sentence, topic_id_outcomes
from penstock.pipeline.sink.batch import NO_PARTITIONS, Partitions

log = logging.getLogger(__name__)

ASK_SECONDS = 3.0
"""Timeout in seconds for the IDs of topics. Brokers that do not answer are no reason not to commit."""
COMPARE_SECONDS = 5.0
"""The minimum interval in seconds of comparisons while there is nothing to commit."""
KEEP_SECONDS = 10.0
"""The client is kept after a request that comes sooner than so many seconds after the one before."""


class TopicIdRequests:
    """Asks brokers for the IDs of topics."""

    def __init__(self, make_admin: Callable[[], AdminClient]) -> None:
        self._make_admin = make_admin
        self._admin: AdminClient | None = None
        self._asked_at = float("-inf")
        self._problem = ""

    def ask(self, topics: Iterable[str]) -> dict[str, str]:
        """Return the IDs of those of the topics that exist, as far as the brokers tell them."""
        if not (asked := sorted(topics)):
            return {}
        before, self._asked_at = self._asked_at, time.monotonic()
        outcomes: Mapping[str, str | KafkaException | None] = {}
        problem = ""
        try:
            if self._admin is None:  # its truth is that of its length, the number of its events
                self._admin = self._make_admin()
            outcomes = topic_id_outcomes(self._admin, asked, ASK_SECONDS)
            problem = next((sentence(each) for each in outcomes.values() if isinstance(each, KafkaException)), "")
        except (KafkaError, KafkaException) as error:
            problem = sentence(error)
        if problem and problem != self._problem:
            log.warning(
                "The IDs of topics can't be read, and offsets are committed without comparing them: %s", problem
            )
        self._problem = problem
        if problem or self._asked_at - before > KEEP_SECONDS:  # it may have lost its brokers
            self._admin = None
        return {topic: id for topic, id in outcomes.items() if isinstance(id, str)}


class AssignedTopicIds:
    """The IDs that the topics of the assigned partitions had when their positions were looked up, or since."""

    def __init__(self, ask: Callable[[Iterable[str]], Mapping[str, str]]) -> None:
        """``ask``: as that of ``TopicIdRequests``."""
        self._ask = ask
        self._known: dict[str, list[str]] = {}
        """Per topic all IDs that it has had: a broker that lags behind may tell an earlier one."""
        self._compared_at = float("-inf")

    def learn(self, partitions: Iterable[TopicPartition]) -> None:
        """Take the IDs of topics that have none yet; called before positions in their partitions are looked up."""
        new = {partition.topic for partition in partitions} - self._known.keys()
        self._known |= {topic: [id] for topic, id in self._ask(new).items()}

    def keep(self, assigned: Iterable[TopicPartition]) -> None:
        """Forget topics of which no partition is assigned any more."""
        topics = {partition.topic for partition in assigned}
        self._known = {topic: ids for topic, ids in self._known.items() if topic in topics}

    def recreated(self, assigned: Partitions, at_once: bool) -> Partitions:
        """Return the partitions of topics that were deleted and created again since the last call.

        Without ``at_once`` nothing is done if that was a moment ago. A topic that does not exist now keeps its ID, and
        one without an ID, as the brokers did not answer before, gets it.
        """
        now = time.monotonic()
        if not at_once and now < self._compared_at + COMPARE_SECONDS:
            return NO_PARTITIONS
        self._compared_at = now
        changed = set()
        for topic, id in self._ask({partition.topic for partition in assigned}).items():
            ids = self._known.setdefault(topic, [id])
            if id not in ids:
                changed.add(topic)
                log.warning(
                    "Topic %s was deleted and created again: its ID is %s, and the positions of the task are in the "
                    "topic with the ID %s. Its partitions are closed, opened again, and read from offset 0",
                    topic,
                    id,
                    ids[-1],
                )
                ids.append(id)
        return frozenset(partition for partition in assigned if partition.topic in changed)

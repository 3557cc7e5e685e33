"""The last checkpoints of a task, and the mirrored topics on the target cluster that they are positions in.

A topic that was deleted and created again there has another ID (KIP-516), and what was written for the earlier one
means nothing in it: a group would be committed at an offset that the new topic reaches only later, and skip the records
before it, as with Java's MirrorCheckpointTask.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.api.errors import KafkaError
from penstock.api.kafka import KafkaAdmin, KafkaRequestError
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.records import Checkpoint

T = TypeVar("T")

log = logging.getLogger(__name__)

Checkpoints = dict[TopicPartition, Checkpoint]
NONE_YET = ""
"""In place of the ID of a topic that does not exist."""


@dataclass(frozen=True, slots=True)
class TopicLook:
    """An answer of the target cluster about its topics.

    ``ids``: those for which there may be checkpoints now, with their IDs; NONE_YET for one that was never there, None
    where the brokers do not tell it.
    ``renewed``: those that were created again, with the checkpoints that were removed for it.
    """

    ids: Mapping[str, str | None]
    renewed: Mapping[str, list[Checkpoint]] = field(default_factory=dict)


class KnownCheckpoints:
    """The last checkpoints of a task, with the IDs of the topics that they belong to. Used by several threads."""

    def __init__(self, cluster: str) -> None:
        self.known: dict[str, Checkpoints] = {}
        """The last checkpoints by group. The dictionary of a group is replaced, never changed."""
        self.stale: dict[tuple[str, TopicPartition], int] = {}
        """Offsets of removed checkpoints, which groups may have been committed at while their topic was created again;
        a group goes back from such an offset.
        """
        self._cluster = cluster
        self._written: dict[tuple[str, TopicPartition], str] = {}
        """The IDs that checkpoints were written with."""
        self._ids: dict[str, str] = {}
        """The IDs that were found last."""
        self._refused = False
        self._lock = threading.Lock()

    def note(self, checkpoints: Iterable[Checkpoint], ids: Mapping[str, str | None]) -> None:
        """Take checkpoints that were written while the topics had these IDs, now or by an earlier run."""
        with self._lock:
            news: dict[str, Checkpoints] = {}
            for each in checkpoints:
                place = each.topic_partition
                news.setdefault(each.group, {})[place] = each
                if (id := ids.get(place.topic)) is not None:
                    self._written[each.group, place] = id
            for group, found in news.items():
                self.known[group] = self.known.get(group, {}) | found

    def look(self, admin: KafkaAdmin, topics: Iterable[str], timeout: float) -> TopicLook:
        """Ask for the IDs of these topics, and remove the checkpoints of earlier topics of their names, or from before
        there was one.

        There may be no checkpoints of a deleted topic until it is there again, and none at all while the brokers do not
        answer.
        """
        topics = set(topics)
        if self._refused or not topics:
            return TopicLook(dict.fromkeys(topics))
        with self._lock:  # an older answer must not be taken after a newer one
            found = self._ask(lambda: admin.topic_ids(topics, timeout))
            if found is None:
                return TopicLook(dict.fromkeys(topics) if self._refused else {})
            renewed = self._take(found)
            ids = {each: found.get(each, NONE_YET) for each in topics if each in found or each not in self._ids}
        return TopicLook(ids, renewed)

    def ends(
        self, admin: KafkaAdmin, places: Collection[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, float]:
        """Return the offsets after the last records of mirrored partitions; infinity for one that does not exist, or
        where the brokers do not tell it. None at all are returned while the brokers do not answer.
        """
        if self._refused:
            return dict.fromkeys(places, math.inf)
        found = self._ask(lambda: admin.ends(places, timeout))
        if found is None:
            return dict.fromkeys(places, math.inf) if self._refused else {}
        return {place: found.get(place, math.inf) for place in places}

    def _ask(self, ask: Callable[[], T]) -> T | None:
        """Return what the brokers tell; None if they do not answer, or do not tell such things at all."""
        try:
            return ask()
        except KafkaError as error:
            if isinstance(error, KafkaRequestError) and not error.unreached:
                self._refused = True
                log.warning("The topics of %s can't be compared: %s", self._cluster, error)
            else:
                log.warning("The topics of %s can't be asked for; trying again: %s", self._cluster, error)
            return None

    def _take(self, found: Mapping[str, str]) -> dict[str, list[Checkpoint]]:
        """Take IDs of topics; remove the checkpoints of earlier ones. Returns those whose offset syncs may be of an
        earlier one, too, with the checkpoints that were removed.
        """
        renewed: dict[str, list[Checkpoint]] = {
            topic: [] for topic, id in found.items() if self._ids.get(topic, id) != id
        }
        began = self._ids
        self._ids = {**began, **found}
        of_new: set[str] = set()
        for group, checkpoints in list(self.known.items()):
            left = {}
            for place, checkpoint in checkpoints.items():
                id = found.get(place.topic)
                if id is None or self._written.setdefault((group, place), began.get(place.topic, id)) == id:
                    left[place] = checkpoint
                    if id is not None:
                        of_new.add(place.topic)
                else:
                    renewed.setdefault(place.topic, []).append(checkpoint)
                    self.stale[group, place] = checkpoint.downstream
                    del self._written[group, place]
            self.known[group] = left
        for topic, removed in renewed.items():
            log.warning(
                "Topic %s of cluster %s was created later than its checkpoints and offset syncs: its ID is %s. %d "
                "checkpoints are dropped; groups get new ones by the offset syncs that come now.",
                *(topic, self._cluster, found[topic], len(removed)),
            )
        # Before the first look of a run, what was written for the new topic says that its syncs are there.
        return {topic: removed for topic, removed in renewed.items() if topic in began or topic not in of_new}

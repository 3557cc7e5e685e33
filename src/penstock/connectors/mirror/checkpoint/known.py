"""The last checkpoints of a task, and the mirrored topics on the target cluster that they are positions in.

A topic that was deleted and created again there has another ID (KIP-516), and what was written for the earlier one
means nothing in it: a group would be committed at an offset that the new topic reaches only later, and skip the records
before it, as with Java's MirrorCheckpointTask.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from penstock.api.errors import KafkaError
from penstock.api.kafka import KafkaAdmin, KafkaRequestError
from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.records import Checkpoint

K = TypeVar("K")
T = TypeVar("T")

log = logging.getLogger(__name__)

Checkpoints = dict[TopicPartition, Checkpoint]
NONE_YET = ""
"""In place of the ID of a topic that does not exist."""
MISSING_SECONDS = 5.0
"""After so long a topic that was never there is known not to exist: a broker that has just started does not know all of
its topics yet.
"""
_UNSUPPORTED = ("UNSUPPORTED_VERSION", "_UNSUPPORTED_FEATURE")


@dataclass(frozen=True, slots=True)
class TopicLook:
    """An answer of the target cluster about its topics.

    ``ids``: those for which there may be checkpoints now, with their IDs; NONE_YET for one that was never there, None
    where the brokers know no IDs, or refuse to answer.
    ``renewed``: those that were created again, with the checkpoints that were removed for it.
    ``is_open``: a topic was not there, but may exist; a look after MISSING_SECONDS decides.
    """

    ids: Mapping[str, str | None]
    renewed: Mapping[str, list[Checkpoint]] = field(default_factory=dict)
    is_open: bool = False


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
        self._without_ids: set[str] = set()
        self._without_ends: set[str] = set()
        """Topics that the brokers refuse to answer for."""
        self._missing: dict[str, float] = {}
        """Topics that have never been there, each with the time of the first look."""
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

    def look(
        self,
        admin: KafkaAdmin,
        topics: Iterable[str],
        timeout: float,
        on_renewed: Callable[[Mapping[str, list[Checkpoint]]], None] = lambda _: None,
    ) -> TopicLook:
        """Ask for the IDs of these topics, and remove the checkpoints of earlier topics of their names, or from before
        there was one.

        There may be no checkpoints of a deleted topic until it is there again, and none at all while the brokers do not
        answer. ``on_renewed`` is called with ``renewed``, unless it is empty, before another thread can look.
        """
        topics = set(topics)
        with self._lock:  # an older answer must not be taken after a newer one
            answers = self._ask(topics - self._without_ids, lambda each: admin.topic_ids(each, timeout))
            self._without_ids |= self._refused(answers)
            found = {topic: id for topic, id in answers.items() if isinstance(id, str)}
            renewed = self._take(found)
            if renewed:
                on_renewed(renewed)
            ids: dict[str, str | None] = dict(found)
            ids |= dict.fromkeys(
                each for each in topics if each in self._without_ids or answers.get(each, each) is None
            )
            missing = topics - ids.keys() - answers.keys() - self._ids.keys()
            now = time.monotonic()
            self._missing = {each: since for each, since in self._missing.items() if each not in answers}
            never = {each for each in missing if now - self._missing.setdefault(each, now) >= MISSING_SECONDS}
            ids |= dict.fromkeys(never, NONE_YET)
        return TopicLook(ids, renewed, is_open=missing != never)

    def ends(
        self, admin: KafkaAdmin, places: Collection[TopicPartition], timeout: float
    ) -> Mapping[TopicPartition, float]:
        """Return the offsets after the last records of mirrored partitions; infinity for one that does not exist, or
        that the brokers refuse to answer for. Partitions are left out while the brokers do not answer for them.
        """
        asked = {each for each in places if each.topic not in self._without_ends}
        answers = self._ask(asked, lambda each: admin.ends(each, timeout))
        self._without_ends |= self._refused({place.topic: answer for place, answer in answers.items()})
        found: dict[TopicPartition, float] = {}
        for place in places:
            end = answers.get(place, math.inf)
            if place.topic in self._without_ends:
                found[place] = math.inf
            elif not isinstance(end, KafkaError):
                found[place] = end
        return found

    def _ask(self, what: set[K], ask: Callable[[set[K]], Mapping[K, T]]) -> Mapping[K, T | KafkaError]:
        """Return the answers of the brokers, which are errors if they do not answer."""
        if not what:
            return {}
        try:
            answers: dict[K, T | KafkaError] = {**ask(what)}
        except KafkaError as error:
            answers = dict.fromkeys(what, error)
        failed = {each: answer for each, answer in answers.items() if isinstance(answer, KafkaError)}
        passing = [each for each, error in failed.items() if not _is_refusal(error)]
        if passing:
            log.warning(
                "%d of the mirrored topics and partitions of %s can't be asked for; trying again: %s: %s",
                *(len(passing), self._cluster, passing[0], failed[passing[0]]),
            )
        return answers

    def _refused(self, answers: Mapping[str, object]) -> set[str]:
        """Return the topics that the brokers refuse to answer for, which are not asked for again."""
        refused = {topic: each for topic, each in answers.items() if _is_refusal(each)}
        for topic, error in refused.items():
            log.warning("Topic %s of %s can't be compared: %s", topic, self._cluster, error)
        return set(refused)

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


def _is_refusal(answer: object) -> bool:
    """Whether the brokers do not let this client ask, or do not have the request."""
    return isinstance(answer, KafkaRequestError) and (
        answer.code.endswith("_AUTHORIZATION_FAILED") or answer.code in _UNSUPPORTED
    )

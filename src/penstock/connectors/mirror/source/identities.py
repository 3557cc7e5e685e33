"""The IDs of source topics (KIP-516): a topic that was deleted and created again has another one, and positions in the
old topic mean nothing in it. And the leader epochs of their records (KIP-320): after an unclean leader election, a
partition may end before a position, and be longer again when it is read.

The offset of each partition is stored with the ID of the topic that its task has seen, since other tasks may have seen
another one, and with the leader epoch of its record. Java's MirrorSourceTask uses the positions nevertheless, and skips
the records before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.origin import IdentifiedDict, identity_of
from penstock.api.source import OffsetReader

RESTART, PROCEED = "the topic is mirrored from its beginning", "the topic is mirrored from the offset in the old one"
Place = tuple[str, int]
"""Topic and number of a partition."""
_ID, _EPOCH = "topic", "epoch"


class TopicIdentities:
    """The source partitions of one task with the IDs of their topics, as they were stored with the offsets or as the
    brokers have reported them.
    """

    def __init__(self, partitions: Mapping[Place, dict[str, Any]], offsets: OffsetReader) -> None:
        self.partitions: dict[Place, dict[str, Any]] = {}
        """The source partition of each place. It is replaced when another ID is taken: the offsets of records that were
        read before are those of the earlier topic.
        """
        self._known: dict[Place, str] = {}
        self._epochs: dict[Place, int] = {}
        stored = offsets.offsets(list(partitions.values()))
        for (place, partition), offset in zip(partitions.items(), stored, strict=True):
            self.partitions[place] = partition
            members = identity_of(offset) or {}
            known, epoch = members.get(_ID), members.get(_EPOCH)
            if isinstance(known, str):
                self._known[place] = known
            if isinstance(epoch, int):
                self._epochs[place] = epoch
            self._name(place)

    def compare(self, found: Mapping[str, str]) -> dict[Place, tuple[str, str]]:
        """Return partitions whose topics were recreated, with the old and the new ID, by what brokers report."""
        return {
            place: (known, found[place[0]])
            for place, known in self._known.items()
            if found.get(place[0], known) != known
        }

    def take(self, found: Mapping[str, str]) -> list[Place]:
        """Use the IDs that brokers have reported from now on; return the partitions that had none or another one."""
        new = [place for place in self.partitions if place[0] in found and self._known.get(place) != found[place[0]]]
        for place in new:
            if place in self._known:  # the epoch is that of a record of the old topic
                self._epochs.pop(place, None)
            self._known[place] = found[place[0]]
            self._name(place)
        return new

    def epoch(self, place: Place) -> int | None:
        """Return the leader epoch of the last record, as it was stored with its offset or seen since, if any."""
        return self._epochs.get(place)

    def read(self, epochs: Mapping[Place, int | None]) -> None:
        """Take the leader epochs of records that were read."""
        for place, epoch in epochs.items():
            if epoch is not None and epoch != self._epochs.get(place):
                self._epochs[place] = epoch
                self._name(place)

    def _name(self, place: Place) -> None:
        members: dict[str, Any] = {}
        if place in self._known:
            members[_ID] = self._known[place]
        if place in self._epochs:
            members[_EPOCH] = self._epochs[place]
        if members:
            self.partitions[place] = IdentifiedDict(self.partitions[place], members)


def change_of(cluster: str, topic: str, ids: tuple[str, str]) -> str:
    """Return the change of a topic as a sentence without its full stop."""
    return (
        f"Topic {topic} of cluster {cluster} was deleted and created again: its ID is {ids[1]}, and the connector's "
        f"offsets are positions in the topic with the ID {ids[0]}"
    )

"""The IDs of source topics (KIP-516): a topic that was deleted and created again has another one, and positions in the
old topic mean nothing in it.

The offset of each partition is stored with the ID of the topic that its task has seen: other tasks may have seen
another one. Java's MirrorSourceTask uses the positions nevertheless, and skips the records before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.origin import IdentifiedDict, identity_of
from penstock.api.source import OffsetReader

RESTART, PROCEED = "the topic is mirrored from its beginning", "the topic is mirrored from the offset in the old one"
Place = tuple[str, int]
"""Topic and number of a partition."""
_ID = "topic"


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
        stored = offsets.offsets(list(partitions.values()))
        for (place, partition), offset in zip(partitions.items(), stored, strict=True):
            known = (identity_of(offset) or {}).get(_ID)
            if isinstance(known, str):
                self._set(place, partition, known)
            else:
                self.partitions[place] = partition

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
            self._set(place, self.partitions[place], found[place[0]])
        return new

    def _set(self, place: Place, partition: dict[str, Any], id: str) -> None:
        self._known[place], self.partitions[place] = id, IdentifiedDict(partition, {_ID: id})


def change_of(cluster: str, topic: str, ids: tuple[str, str]) -> str:
    """Return the change of a topic as a sentence without its full stop."""
    return (
        f"Topic {topic} of cluster {cluster} was deleted and created again: its ID is {ids[1]}, and the connector's "
        f"offsets are positions in the topic with the ID {ids[0]}"
    )

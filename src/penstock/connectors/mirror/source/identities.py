"""The IDs of source topics (KIP-516): a topic that was deleted and created again has another one, and positions in the
old topic mean nothing in it.

They are kept with each partition, whose offset is of the topic that its task has seen: other tasks may have seen
another one. Java's MirrorSourceTask uses the positions nevertheless, and skips the records before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.origin import origin_partition
from penstock.api.source import OffsetReader

RESTART, PROCEED = "the topic is mirrored from its beginning", "the topic is mirrored from the offset in the old one"
Place = tuple[str, int]
"""Topic and number of a partition."""


class TopicIdentities:
    """The IDs of the topics of one task's partitions, as they were committed beside the offsets, and as the brokers
    report them.
    """

    def __init__(self, partitions: Mapping[Place, Mapping[str, Any]], offsets: OffsetReader) -> None:
        """``partitions``: the source partition of each."""
        self._origins = {place: origin_partition("topic", **partition) for place, partition in partitions.items()}
        stored = offsets.offsets(list(self._origins.values()))
        self._known = {
            place: offset["id"]
            for place, offset in zip(self._origins, stored, strict=True)
            if offset is not None and "id" in offset
        }
        self._new: set[Place] = set()

    def compare(self, found: Mapping[str, str]) -> dict[Place, tuple[str, str]]:
        """Take the IDs that brokers have reported; return partitions whose topics were recreated, with the old and the
        new ID.
        """
        now = {place: found[place[0]] for place in self._origins if place[0] in found}
        changed = {place: (self._known[place], id) for place, id in now.items() if self._known.get(place, id) != id}
        self._new |= {place for place, id in now.items() if self._known.get(place) != id}
        self._known.update(now)
        return changed

    @property
    def pending(self) -> bool:
        """Whether there are IDs to be committed, which comes before the records of their topics."""
        return bool(self._new)

    def uncarried(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the source partitions and offsets of IDs that are to be committed, once."""
        new, self._new = sorted(self._new), set()
        return [(self._origins[place], {"id": self._known[place]}) for place in new]


def change_of(cluster: str, topic: str, ids: tuple[str, str]) -> str:
    """Return the change of a topic as a sentence without its full stop."""
    return (
        f"Topic {topic} of cluster {cluster} was deleted and created again: its ID is {ids[1]}, and the connector's "
        f"offsets are positions in the topic with the ID {ids[0]}"
    )

"""The IDs of source topics (KIP-516): a topic that was deleted and created again has another one, and positions in the
old topic mean nothing in it.

Java's MirrorSourceTask uses the positions nevertheless, and skips the records before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.api.origin import origin_partition
from penstock.api.source import OffsetReader

RESTART, PROCEED = "the topic is mirrored from its beginning", "the topic is mirrored from the offset in the old one"


class TopicIdentities:
    """The IDs of the topics of one task, as they were committed beside the offsets, and as the brokers report them."""

    def __init__(self, cluster: str, topics: Iterable[str], offsets: OffsetReader) -> None:
        self._cluster = cluster
        stored = {topic: offsets.offset(self._partition(topic)) for topic in topics}
        self._known = {topic: offset["id"] for topic, offset in stored.items() if offset is not None and "id" in offset}
        self._new: set[str] = set()

    def compare(self, found: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Take the IDs that brokers have reported; return topics that were recreated, with the old and the new ID."""
        changed = {topic: (self._known[topic], id) for topic, id in found.items() if self._known.get(topic, id) != id}
        self._new |= {topic for topic, id in found.items() if self._known.get(topic) != id}
        self._known.update(found)
        return changed

    @property
    def pending(self) -> bool:
        """Whether there are IDs to be committed, which comes before the records of their topics."""
        return bool(self._new)

    def uncarried(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return the source partitions and offsets of IDs that are to be committed, once."""
        new, self._new = sorted(self._new), set()
        return [(self._partition(topic), {"id": self._known[topic]}) for topic in new]

    def _partition(self, topic: str) -> dict[str, Any]:
        return origin_partition("topic", cluster=self._cluster, topic=topic)


def change_of(cluster: str, topic: str, ids: tuple[str, str]) -> str:
    """Return the change of a topic as a sentence without its full stop."""
    return (
        f"Topic {topic} of cluster {cluster} was deleted and created again: its ID is {ids[1]}, and the connector's "
        f"offsets are positions in the topic with the ID {ids[0]}"
    )

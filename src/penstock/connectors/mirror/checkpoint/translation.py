"""From offsets of source partitions to offsets of mirrored ones, by the offset syncs that were read.

Of each partition 64 syncs are kept at most: the latest, and earlier ones that are the farther apart the older they are,
so that the offset of a group that lags far behind is still translated to one not too far before its own. Java:
``OffsetSyncStore``, whose choice of syncs this keeps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.api.sink import TopicPartition
from penstock.connectors.mirror.records import OffsetSync

SYNCS = 64
"""One for each bit of an offset."""
_MAX = 2**63

TOO_OLD = -1
"""The answer for an offset before all syncs that are known."""


class OffsetTranslation:
    """``add`` every sync in the order of the topic. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._syncs: dict[TopicPartition, list[OffsetSync]] = {}
        self.must_read_to_end = True
        """While the topic is read for the first time, only the last sync of a partition counts.

        Otherwise an offset might be translated to an earlier one than by the previous run. Not needed if the
        checkpoints of that run are known.
        """
        self.at_end = False
        """Set by the reader when it has read all that was there at the start; nothing is translated before."""

    def add(self, sync: OffsetSync) -> None:
        """Take the next sync. One that goes back on the target is of a topic that was created again there: for earlier
        offsets Java still answers by the syncs of the topic that was deleted.
        """
        with self._lock:
            kept = self._syncs.get(sync.topic_partition)
            first_reading = not self.at_end and self.must_read_to_end
            if (
                kept is None
                or first_reading
                or sync.upstream < kept[0].upstream
                or sync.downstream < kept[0].downstream
            ):
                self._syncs[sync.topic_partition] = [sync] * SYNCS  # nothing known before is of use
            else:
                self._syncs[sync.topic_partition] = _updated(kept, sync)

    def forget(self, is_stale: Callable[[OffsetSync, OffsetSync], bool]) -> None:
        """Forget the partitions with an oldest and a last sync of which this is true."""
        with self._lock:
            self._syncs = {place: kept for place, kept in self._syncs.items() if not is_stale(kept[-1], kept[0])}

    def downstream(self, topic_partition: TopicPartition, upstream: int) -> int | None:
        """The offset of the mirrored partition from which nothing is missed; None if that is not known (yet)."""
        kept = self._syncs.get(topic_partition)
        if not self.at_end or kept is None:
            return None
        sync = next((each for each in kept if each.upstream <= upstream), kept[-1])
        if sync.upstream > upstream:
            return TOO_OLD
        # After a sync only the next offset is certain: how many records are missing after it is not known.
        return sync.downstream + (upstream != sync.upstream)


def _updated(old: list[OffsetSync], latest: OffsetSync) -> list[OffsetSync]:
    """The syncs to keep with a later one in front. Bounds on neighbours hold between any two then."""
    syncs = list(old)
    syncs[0] = replacement = latest
    at = 0
    for current in range(1, SYNCS):
        previous = current - 1
        while True:
            candidate = old[at]
            recent = _recent(syncs[previous], candidate, previous, current)
            apart = _apart(syncs[previous], candidate, previous)
            apart_from_next = current + 1 >= SYNCS or _apart(candidate, syncs[current + 1], current)
            duplicate = at + 1 < SYNCS and candidate is old[at + 1]
            promote = recent and apart and apart_from_next
            skip = duplicate or not apart
            if promote:
                replacement = candidate
            if promote or skip:
                at += 1
            if not (at < current and skip):
                break
        if _recent(syncs[previous], syncs[current], previous, current):
            break  # and so are all after it
        syncs[current] = replacement
    return syncs


def _recent(a: OffsetSync, b: OffsetSync, i: int, j: int) -> bool:
    """Whether ``b`` is not too old for index ``j``, ``a`` being at ``i``."""
    bound = b.upstream + (1 << j) - (1 << i)
    return a is b or bound >= _MAX or a.upstream <= bound


def _apart(a: OffsetSync, b: OffsetSync, i: int) -> bool:
    """Whether ``b`` is old enough to be of use after ``a`` at ``i``."""
    bound = b.upstream + (1 << max(i - 2, 0))
    return a is b or (bound < _MAX and a.upstream >= bound)

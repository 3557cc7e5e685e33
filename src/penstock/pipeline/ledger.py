"""Which records have been sent and which acknowledged: per source partition, in order, all up to the first that is not
acknowledged may be committed. Java: ``SubmittedRecords``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.kafka.offset_records import canonical


@dataclass(slots=True)
class Submitted:
    """Records of one source partition that were sent together.

    ``acked`` has a byte for each, 0 until Kafka has the record or its loss is tolerated.
    """

    partition: dict[str, Any]
    offsets: Sequence[dict[str, Any]]
    acked: bytearray
    done: int = 0
    """How many of them, from the first, were found committable."""


class Ledger:
    def __init__(self) -> None:
        self._queues: dict[bytes, deque[Submitted]] = {}

    def submit(self, partition: dict[str, Any], offsets: Sequence[dict[str, Any]]) -> bytearray:
        """Called in the order of sending, with one offset a record at least.

        Whoever hears that record i was acknowledged sets byte i of the answer to 1, on any thread.
        """
        entry = Submitted(partition, offsets, bytearray(len(offsets)))
        self._queues.setdefault(canonical(partition), deque()).append(entry)
        return entry.acked

    def committable(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Of each partition the offset of the last record before the first that is not acknowledged, if it is a new
        one; what lies before is forgotten.
        """
        found = []
        for name, queue in list(self._queues.items()):
            last = None
            while queue:
                entry = queue[0]
                end = entry.acked.find(0, entry.done)
                if end < 0:
                    last = (entry.partition, entry.offsets[-1])
                    queue.popleft()
                    continue
                if end > entry.done:
                    last = (entry.partition, entry.offsets[end - 1])
                    entry.done = end
                break
            if last is not None:
                found.append(last)
            if not queue:
                del self._queues[name]
        return found

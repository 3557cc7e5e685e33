"""Which records have been sent and which acknowledged: per source partition, in order, all up to the first that is not
acknowledged may be committed. Java: ``SubmittedRecords``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from penstock.kafka.offset_records import canonical


@dataclass(slots=True)
class Submitted:
    """One record under way; ``acked`` is set once, when Kafka has it or its loss is tolerated."""

    partition: dict[str, Any]
    offset: dict[str, Any]
    acked: bool = False


class Ledger:
    def __init__(self) -> None:
        self._queues: dict[bytes, deque[Submitted]] = {}

    def submit(self, partition: dict[str, Any], offset: dict[str, Any]) -> Submitted:
        """Called in the order of sending."""
        entry = Submitted(partition, offset)
        self._queues.setdefault(canonical(partition), deque()).append(entry)
        return entry

    def committable(self) -> list[Submitted]:
        """Of each partition the last record before the first that is not acknowledged; they are forgotten."""
        found = []
        for name, queue in list(self._queues.items()):
            last = None
            while queue and queue[0].acked:
                last = queue.popleft()
            if last is not None:
                found.append(last)
            if not queue:
                del self._queues[name]
        return found

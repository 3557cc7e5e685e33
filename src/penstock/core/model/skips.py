"""Records that the tasks of a sink leave out because a user has asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SkipTarget = Literal["dead-letters", "discard"]
"""To the dead letter queue, or discarded."""
SKIP_TARGETS: tuple[SkipTarget, ...] = ("dead-letters", "discard")
MAX_SKIPPED = 1000
"""Maximum number of records that are skipped at a time, of all partitions that a connector reads."""


@dataclass(frozen=True, slots=True)
class Skip:
    """The records of one partition from the offset ``first`` to ``last``."""

    topic: str
    partition: int
    first: int
    last: int
    topic_id: str = ""
    """The ID of the topic (KIP-516), since a topic that is created again has other records; empty without IDs."""
    to: SkipTarget = "discard"

    @property
    def key(self) -> tuple[str, int, int]:
        return self.topic, self.partition, self.first

    def has(self, topic: str, partition: int, offset: int) -> bool:
        return (topic, partition) == (self.topic, self.partition) and self.first <= offset <= self.last

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        offsets = f"offset {self.first}" if len(self) == 1 else f"offsets {self.first} to {self.last}"
        return f"topic {self.topic}, partition {self.partition}, {offsets}"

"""The places where a task reads and writes: position, end and rate of each partition of a topic, or part of a source.

Measured when a task reports, every few seconds, from what its clients know; nothing is counted per record.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

MAX_PLACES = 200
"""Places of one task that are reported: those that are furthest behind."""
WINDOW_S = 30.0


@dataclass(frozen=True, slots=True)
class Place:
    """``count`` is what the rate is of: the position, or how many records were sent there."""

    direction: Literal["from", "to"]
    where: Mapping[str, Any]
    """``topic`` and ``partition``, or ``source``: the source partition as JSON."""
    count: int | None
    end: int | None = None
    unit: str = "records"

    @property
    def behind(self) -> int | None:
        return None if self.end is None or self.count is None else max(self.end - self.count, 0)


def of_topic(
    direction: Literal["from", "to"], topic: str, partition: int, count: int | None, end: int | None = None
) -> Place:
    return Place(direction, {"topic": topic, "partition": partition}, count, end)


def of_source(partition: Mapping[str, Any] | None, position: int | None, end: int | None, unit: str) -> Place:
    return Place("from", {"source": json.dumps(partition and dict(partition), default=str)}, position, end, unit)


@dataclass(slots=True)
class Places:
    """Remembers counts, for rates over the last half minute."""

    _before: dict[tuple[Any, ...], deque[tuple[float, int]]] = field(default_factory=dict)

    def described(self, now: float, places: Iterable[Place]) -> list[dict[str, Any]]:
        """Return the places as JSON, what is furthest behind first."""
        keyed = {(place.direction, *place.where.values(), place.unit): place for place in places}
        self._before = {key: self._before.get(key, deque()) for key in keyed}
        found = [
            {
                "direction": place.direction,
                **place.where,
                "position" if place.direction == "from" else "records": place.count,
                "end": place.end,
                "behind": place.behind,
                "unit": place.unit,
                "per_second": self._rate(key, now, place.count),
            }
            for key, place in keyed.items()
        ]
        found.sort(key=lambda each: (-(each["behind"] or 0), -(each["per_second"] or 0.0)))
        return found[:MAX_PLACES]

    def _rate(self, key: tuple[Any, ...], now: float, count: int | None) -> float | None:
        if count is None:
            return None
        before = self._before[key]
        while before and before[0][0] < now - WINDOW_S:
            before.popleft()
        then, old = before[0] if before else (now, count)
        before.append((now, count))
        return max(count - old, 0) / (now - then) if now > then else None

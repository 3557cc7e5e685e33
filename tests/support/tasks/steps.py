"""A source task whose polls do one thing after the other."""

from __future__ import annotations

from typing import Any

from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask


class Steps(SourceTask):
    """Each poll takes the next of ``steps``: records, None, or a function that is given the task and gives either."""

    steps: list[Any]

    def poll(self) -> list[SourceRecord] | None:
        step = self.steps.pop(0) if self.steps else None
        return step(self) if callable(step) else step

    def idle(self) -> float:
        return 0.02


def stepping(*steps: Any, **members: Any) -> Any:
    """The class of such a task."""
    return type("Task", (Steps,), {"steps": list(steps), "__module__": __name__, **members})


def records(topic: str, *values: Any, start: int = 0) -> list[SourceRecord]:
    """Of one source partition, with the offsets ``{"o": start + 1}`` and on."""
    return [
        SourceRecord(topic=topic, value=value, source_partition={"p": 0}, source_offset={"o": start + i + 1})
        for i, value in enumerate(values)
    ]

"""Source tasks that give what a test has put into them."""

from __future__ import annotations

from typing import Any

from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask


class Giving(SourceTask):
    """Gives the batches of its own subclass; an exception among them is raised."""

    batches: list[Any]

    def poll(self) -> Any:
        batch = self.batches.pop(0) if self.batches else None
        if isinstance(batch, Exception):
            raise batch
        return batch

    def idle(self) -> float:
        return 0.02


class Telling(Giving):
    """Keeps what it hears of each record in ``told`` of its own subclass: value and offset."""

    told: list[Any]

    def commit_record(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        self.told.append((record.value, offset))


def giving(*batches: Any, base: type[Giving] = Giving, **members: Any) -> Any:
    """A class of a task; ``members`` are further ones of its class."""
    return type("Task", (base,), {"batches": list(batches), "told": [], "__module__": __name__, **members})


def record(topic: str, partition: str, offset: int, value: str = "v") -> SourceRecord:
    return SourceRecord(topic=topic, value=value, source_partition={"p": partition}, source_offset={"o": offset})


def records(topic: str, *values: str, partition: str = "p", start: int = 0) -> list[SourceRecord]:
    """Of one source partition, with offsets that follow each other after ``start``."""
    return [record(topic, partition, start + i, value) for i, value in enumerate(values, 1)]

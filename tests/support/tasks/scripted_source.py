"""Source tasks whose batches a test has written down."""

from __future__ import annotations

from typing import Any

from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask


class ScriptedSource(SourceTask):
    """``poll`` returns the class's ``batches`` one after another; an exception among them is raised, and a function
    called with the task, for what it returns.
    """

    batches: list[Any]

    def poll(self) -> Any:
        batch = self.batches.pop(0) if self.batches else None
        if isinstance(batch, Exception):
            raise batch
        return batch(self) if callable(batch) else batch

    def idle(self) -> float:
        return 0.02


class AcknowledgedSource(ScriptedSource):
    """Records each call of ``commit_record`` in the class's ``acknowledged``: value and offset."""

    acknowledged: list[Any]

    def commit_record(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        self.acknowledged.append((record.value, offset))


def scripted(*batches: Any, base: type[ScriptedSource] = ScriptedSource, **members: Any) -> Any:
    """Return a new task class with these batches; ``members`` are additional attributes and methods."""
    return type("Task", (base,), {"batches": list(batches), "acknowledged": [], "__module__": __name__, **members})


def record(topic: str, partition: str, offset: int, value: Any = "v") -> SourceRecord:
    return SourceRecord(topic=topic, value=value, source_partition={"p": partition}, source_offset={"o": offset})


def records(topic: str, *values: Any, partition: str = "p", start: int = 0) -> list[SourceRecord]:
    """Records of one source partition, with consecutive offsets after ``start``."""
    return [record(topic, partition, start + i, value) for i, value in enumerate(values, 1)]

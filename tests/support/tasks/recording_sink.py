"""Sink tasks that record their calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask, TopicPartition


class RecordingSink(SinkTask):
    """Records values and calls in the class's ``log``."""

    log: list[Any]

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self.log.append(("open", sorted(p.partition for p in partitions)))

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.log += [record.value for record in records]

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.log.append(("close", sorted(p.partition for p in partitions)))

    def stop(self) -> None:
        self.log.append("stop")


def recording(**members: Any) -> type[RecordingSink]:
    """Return a new task class; ``members`` are additional attributes and methods."""
    return type("Task", (RecordingSink,), {"log": [], "__module__": __name__, **members})


def values(task: type[RecordingSink]) -> list[Any]:
    return [each for each in task.log if isinstance(each, str) and each != "stop"]

"""Sink tasks that keep what they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.api.record import SinkRecord
from penstock.api.sink import SinkTask, TopicPartition


class Keeping(SinkTask):
    """Keeps what it is given in ``log`` of its own subclass; members of that subclass say what else it does."""

    log: list[Any]

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self.log.append(("open", sorted(p.partition for p in partitions)))

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.log += [record.value for record in records]

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self.log.append(("close", sorted(p.partition for p in partitions)))

    def stop(self) -> None:
        self.log.append("stop")


def keeping(**members: Any) -> type[Keeping]:
    return type("Task", (Keeping,), {"log": [], "__module__": __name__, **members})


def values(task: type[Keeping]) -> list[Any]:
    return [each for each in task.log if isinstance(each, str) and each != "stop"]

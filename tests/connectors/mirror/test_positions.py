"""Where a task begins to read."""

from __future__ import annotations

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_STORED, TopicPartition

from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.mirror.source import task as source_task
from penstock.connectors.mirror.source.task import MirrorSourceTask
from support.mirror.setup import mirror_config


class Assigned:
    """A consumer that keeps what it is to read."""

    def __init__(self) -> None:
        self.partitions: list[TopicPartition] = []

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.partitions = partitions

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, OFFSET_BEGINNING),
        ({"source_consumer_auto_offset_reset": "latest"}, OFFSET_END),
        ({"source_consumer_auto_offset_reset": "none"}, OFFSET_STORED),
        ({"source_consumer_group_id": "g"}, OFFSET_STORED),
        ({"source_consumer_group_id": "g", "consumer_auto_offset_reset": "latest"}, OFFSET_STORED),
    ],
)
def test_partitions_without_an_offset(settings: dict[str, str], first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a group of the user's it has committed where, as when another mirror is replaced."""
    consumer = Assigned()
    monkeypatch.setattr(source_task, "new_consumer", lambda settings, **native: consumer)
    config = mirror_config("unused:1", "a", "b", emit_offset__syncs_enabled="false", **settings)
    config |= {"task.assigned.partitions": "t-0,t-1"}
    task = MirrorSourceTask()
    stored = MemoryOffsets([({"cluster": "a", "partition": 1, "topic": "t"}, {"offset": 6})])
    task.context = MemorySourceContext(config, stored)
    task.start(config)
    task.stop()
    assert [(each.partition, each.offset) for each in consumer.partitions] == [(0, first), (1, 7)]

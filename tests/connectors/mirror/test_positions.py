"""Positions from which a mirror task begins to read."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api.kafka import COMMITTED, EARLIEST, LATEST
from penstock.api.sink import TopicPartition
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.kafka.connector_clients import ConnectorClients
from support.mirror.setup import mirror_config


class Assigned(ConnectorClients):
    """Clients whose consumer records its assignment."""

    def __init__(self) -> None:
        super().__init__()
        self.assigned: dict[TopicPartition, int] = {}

    def consumer(self, settings: Mapping[str, str], *, reports_ends: bool = False) -> Any:
        return SimpleNamespace(assign=self.assigned.update, close=lambda: None)


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, EARLIEST),
        ({"source_consumer_auto_offset_reset": "latest"}, LATEST),
        ({"source_consumer_auto_offset_reset": "none"}, COMMITTED),
        ({"source_consumer_group_id": "g"}, COMMITTED),
        ({"source_consumer_group_id": "g", "consumer_auto_offset_reset": "latest"}, COMMITTED),
    ],
)
def test_partitions_without_an_offset(settings: dict[str, str], first: int) -> None:
    """If the user names a group, its committed offsets are used, for instance when another mirror is replaced."""
    clients = Assigned()
    config = mirror_config("unused:1", "a", "b", emit_offset__syncs_enabled="false", **settings)
    config |= {"task.assigned.partitions": "t-0,t-1"}
    task = MirrorSourceTask()
    stored = MemoryOffsets([({"cluster": "a", "partition": 1, "topic": "t"}, {"offset": 6})])
    task.context = MemorySourceContext(config, stored, kafka=clients)
    task.start(config)
    task.stop()
    assert clients.assigned == {TopicPartition("t", 0): first, TopicPartition("t", 1): 7}

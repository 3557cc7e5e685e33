"""MirrorSourceTask keeps the contract of sources."""

from __future__ import annotations

from typing import ClassVar

import pytest

from connectors.mirror.test_source import task_config
from penstock.api.batch import Batch
from penstock.api.kafka import KafkaClients
from penstock.api.testing.contract import SourceContract
from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.connectors.mirror.source_offsets import OFFSET
from penstock.kafka.connector_clients import ConnectorClients
from support.kafka.client import Kafka
from support.mirror.setup import aliases

pytestmark = pytest.mark.integration

RECORDS = ["a", "b", "c", "d", "e"]


class Task(MirrorSourceTask):
    def poll(self) -> Batch | None:
        """Returns no records only at the end of the topic: the contract takes a few empty polls for the source's
        end.
        """
        while (found := super().poll()) is None and not self._stopping and self._position() < len(RECORDS):
            pass
        return found

    def _position(self) -> int:
        found = self.progress()
        if found and found[0].position is not None:
            return found[0].position
        (stored,) = self.context.offset_reader.offsets(list(self._partitions.values()))
        return 0 if stored is None else int(stored[OFFSET]) + 1


class TestMirroredRecords(SourceContract):
    settings: ClassVar[dict[str, str]] = {}

    @pytest.fixture(autouse=True)
    def _topic(self, kafka: Kafka, bootstrap: str) -> None:
        if not self.settings:
            topic = kafka.create_topic()
            kafka.produce(topic, RECORDS)
            self.settings.update(task_config(bootstrap, topic, *aliases(), emit_offset__syncs_enabled="false"))

    def task_class(self) -> type[Task]:
        return Task

    def kafka(self) -> KafkaClients:
        return ConnectorClients()

    def config(self) -> dict[str, str]:
        return {**self.settings, "consumer.poll.timeout.ms": "100"}

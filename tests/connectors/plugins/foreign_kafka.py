"""A connector of another repository that reads a topic of any Kafka cluster."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType
from penstock.api.connector import SourceConnector
from penstock.api.kafka import EARLIEST, KafkaConsumer, KafkaRecords
from penstock.api.schema import BYTES, OPTIONAL_BYTES
from penstock.api.sink import TopicPartition
from penstock.api.source import SourceProgress, SourceTask

CLIENT = {"client.id": "foreign"}


class TopicCopyTask(SourceTask):
    consumer: KafkaConsumer | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self.topic, self.to = config["from"], config["to"]
        numbers = [int(number) for number in config["partitions"].split(",")]
        self.places = {number: {"topic": self.topic, "partition": number} for number in numbers}
        known = self.context.offset_reader.offsets(list(self.places.values()))
        self.consumer = self.context.kafka.consumer({"bootstrap.servers": config["servers"], **CLIENT})
        self.consumer.assign(
            {
                TopicPartition(self.topic, number): EARLIEST if offset is None else offset["next"]
                for number, offset in zip(numbers, known, strict=True)
            }
        )

    def poll(self) -> Batch | None:
        found = self.consumer.fetch(500, 0.1) if self.consumer is not None else None
        return self._batch(found) if found else None

    def _batch(self, found: KafkaRecords) -> Batch:
        return Batch.of(
            self.to,
            found.values,
            value_schema=BYTES,
            keys=found.keys,
            key_schema=OPTIONAL_BYTES,
            headers=found.headers,
            origin=SourceOrigin(
                [self.places[number] for number in found.partitions], [{"next": each + 1} for each in found.offsets]
            ),
        )

    def progress(self) -> list[SourceProgress]:
        if self.consumer is None:
            return []
        positions, ends = self.consumer.positions(), self.consumer.ends()
        read = {TopicPartition(self.topic, number): place for number, place in self.places.items()}
        return [SourceProgress(place, positions[each], ends[each]) for each, place in read.items()]

    def stop(self) -> None:
        if self.consumer is not None:
            self.consumer.close()
            self.consumer = None


class TopicCopy(SourceConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        config = ConfigDef()
        for name in ("servers", "from", "to"):
            config.define(name, ConfigType.STRING, NO_DEFAULT)
        return config

    def task_class(self) -> type[TopicCopyTask]:
        return TopicCopyTask

    def start(self, config: Mapping[str, str]) -> None:
        self.config = dict(config)
        admin = self.context.kafka.admin({"bootstrap.servers": config["servers"], **CLIENT})
        self.count = admin.partition_counts(30.0).get(config["from"], 0)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        numbers = list(map(str, range(self.count)))
        parts = [numbers[first::max_tasks] for first in range(min(max_tasks, self.count))]
        return [{**self.config, "partitions": ",".join(part)} for part in parts]

"""Runs of JDBC sinks and sources on a real Spark, and their output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.kafka.client import Kafka, Record
from support.spark.host import Hosted
from support.spark.queries import SECONDS, Sink, SourceQuery
from support.tasks.runs import JSON, eventually, new_name


def field(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": kind, "optional": True, **more}


ID = field("id", "int32", optional=False)
NAME = field("name", "string")


def record(fields: list[dict[str, Any]], row: dict[str, Any] | None) -> Record:
    """Return a record with ``id`` as its key; the value is null if the row has nothing else."""
    key = {"schema": {"type": "struct", "fields": [ID]}, "payload": {"id": (row or {})["id"]}}
    value = {"schema": {"type": "struct", "fields": fields}, "payload": row}
    return Record(None if len(row or {}) == 1 else json.dumps(value).encode(), json.dumps(key).encode())


class JdbcSink(Sink):
    task_class = "penstock.connectors.jdbc:JdbcSinkTask"

    def __init__(self, hosted: Hosted, kafka: Kafka, url: str, partitions: int = 1, **config: str) -> None:
        settings = {
            "connection.url": url,
            "connection.attempts": "1",
            "key.converter": JSON,
            "value.converter": JSON,
            "value.converter.schemas.enable": "true",
            "table.name.format": "things",
            "auto.create": "true",
            **config,
        }
        super().__init__(hosted, kafka, kafka.create_topic(partitions=partitions), Path("unused"), **settings)

    def add(self, fields: list[dict[str, Any]], *rows: dict[str, Any]) -> None:
        self.kafka.produce(self.topic, [record(fields, row) for row in rows])


class JdbcSource(SourceQuery):
    """Reads tables of ``url`` into topics that begin with ``prefix``; its offsets are in a separate topic."""

    task_class = "penstock.connectors.jdbc:JdbcSourceTask"

    def __init__(self, hosted: Hosted, kafka: Kafka, url: str, exactly_once: bool = False, **config: str) -> None:
        self.exactly_once, self.offsets = exactly_once, kafka.create_topic()
        self.prefix = f"{new_name('jdbc')}-"
        settings = {
            "connection.url": url,
            "connection.attempts": "1",
            "topic.prefix": self.prefix,
            "poll.interval.ms": "100",
            "table.poll.interval.ms": "500",
            "topic.creation.default.partitions": "1",
            "topic.creation.default.replication.factor": "1",
        }
        super().__init__(hosted, kafka, self.prefix, {**settings, **config})

    def committed(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return the source partitions with their last offsets."""
        found = {record.key: record.value for record in self.kafka.read_all(self.offsets)}
        return [(json.loads(key or b"")[1], json.loads(value or b"null")) for key, value in found.items()]

    def values(self, table: str, isolation: str = "read_committed") -> list[Any]:
        return [json.loads(value or b"null") for value in self.kafka.values(self.prefix + table, isolation)]

    def wait(self, table: str, count: int) -> list[Any]:
        """Wait for ``count`` values and return them."""
        topic = self.prefix + table

        def look() -> list[Any] | None:
            self.fine()
            if topic not in self.kafka.topics():
                return None
            values = self.values(table)
            return values if len(values) >= count else None

        values = eventually(look, SECONDS)
        assert values is not None
        assert len(values) == count
        return values

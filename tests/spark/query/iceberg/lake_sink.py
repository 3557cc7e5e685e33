"""A sink to an Iceberg table in a catalog of its own, on a real Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from pyiceberg.exceptions import NoSuchTableError

from spark.query.iceberg import lake
from support.kafka.client import Kafka, Record
from support.spark.host import Hosted
from support.spark.queries import Query, Sink


class LakeSink(Sink):
    """Writes its topic to the table ``lake.NAME`` of a catalog in ``place``."""

    def __init__(self, hosted: Hosted, kafka: Kafka, topic: str, place: Path, **config: str) -> None:
        self.place = place
        self.folder = place / "warehouse" / "shop" / "flights"
        own = {name: value for name, value in lake.config(place).items() if name != "name"}
        Query.__init__(self, hosted, kafka, topic, {"topics": topic, **own, **config})

    def rows(self, format: str = "parquet") -> list[dict[str, Any]]:
        try:
            return lake.rows(self.place)
        except NoSuchTableError:
            return []

    def table(self) -> Any:
        return lake.catalog(self.place).load_table(lake.NAME)

    def send(self, fields: list[dict[str, Any]], *payloads: dict[str, Any]) -> None:
        """Produce structs with their schema."""
        schema = {"type": "struct", "fields": fields}
        self.kafka.produce(self.topic, [Record(orjson.dumps({"schema": schema, "payload": each})) for each in payloads])

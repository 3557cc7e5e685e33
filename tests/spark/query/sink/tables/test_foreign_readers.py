"""Folders of a sink as readers other than Spark see them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import Sink

pytestmark = [pytest.mark.integration, pytest.mark.slow]

DAYS = ["0001-01-01", "1500-02-28", "1582-10-10", "1677-01-01", "1970-01-01", "9999-12-31"]
SCHEMA = "id INT, day DATE, moment TIMESTAMP, local TIMESTAMP_NTZ"


@pytest.fixture
def sink(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> Callable[..., Sink]:
    def make(partitions: int = 1, **config: str) -> Sink:
        return Sink(hosted, kafka, kafka.create_topic(partitions=partitions), tmp_path / "table", **config)

    return make


def row(id: int, day: str) -> dict[str, object]:
    return {"id": id, "day": day, "moment": f"{day}T01:02:03.456789Z", "local": f"{day}T23:59:59.999999"}


def test_parquet_has_the_same_days_and_instants_for_every_reader(sink: Callable[..., Sink]) -> None:
    with sink(partitions=1, schema=SCHEMA) as one:
        one.produce(*(row(i, day) for i, day in enumerate(DAYS)))
        one.start()
        rows = {each["id"]: each for each in one.wait(len(DAYS))}
        for i, day in enumerate(DAYS):
            date = dt.date.fromisoformat(day)
            assert rows[i]["day"] == date
            assert rows[i]["moment"] == dt.datetime.combine(date, dt.time(1, 2, 3, 456789), dt.UTC)
            assert rows[i]["local"] == dt.datetime.combine(date, dt.time(23, 59, 59, 999999))
        for file in one.folder.glob("*.parquet"):
            schema = pq.read_schema(file)
            assert schema.field("moment").type == pa.timestamp("us", "UTC")
            kinds = {column.physical_type for column in pq.ParquetFile(file).schema}
            assert "INT96" not in kinds


def test_a_pattern_for_json_in_all_folders_matches_rows_alone(sink: Callable[..., Sink]) -> None:
    with sink(partitions=1, schema=SCHEMA, format="json") as one:
        one.produce(*(row(i, day) for i, day in enumerate(DAYS)))
        one.start()
        one.written(len(DAYS))
        one.stop()
        # As DuckDB's read_json does, pathlib looks into hidden folders and at hidden files.
        lines = [line for file in one.folder.rglob("*.json") for line in file.read_text().splitlines()]
        assert sorted(json.loads(line)["id"] for line in lines) == list(range(len(DAYS)))
        days = {each["id"]: each["day"] for each in map(json.loads, lines)}
        assert days == dict(enumerate(DAYS))

"""Folders of a sink as readers other than Spark see them."""

from __future__ import annotations

import csv
import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import Sink, Source

pytestmark = [pytest.mark.integration, pytest.mark.slow]

BEFORE, AFTER = ["0001-01-01", "1500-02-28", "1582-10-04"], ["1582-10-15", "1677-01-01", "1970-01-01", "9999-12-31"]
DAYS = [*BEFORE, "1582-10-10", *AFTER]
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
        # As some readers do, pathlib looks into hidden folders and at hidden files.
        lines = [line for file in one.folder.rglob("*.json") for line in file.read_text().splitlines()]
        assert sorted(json.loads(line)["id"] for line in lines) == list(range(len(DAYS)))
        days = {each["id"]: each["day"] for each in map(json.loads, lines)}
        assert days == dict(enumerate(DAYS))
        found = duckdb.sql(f"SELECT id, day::VARCHAR FROM read_json('{one.folder}/**/*.json') ORDER BY id").fetchall()
        assert found == list(enumerate(DAYS))


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json"])
def test_a_source_reads_the_days_and_instants_that_a_sink_has_written(
    hosted: Hosted, sink: Callable[..., Sink], kafka: Kafka, tmp_path: Path, format: str
) -> None:
    days = ["1582-10-16", *AFTER[1:]] if format == "orc" else DAYS
    rows = [
        {"id": i, "day": day, "moment": f"{day}T01:02:03.456Z", "local": f"{day}T23:59:59.999"}
        for i, day in enumerate(days)
    ]
    schema = SCHEMA if format == "parquet" else SCHEMA.replace(", local TIMESTAMP_NTZ", "")
    with sink(partitions=1, schema=schema, format=format) as one:
        one.produce(*rows)
        one.start()
        one.written(len(days))
        one.stop()
    if format == "csv":
        lines = [line for file in one.folder.glob("*.csv") for line in csv.reader(file.read_text().splitlines())]
        micros = [(row["id"], row["day"], str(row["moment"]).replace("Z", "000Z")) for row in rows]
        assert sorted(lines) == sorted([str(id), day, moment] for id, day, moment in micros)
    if format == "orc":
        files = [orc.read_table(file, columns=["id", "day"]) for file in one.folder.glob("*.orc")]
        found = pa.concat_tables(files)
        read = dict(zip(found["id"].to_pylist(), found["day"].to_pylist(), strict=True))
        assert read == {row["id"]: dt.date.fromisoformat(str(row["day"])) for row in rows}
    place = tmp_path / "source"
    place.mkdir()
    with Source(hosted, kafka, place, format=format, path=str(one.folder), schema=schema) as source:
        source.start()
        back = {row["id"]: row for row in source.wait(len(days))}
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for row in rows:
        moment = dt.datetime.fromisoformat(str(row["moment"]))
        assert back[row["id"]]["day"] == (moment.date() - epoch.date()).days
        assert back[row["id"]]["moment"] == (moment - epoch) // dt.timedelta(milliseconds=1)


@pytest.mark.parametrize("day", [BEFORE[0], BEFORE[-1], "1582-10-10"])
def test_orc_refuses_days_that_spark_writes_as_others(sink: Callable[..., Sink], day: str) -> None:
    with sink(partitions=1, schema=SCHEMA, format="orc") as one:
        # In a longer file ORC's writer does not convert the last rows to the calendar that the file names.
        one.produce(*(row(i, AFTER[1]) for i in range(1_500)), row(1_500, day))
        one.start()
        assert "column day has a value before 15 October 1582" in one.failure()

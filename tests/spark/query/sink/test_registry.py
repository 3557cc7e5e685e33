"""A Spark sink of Avro records with a registry: typed columns, and a schema that evolves in the middle of the topic.

``PENSTOCK_TEST_AVRO_RECORDS=1000000`` writes a million of them instead of a few thousand.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from penstock.api.schema import DATE, FLOAT64, INT64, OPTIONAL_STRING, STRING, TIMESTAMP, Schema, decimal, struct
from penstock.pipeline.converters import AvroConverter
from support.kafka.client import Kafka, Record
from support.registry_front import Answer, running_front
from support.spark import delta
from support.spark.host import Hosted
from support.tasks.runs import eventually, new_name

pytest.importorskip("fastavro")
pytestmark = [pytest.mark.integration, pytest.mark.slow]

RECORDS = int(os.environ.get("PENSTOCK_TEST_AVRO_RECORDS", "20000"))
PARTITIONS = 2
CHUNK = 10_000
SECONDS = 900
AVRO = "io.confluent.connect.avro.AvroConverter"

OLDER = struct(
    ("id", INT64), ("name", STRING), ("price", FLOAT64), ("amount", decimal(2)), ("day", DATE), ("at", TIMESTAMP),
    name="org.example.Order",
)  # fmt: skip
NEWER = struct(*((field.name, field.schema) for field in OLDER.fields), ("note", OPTIONAL_STRING), name=OLDER.name)
TYPES = {
    "id": pa.int64(), "name": pa.string(), "price": pa.float64(), "amount": pa.decimal128(38, 2), "day": pa.date32(),
    "note": pa.string(),
}  # fmt: skip
DAY, MOMENT = dt.date(2026, 5, 1), dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


def row(number: int) -> dict[str, Any]:
    amount = Decimal(number).scaleb(-2)
    found = {"id": number, "name": f"n{number % 3}", "price": number / 4, "amount": amount, "day": DAY, "at": MOMENT}
    return found if number < RECORDS // 2 else {**found, "note": f"note {number}"}


def produce(kafka: Kafka, registry_url: str, topic: str) -> None:
    """Half of the records have the older schema, and then half the newer."""
    converter = AvroConverter()
    converter.configure({"schema.registry.url": registry_url}, False)
    half = RECORDS // 2
    for first in range(0, RECORDS, CHUNK):
        numbers = range(first, min(first + CHUNK, RECORDS))
        schemas: list[Schema | None] = [OLDER if number < half else NEWER for number in numbers]
        n = len(numbers)
        messages = converter.from_connect_batch([topic] * n, [()] * n, schemas, list(map(row, numbers)))
        kafka.produce(topic, [Record(value, partition=i % PARTITIONS) for i, value in enumerate(messages)])
    converter.close()


def table(folder: Path) -> pa.Table:
    files = delta.files(folder)
    wide = pa.unify_schemas([ds.dataset(file).schema for file in files], promote_options="permissive")
    return ds.dataset(files, wide).to_table()


def test_avro_becomes_typed_columns_and_follows_the_evolution_of_its_schema(
    spark: Hosted, kafka: Kafka, registry_url: str, tmp_path: Path
) -> None:
    topic = kafka.create_topic(f"orders-{uuid.uuid4().hex[:8]}", PARTITIONS)
    produce(kafka, registry_url, topic)
    settings = {
        "format": "delta",
        "batch.max.records": str(max(RECORDS // 3, 1)),  # so that the evolution is in the middle of a batch
        "value.converter": AVRO,
        "value.converter.schema.registry.url": registry_url,
    }
    with delta.DeltaSink(spark, kafka, topic, tmp_path / "table", **settings) as one:
        begun = time.monotonic()
        one.start()

        def all_there() -> bool:
            one.fine()
            files = delta.files(one.folder) if one.folder.exists() else []
            return bool(files) and ds.dataset(files).count_rows() >= RECORDS

        eventually(all_there, SECONDS)
        print(f"{RECORDS:,} Avro records in a Delta table within {time.monotonic() - begun:.1f} s of the task's start")
        one.written(RECORDS)
        one.stop()
    found = table(one.folder)
    assert len(found) == RECORDS
    assert {name: found.schema.field(name).type for name in TYPES} == TYPES
    assert pa.types.is_timestamp(found.schema.field("at").type)
    assert pc.count_distinct(found["id"]).as_py() == RECORDS
    assert found["note"].null_count == RECORDS // 2
    last = found.filter(pc.equal(found["id"], RECORDS - 1)).to_pylist()[0]
    assert {**last, "at": last["at"].replace(tzinfo=dt.UTC)} == row(RECORDS - 1)
    assert [kind for _, kind in _columns(one.folder)] == ["long", "string", "double", "decimal(38,2)", "date",
                                                          "timestamp", "string"]  # fmt: skip


def _columns(folder: Path) -> list[tuple[str, Any]]:
    """Return the table's columns from its log."""
    entries = [json.loads(line) for entry in delta.log(folder) for line in entry.read_text().splitlines()]
    newest = [entry["metaData"] for entry in entries if "metaData" in entry][-1]
    return [(field["name"], field["type"]) for field in json.loads(newest["schemaString"])["fields"]]


def test_an_undecodable_record_is_a_dead_letter_byte_for_byte(
    spark: Hosted, kafka: Kafka, registry_url: str, tmp_path: Path
) -> None:
    topic, letters = kafka.create_topic(f"orders-{uuid.uuid4().hex[:8]}"), new_name("dlq")
    converter = AvroConverter()
    converter.configure({"schema.registry.url": registry_url}, False)
    good = [converter.from_connect(topic, (), OLDER, row(number)) for number in range(3)]
    converter.close()
    bad = [b"\0\x7f\xff\xff\xff\x02", b"no frame", good[0][:9] if good[0] else b""]
    kafka.produce(topic, [Record(value) for pair in zip(good, bad, strict=True) for value in pair])
    settings = {
        "format": "delta",
        "value.converter": AVRO,
        "value.converter.schema.registry.url": registry_url,
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": letters,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    with delta.DeltaSink(spark, kafka, topic, tmp_path / "table", **settings) as one:
        one.start()
        assert sorted(found["id"] for found in one.wait(3)) == [0, 1, 2]
        one.written(6)
        one.stop()
    found = kafka.read_all(letters)
    assert [record.value for record in found] == bad
    said = [(dict(record.headers)["__connect.errors.exception.message"] or b"").decode() for record in found]
    assert f"id 2147483647 of subject {topic}-value" in said[0]
    assert "error code: 40403 (HTTP status 404)" in said[0]


def test_a_registry_that_is_lost_in_the_middle_loses_no_records(
    spark: Hosted, kafka: Kafka, registry_url: str, tmp_path: Path
) -> None:
    topic = kafka.create_topic(f"orders-{uuid.uuid4().hex[:8]}")
    converter = AvroConverter()
    converter.configure({"schema.registry.url": registry_url}, False)

    def send(schema: Schema, *numbers: int) -> None:
        rows = [row(number) | ({"note": "n"} if schema is NEWER else {}) for number in numbers]
        kafka.produce(topic, [Record(converter.from_connect(topic, (), schema, each)) for each in rows])

    with running_front(registry_url) as front:
        settings = {
            "format": "delta",
            "value.converter": AVRO,
            "value.converter.schema.registry.url": front.url,
            "value.converter.max.retries": "0",
            "value.converter.retries.wait.ms": "100",
            "errors.retry.timeout": "-1",
            "errors.retry.delay.max.ms": "500",
        }
        with delta.DeltaSink(spark, kafka, topic, tmp_path / "table", **settings) as one:
            one.start()
            send(OLDER, 0, 1)
            assert sorted(found["id"] for found in one.wait(2)) == [0, 1]
            front.answer = Answer.error(503, 50003, "Not now")
            asked = len(front.requests)
            send(OLDER, 2)
            send(NEWER, 3)
            eventually(lambda: one.fine() and len(front.requests) > asked + 3, SECONDS)
            assert sorted(found["id"] for found in one.rows()) in ([0, 1], [0, 1, 2])
            front.answer = None
            assert sorted(found["id"] for found in one.wait(4)) == [0, 1, 2, 3]
            one.stop()
    converter.close()


def test_a_registry_that_stays_away_ends_the_query_with_its_words(
    spark: Hosted, kafka: Kafka, registry_url: str, tmp_path: Path
) -> None:
    topic = kafka.create_topic(f"orders-{uuid.uuid4().hex[:8]}")
    converter = AvroConverter()
    converter.configure({"schema.registry.url": registry_url}, False)
    kafka.produce(topic, [Record(converter.from_connect(topic, (), OLDER, row(0)))])
    converter.close()
    with running_front(registry_url) as front:
        front.answer = Answer.error(503, 50003, "Not now")
        settings = {
            "format": "delta",
            "value.converter": AVRO,
            "value.converter.schema.registry.url": front.url,
            "value.converter.max.retries": "0",
            "errors.retry.timeout": "1000",
        }
        with delta.DeltaSink(spark, kafka, topic, tmp_path / "table", **settings) as one:
            one.start()
            trace = one.failure()
    assert f"subject {topic}-value" in trace
    assert "Not now; error code: 50003 (HTTP status 503)" in trace

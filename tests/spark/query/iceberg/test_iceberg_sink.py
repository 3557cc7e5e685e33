"""SparkSink to an Iceberg table in a catalog of its own, on a Spark that has no jar of Iceberg."""

from __future__ import annotations

import datetime as dt
import os
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyiceberg import types as i
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform

from penstock.core.model.tasks import SparkDied, SparkReady
from spark.query.iceberg import lake
from spark.query.iceberg.lake_sink import LakeSink
from support.kafka.client import Kafka, Record
from support.spark.host import Hosted
from support.spark.queries import ids, make
from support.tasks.runs import eventually, new_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SCHEMAS = {"value_converter_schemas_enable": "true"}
QUEUE = {"errors_tolerance": "all", "errors_deadletterqueue_topic_replication_factor": "1"}


def field(name: str, type: str, *, optional: bool = True, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": type, "optional": optional, **more}


def test_records_become_rows_once_though_a_batch_is_repeated(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """The group stands as it does when a run is killed after the table's commit and before its own."""
    fields = [field("id", "int64", optional=False), field("name", "string")]
    topic = kafka.create_topic()
    with LakeSink(hosted, kafka, topic, tmp_path, batch_max_records="10", **SCHEMAS) as one:
        one.send(fields, *make(0, 30))
        one.start()
        one.wait(30)
        one.written(30)
        one.stop()
        before = one.table()
        assert before.schema().find_field("id").required
        assert before.schema().find_field("name").optional
        assert before.current_snapshot().summary["penstock.connector"] == one.name
        one.left_in_batch(20, 30)
        one.send(fields, *make(30, 45))
        one.start()
        assert ids(one.wait(45)) == list(range(45))
        one.written(45)
        mark = orjson.loads(one.table().current_snapshot().summary["penstock.offsets"])
        assert mark[topic]["offsets"] == {"0": 45}
        assert mark[topic]["id"]


def test_a_kill_in_the_midst_of_a_batch_loses_and_doubles_nothing(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=2), tmp_path, schema="id BIGINT, name STRING") as one:
        one.produce(*make(0, 10))
        one.start(batch_max_records="20")
        one.wait(10)
        one.written(10)
        one.produce(*make(10, 200))
        eventually(lambda: any("end" in metadata for _, metadata in one.committed().values()))
        os.kill(hosted.query_driver.process_id, signal.SIGKILL)
        one.ended()
        hosted.events.until(SparkDied)
        hosted.events.until(SparkReady)
        one.start()
        assert ids(one.wait(200)) == list(range(200))
        one.written(200)
        assert ids(one.rows()) == list(range(200))


def test_tables_follow_the_schemas_of_records_at_every_depth(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    struct = {"type": "struct", "fields": [field("a", "int32")]}
    first = [field("id", "int32", optional=False), field("ratio", "float"), field("tags", "array", items=struct)]
    wide = {"type": "struct", "fields": [field("a", "int64"), field("b", "string")]}
    then = [field("id", "int64"), field("ratio", "double"), field("tags", "array", items=wide), field("new", "string")]
    evolves = {"iceberg.tables.evolve-schema-enabled": "true"}
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, **SCHEMAS, **evolves) as one:
        one.send(first, {"id": 1, "ratio": 0.5, "tags": [{"a": 1}]})
        one.start()
        one.wait(1)
        # The values of the new fields are null: the schema alone says that there are columns.
        one.send(then, {"id": 2, "ratio": None, "tags": [], "new": None})
        one.wait(2)
        one.send(then, {"id": None, "ratio": 1e300, "tags": [{"a": 1 << 40, "b": "x"}], "new": "y"})
        rows = sorted(one.wait(3), key=lambda row: row["id"] or 9)
    assert rows == [
        {"id": 1, "ratio": 0.5, "tags": [{"a": 1, "b": None}], "new": None},
        {"id": 2, "ratio": None, "tags": [], "new": None},
        {"id": None, "ratio": 1e300, "tags": [{"a": 1 << 40, "b": "x"}], "new": "y"},
    ]


def test_values_of_all_types_reach_a_table_that_was_made_before(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """Records without a schema: a value is made to fit the column of its key, or becomes a dead letter."""
    schema = Schema(
        i.NestedField(1, "id", i.LongType(), required=True),
        i.NestedField(2, "price", i.DecimalType(9, 2)),
        i.NestedField(3, "at", i.TimestamptzType()),
        i.NestedField(4, "local", i.TimestampType()),
        i.NestedField(5, "day", i.DateType()),
        i.NestedField(6, "time", i.TimeType()),
        i.NestedField(7, "key", i.UUIDType()),
        i.NestedField(8, "data", i.BinaryType()),
        i.NestedField(9, "map", i.MapType(10, i.StringType(), 11, i.DoubleType())),
        i.NestedField(12, "list", i.ListType(13, i.StringType(), element_required=False)),
    )
    catalog = lake.catalog(tmp_path)
    catalog.create_namespace("shop")
    spec = PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "id_bucket"))
    catalog.create_table(lake.NAME, schema, partition_spec=spec)
    letters = new_name("dlq")
    queue = {**QUEUE, "errors_deadletterqueue_topic_name": letters}
    good = {
        "id": 1,
        "price": 12.5,
        "at": "2026-11-30T12:00:00.000001+01:00",
        "local": "2026-11-30T12:00:00",
        "day": "2026-11-30",
        "time": 3_600_000,
        "key": "c0ffee00-0000-4000-8000-000000000001",
        "data": "aGk=",
        "map": {"a": 1.5},
        "list": ["x", None],
    }
    bad = [{"name": "no id"}, {"id": 2, "price": 1.234}, {"id": 3, "key": "none"}, {"id": 4, "price": 12345678.0}]
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, **queue) as one:
        one.produce(good, *bad, {"id": 5, "unknown": 1})
        one.start()
        rows = {row["id"]: row for row in one.wait(2)}
        one.written(6)
    assert rows[1] == {
        "id": 1,
        "price": Decimal("12.50"),
        "at": dt.datetime(2026, 11, 30, 11, 0, 0, 1, tzinfo=dt.UTC),
        "local": dt.datetime(2026, 11, 30, 12),  # noqa: DTZ001 - a time without a zone
        "day": dt.date(2026, 11, 30),
        "time": dt.time(1),
        "key": rows[1]["key"],
        "data": b"hi",
        "map": [("a", 1.5)],
        "list": ["x", None],
    }
    assert str(rows[1]["key"]) == good["key"]
    assert [orjson.loads(each or b"null") for each in kafka.values(letters)] == bad


def test_records_that_do_not_fit_are_dead_letters_or_stop_the_task(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    letters = new_name("dlq")
    queue = {**QUEUE, "errors_deadletterqueue_topic_name": letters, "schema_drift": "dead-letter"}
    good, other = [field("id", "int32"), field("name", "string")], [field("id", "string")]
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, **SCHEMAS, **queue) as one:
        one.send(good, {"id": 1, "name": "a"})
        one.start()
        one.wait(1)
        one.send(other, {"id": "x"})
        one.send([*good, field("more", "string")], {"id": 2, "name": "b", "more": None})
        one.send([field("id", "int64")], {"id": 3})
        one.send(good, {"id": 4, "name": None})
        assert ids(one.wait(2)) == [1, 4]
        one.written(5)
        one.stop()
        assert len(kafka.values(letters)) == 3
        one.config |= {"schema.drift": "stop", "errors.tolerance": "none", "errors.deadletterqueue.topic.name": ""}
        one.send(other, {"id": "y"})
        one.start()
        assert "id is string in the records and int in the table" in one.failure()
    assert ids(one.rows()) == [1, 4]


def test_records_without_a_column_in_the_table_are_dead_letters(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """Neither nothing nor rows of nulls. Their moments are times of a column without a zone, where there is one."""
    catalog = lake.catalog(tmp_path)
    catalog.create_namespace("shop")
    catalog.create_table(
        lake.NAME, Schema(i.NestedField(1, "id", i.LongType()), i.NestedField(2, "at", i.TimestampType()))
    )
    letters = new_name("dlq")
    queue = {**QUEUE, "errors_deadletterqueue_topic_name": letters}
    moment = {**field("at", "int64"), "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
    known = [field("id", "int64"), moment]
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, **SCHEMAS, **queue) as one:
        one.send([field("wrap", "string")], {"wrap": "a"}, {"wrap": "b"})
        one.send(known, {"id": 1, "at": 3_600_000})
        one.start()
        assert one.wait(1) == [{"id": 1, "at": dt.datetime(1970, 1, 1, 1)}]  # noqa: DTZ001 - a time without a zone
        one.written(3)
        assert len(kafka.values(letters)) == 2
        one.send([field("wrap", "string")], {"wrap": "c"})
        one.written(4)
        assert len(kafka.values(letters)) == 3
    assert ids(one.rows()) == [1]


def test_sql_shapes_the_rows(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    shaped = {"schema": "id BIGINT, name STRING", "sql": "SELECT id, upper(name) AS name FROM records WHERE id > 1"}
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, **shaped) as one:
        one.produce(*make(0, 4))
        one.start()
        assert sorted((row["id"], row["name"]) for row in one.wait(2)) == [(2, "N2"), (3, "N0")]
        one.written(4)


def test_a_batch_without_rows_advances_the_table(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, schema="id BIGINT") as one:
        one.produce({"id": 1})
        one.start()
        one.wait(1)
        one.written(1)
        kafka.produce(one.topic, [Record(None), Record(None)])
        one.written(3)
        offsets = orjson.loads(one.table().current_snapshot().summary["penstock.offsets"])
        assert offsets[one.topic]["offsets"] == {"0": 3}
        one.stop()
        one.produce({"id": 2})
        one.start()
        assert ids(one.wait(2)) == [1, 2]


def test_a_table_that_was_rolled_back_stops_the_task_with_the_offsets_to_go_back_to(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, schema="id BIGINT") as one:
        one.start()
        for number in range(2):
            one.produce({"id": number})
            one.wait(number + 1)
            one.written(number + 1)
        one.stop()
        table = one.table()
        before = table.metadata.snapshot_by_id(table.current_snapshot().parent_snapshot_id)
        table.manage_snapshots().set_current_snapshot(snapshot_id=before.snapshot_id).commit()
        one.start()
        trace = one.failure()
    assert "it was rolled back or replaced" in trace
    assert f'alter the offsets of all of its partitions: to {{"{one.topic}": {{"0": 1}}}}' in trace


def test_a_dropped_table_is_created_again_only_when_the_offsets_were_altered(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    """The first batches have no rows, and leave no table."""
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, schema="id BIGINT") as one:
        kafka.produce(one.topic, [Record(None)])
        one.start()
        one.written(1)
        for number in range(2):
            one.produce({"id": number})
            one.wait(number + 1)
            one.written(number + 2)
        one.stop()
        lake.catalog(tmp_path).drop_table(lake.NAME)
        one.produce({"id": 2})
        for _ in range(2):
            one.start()
            assert "There is no table shop.flights, though this connector has written batches" in one.failure()
        assert not lake.catalog(tmp_path).table_exists(lake.NAME)
        kafka.commit(f"connect-{one.name}", one.topic, 2)
        one.start()
        assert ids(one.wait(2)) == [1, 2]
        one.written(4)


@pytest.mark.security
def test_a_table_whose_files_are_in_no_allowed_folder_is_not_written(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    """The catalog names the folder of a table that others have made."""
    catalog = lake.catalog(tmp_path)
    catalog.create_namespace("shop")
    schema = Schema(i.NestedField(1, "id", i.LongType()))
    catalog.create_table(lake.NAME, schema, location=(tmp_path / "elsewhere").as_uri())
    with LakeSink(hosted, kafka, kafka.create_topic(partitions=1), tmp_path, schema="id BIGINT") as one:
        one.worker = {"penstock.paths.allowed": f"{tmp_path}/warehouse,{tmp_path}/catalog.db"}
        one.produce({"id": 1})
        one.start()
        assert "elsewhere is not in the folders of `penstock.paths.allowed`" in one.failure()
    assert not list((tmp_path / "elsewhere").rglob("*.parquet"))

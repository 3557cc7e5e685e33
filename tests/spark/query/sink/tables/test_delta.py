"""A Spark sink to a Delta table, to which it adds rows, or which it changes by the keys of records."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from penstock.core.model.tasks import SparkDied, SparkReady
from penstock.spark.java import spark_java
from spark.query.sink.test_lost_offsets import GONE, forget
from support.kafka.client import Kafka, Record
from support.spark import delta
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, SECONDS, ids, make
from support.tasks.runs import JSON, eventually, new_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_batch_that_delta_has_is_not_written_again(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """The group stands as it does when a run is killed after Delta's commit and before its own."""
    settings = {"format": "delta", "schema": COLUMNS, "batch_max_records": "10"}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(), tmp_path / "table", **settings) as one:
        one.produce(*make(0, 30))
        one.start()
        one.wait(30)
        one.written(30)
        one.stop()
        one.left_in_batch(20, 30)
        one.produce(*make(30, 45))
        one.start()
        assert ids(one.wait(45)) == list(range(45))
    # That Delta can sum its log up on this Spark is part of the promise.
    assert (one.folder / "_delta_log" / "_last_checkpoint").exists()


def test_a_table_that_knows_batches_of_a_group_without_offsets_is_left_alone(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    settings = {"format": "delta", "schema": COLUMNS}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(partitions=1), tmp_path / "table", **settings) as one:
        one.produce(*make(0, 5))
        one.start()
        one.wait(5)
        one.stop()
        forget(kafka, one.name)
        one.start()
        assert GONE in one.failure()
        assert len(one.rows()) == 5


RESTORE = """
import sys
from pyspark.sql import SparkSession
jars, table, version = sys.argv[1:]
spark = (SparkSession.builder.master("local[1]").config("spark.jars", jars).config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1").config("spark.databricks.delta.snapshotPartitions", "1")
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog").getOrCreate())
spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF {version}")
"""


def restore(table: Path, version: int) -> None:
    """Set a table back, by a Spark that has nothing to do with the sink's."""
    jars = delta.spark_settings()["spark.jars"]
    environment = {**os.environ, "JAVA_HOME": str(spark_java().home), "SPARK_LOCAL_IP": "127.0.0.1"}
    subprocess.run([sys.executable, "-c", RESTORE, jars, str(table), str(version)], env=environment, check=True)


@pytest.mark.parametrize("running", [False, True])
def test_a_table_that_was_set_back_stops_its_sink_until_its_offsets_are_altered(
    spark: Hosted, kafka: Kafka, tmp_path: Path, running: bool
) -> None:
    """Delta itself takes the batches that were removed for written."""
    settings = {"format": "delta", "schema": COLUMNS, "batch_max_records": "5"}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(partitions=1), tmp_path / "table", **settings) as one:
        one.produce(*make(0, 5))
        one.start()
        one.wait(5)
        one.produce(*make(5, 10))
        one.wait(10)
        one.written(10)
        if not running:
            one.stop()
        restore(one.folder, 0)
        assert ids(one.rows()) == list(range(5))
        if running:
            one.produce(*make(10, 12))
        else:
            one.start()
        assert "was set back by RESTORE in its version 2, so that it lacks rows" in one.failure()
        if not running:
            one.produce(*make(10, 12))
        # As a request alters the offsets, to where the table's rows end.
        one.commit({0: (5, {})})
        one.start()
        assert ids(one.wait(12)) == list(range(12))
        one.written(12)


def test_a_table_that_was_deleted_begins_again_where_the_group_is(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    settings = {"format": "delta", "schema": COLUMNS, "batch_max_records": "5"}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(partitions=1), tmp_path / "table", **settings) as one:
        one.produce(*make(0, 10))
        one.start()
        one.wait(10)
        one.written(10)
        one.stop()
        # The group stands as it does when a run is killed within a batch that the old table has.
        one.left_in_batch(5, 10)
        shutil.rmtree(one.folder)
        one.produce(*make(10, 12))
        one.start()
        assert ids(one.wait(7)) == list(range(5, 12))
        one.written(12)


UPSERT = {
    "format": "delta",
    "insert_mode": "upsert",
    "pk_mode": "record_key",
    "pk_fields": "id",
    "delete_enabled": "true",
    "key_converter": JSON,
    "value_converter_schemas_enable": "true",
}
KEY = {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}


class Changes(delta.DeltaSink):
    """Follows records whose keys are numbers."""

    def change(self, *rows: tuple[int, dict[str, Any] | None]) -> None:
        self.kafka.produce(self.topic, [self._record(*row) for row in rows])

    def _record(self, id: int, row: dict[str, Any] | None) -> Record:
        types = {int: "int64", str: "string"}
        fields = [{"field": name, "type": types[type(value)], "optional": True} for name, value in (row or {}).items()]
        value = {"schema": {"type": "struct", "fields": fields}, "payload": row}
        return Record(row and orjson.dumps(value), orjson.dumps({"schema": KEY, "payload": {"id": id}}))

    def becomes(self, table: dict[int, Any]) -> None:
        """Wait until the table has these rows, by id."""
        eventually(lambda: self.fine() and self.table() == table, SECONDS)

    def table(self) -> dict[int, Any]:
        rows = self.rows() if self.folder.exists() else []
        found = {row.pop("id"): tuple(row.values()) for row in rows}
        assert len(found) == len(rows)
        return found


def test_delta_table_follows_inserts_updates_and_deletes(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    letters = new_name("dlq")
    queue = {"errors_tolerance": "all", "errors_deadletterqueue_topic_name": letters}
    queue["errors_deadletterqueue_topic_replication_factor"] = "1"
    with Changes(spark, kafka, kafka.create_topic(partitions=3), tmp_path / "table", **UPSERT, **queue) as one:
        # The last of each key counts; a deletion of what is not there is nothing.
        one.change((1, {"name": "a"}), (2, {"name": "b"}), (1, {"name": "A"}), (3, {"name": "c"}), (3, None), (4, None))
        one.start()
        one.becomes({1: ("A",), 2: ("b",)})
        # A key changes as Debezium tells it: the row of the old key ends, and another begins.
        one.change((2, None), (5, {"name": "b"}), (1, {"name": "x", "n": 7}), (6, {"name": "f"}))
        one.becomes({1: ("x", 7), 5: ("b", None), 6: ("f", None)})
        kafka.produce(one.topic, [Record(b'{"schema": {"type": "string"}, "payload": "?"}', None)])
        one.change((1, {"n": 8}), (6, None), (6, {"name": "again"}))
        one.becomes({1: (None, 8), 5: ("b", None), 6: ("again", None)})
        one.written(14)
        one.stop()
    assert [b"?" in (value or b"") for value in kafka.values(letters)] == [True]


def test_a_repeated_batch_changes_nothing(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """The group stands as it does when a run is killed between Delta's commit and its own; meanwhile the table was
    changed otherwise, which shows that nothing is written.
    """
    with Changes(spark, kafka, kafka.create_topic(partitions=1), tmp_path / "table", **UPSERT) as one:
        one.change((1, {"name": "a"}))
        one.start()
        one.becomes({1: ("a",)})
        one.change((1, {"name": "b"}), (2, {"name": "b"}))
        one.becomes({1: ("b",), 2: ("b",)})
        one.written(3)
        one.stop()
        versions = len(delta.log(one.folder))
        ((offset, metadata),) = one.committed().values()
        one.commit({0: (1, {**metadata, "end": offset})})
        one.change((3, {"name": "c"}))
        one.start()
        one.becomes({1: ("b",), 2: ("b",), 3: ("c",)})
        assert len(delta.log(one.folder)) == versions + 1


def test_a_kill_in_the_midst_of_a_batch_loses_and_doubles_nothing(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    with Changes(spark, kafka, kafka.create_topic(partitions=2), tmp_path / "table", **UPSERT) as one:
        one.change(*((id, {"n": 0}) for id in range(10)))
        one.start(batch_max_records="20")
        one.becomes(dict.fromkeys(range(10), (0,)))
        one.written(10)
        one.change(*((id, {"n": n}) for n in range(1, 4) for id in range(10)), *((id, None) for id in range(5)))
        eventually(lambda: any("end" in metadata for _, metadata in one.committed().values()))
        os.kill(spark.query_driver.process_id, signal.SIGKILL)
        one.ended()
        spark.events.until(SparkDied)
        spark.events.until(SparkReady)
        one.start()
        one.becomes(dict.fromkeys(range(5, 10), (3,)))
        eventually(lambda: sum(offset for offset, _ in one.committed().values()) == 45)
        assert one.table() == dict.fromkeys(range(5, 10), (3,)), "no batch after it has changed that"

"""Files that a Delta table's log names outside the allowed folders: their rows are neither read nor written again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from spark.query.sink.tables.test_delta import UPSERT, Changes
from support.kafka.client import Kafka
from support.spark import delta
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Source, ids, make

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.security]

ALLOWED = "penstock.paths.allowed"
REFUSED = f"is not in the folders of `{ALLOWED}` of the worker"


def name_another(table: Path, file: Path, path: str) -> None:
    """Write the table's next version with this file under this path."""
    version = len(delta.log(table))
    added = {
        "path": path,
        "partitionValues": {},
        "size": file.stat().st_size,
        "modificationTime": 1,
        "dataChange": True,
    }
    lines = [{"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationParameters": {}}}, {"add": added}]
    (table / "_delta_log" / f"{version:020}.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.mark.parametrize("how", ["absolute", "link"])
def test_a_source_reads_no_file_that_a_table_names_elsewhere(
    spark: Hosted, kafka: Kafka, tmp_path: Path, how: str
) -> None:
    table, secret = tmp_path / "allowed" / "a b%20c", tmp_path / "secret.parquet"
    settings = {"format": "delta", "schema": COLUMNS}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(), table, **settings) as sink:
        sink.worker = {ALLOWED: str(tmp_path / "allowed")}
        sink.produce(*make(0, 5))
        sink.start()
        sink.wait(5)
        sink.stop()
    shutil.copy(delta.files(table)[0], secret)
    reads = {"format": "delta", "path": str(table), "checkpoint_location": str(tmp_path / "allowed" / "notes")}
    with Source(spark, kafka, tmp_path, exactly_once=how == "link", **reads) as one:
        one.worker = {ALLOWED: str(tmp_path / "allowed")}
        one.start()
        assert ids(one.wait(5)) == list(range(5))
        one.batch(0)
        if how == "link":
            (table / "link.parquet").symlink_to(secret)
        name_another(table, secret, secret.as_uri() if how == "absolute" else "link.parquet")
        assert REFUSED in one.failure()
        assert len(one.values()) == 5


def test_no_compaction_writes_rows_of_a_file_that_the_table_names_elsewhere(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    table, secret = tmp_path / "allowed" / "table", tmp_path / "secret.parquet"
    settings = {"format": "delta", "schema": COLUMNS, "option.delta.autoOptimize.autoCompact": "true"}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(partitions=1), table, **settings) as one:
        one.worker = {ALLOWED: str(tmp_path / "allowed")}
        one.produce(*make(0, 5))
        one.start()
        one.wait(5)
        one.stop()
        shutil.copy(delta.files(table)[0], secret)
        name_another(table, secret, secret.as_uri())
        del one.config["option.delta.autoOptimize.autoCompact"]  # the table has it
        one.produce(*make(5, 9))
        one.start()
        assert REFUSED in one.failure()


@pytest.mark.parametrize("place", ["constraint", "invariant", "default", "generated"])
def test_no_expression_of_a_table_calls_java(spark: Hosted, kafka: Kafka, tmp_path: Path, place: str) -> None:
    """A file in the table's log may have SQL, which Delta computes for each row."""
    table = tmp_path / "allowed" / "table"
    settings = {"format": "delta", "schema": COLUMNS}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(partitions=1), table, **settings) as one:
        one.worker = {ALLOWED: str(tmp_path / "allowed")}
        one.produce(*make(0, 5))
        one.start()
        one.wait(5)
        one.stop()
        actions = [json.loads(line) for line in delta.log(table)[0].read_text().splitlines()]
        (metadata,) = (action for action in actions if "metaData" in action)
        (protocol,) = (action for action in actions if "protocol" in action)
        schema = json.loads(metadata["metaData"]["schemaString"])
        honest, hostile = "name IS NULL OR length(name) < 99", "reflect('java.lang.System', 'getProperty', 'x') IS NULL"

        def changed(text: str) -> None:
            field, keys = schema["fields"][1], {"default": "CURRENT_DEFAULT", "generated": "delta.generationExpression"}
            if place == "constraint":
                metadata["metaData"]["configuration"]["delta.constraints.a"] = text
            elif place == "invariant":
                field["metadata"] = {"delta.invariants": json.dumps({"expression": {"expression": text}})}
            else:
                field["metadata"] = {keys[place]: text}
            metadata["metaData"]["schemaString"] = json.dumps(schema)
            version = len(delta.log(table))
            lines = [{"commitInfo": {"timestamp": 1, "operation": "x", "operationParameters": {}}}, protocol, metadata]
            (table / "_delta_log" / f"{version:020}.json").write_text(
                "".join(f"{json.dumps(each)}\n" for each in lines)
            )

        if place in ("constraint", "invariant"):
            changed(honest)
            one.produce(*make(5, 9))
            one.start()
            one.wait(9)
            one.stop()
        changed(hostile)
        one.produce(*make(9, 12))
        one.start()
        failure = one.failure()
        assert "which is not allowed" in failure
        assert "the function reflect is not allowed" in failure
        assert len(one.rows()) in (5, 9)


def test_a_merge_writes_no_row_of_a_file_that_the_table_names_elsewhere(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    table, secret = tmp_path / "allowed" / "table", tmp_path / "secret.parquet"
    with Changes(spark, kafka, kafka.create_topic(partitions=1), table, **UPSERT) as one:
        one.worker = {ALLOWED: str(tmp_path / "allowed")}
        one.change((1, {"name": "a"}))
        one.start()
        one.becomes({1: ("a",)})
        one.change((1, {"name": "b"}), (2, {"name": "c"}))
        one.becomes({1: ("b",), 2: ("c",)})
        shutil.copy(delta.files(table)[0], secret)
        name_another(table, secret, secret.as_uri())
        versions = len(delta.log(table))
        one.change((1, {"name": "d"}))
        assert REFUSED in one.failure()
        assert len(delta.log(table)) == versions

"""SparkSink and SparkSource with folders and Delta tables in S3, on a real Spark and a server of the same API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.spark.settings import HostSettings
from penstock.spark.versions import release
from support.jars import require
from support.kafka.client import Kafka
from support.s3 import JARS, S3, serving
from support.spark.host import Hosted, started
from support.spark.queries import COLUMNS, Source, ids, make
from support.spark.s3 import S3Sink, spark_settings
from support.tasks.runs import new_name

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def spark(s3: S3) -> Iterator[Hosted]:
    require(JARS)
    with started(HostSettings(spark=spark_settings(s3))) as hosted:
        yield hosted


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv", "delta"])
def test_a_sink_writes_each_record_once(spark: Hosted, kafka: Kafka, s3: S3, format: str) -> None:
    if format == "delta" and release().delta is None:
        pytest.skip("Delta has no build for this Spark")
    more = {"option.header": "true"} if format == "csv" else {}
    with S3Sink(spark, kafka, s3, format, batch_max_records="10", **more) as one:
        one.produce(*make(0, 30))
        one.start()
        one.wait(30)
        one.written(30)
        one.stop()
        # As a run leaves it that is killed after the rows are in the table and before the group knows it.
        one.left_in_batch(20, 30)
        one.produce(*make(30, 45))
        one.start()
        assert ids(one.wait(45)) == list(range(45))
        one.written(45)
    if format != "delta":
        files = len(s3.keys(one.place)) - 1
        assert sum(request.is_copy and one.place in request.path for request in s3.requests) == 2 * files
        lists = [name for name in s3.keys(one.place) if name.startswith(".penstock")]
        assert len(lists) == 1, "what is written before its list is published is gone"


def test_a_delta_table_in_s3_has_a_log_whose_versions_are_put_if_there_are_none(
    spark: Hosted, kafka: Kafka, s3: S3
) -> None:
    if release().delta is None:
        pytest.skip("Delta has no build for this Spark")
    with S3Sink(spark, kafka, s3, "delta") as one:
        one.produce(*make(0, 5))
        one.start()
        assert ids(one.wait(5)) == list(range(5))
        puts = [
            request.headers.get("if-none-match")
            for request in s3.requests
            if request.is_upload and f"{one.place}/_delta_log/0000" in request.path and ".json" in request.path
        ]
        assert puts
        assert set(puts) == {"*"}


def test_a_source_reads_a_folder_of_s3_with_its_checkpoint_there(
    spark: Hosted, kafka: Kafka, s3: S3, tmp_path: Path
) -> None:
    place = new_name("in")
    s3.files.create_dir(f"{s3.bucket}/{place}")

    def put(name: str, *rows: dict[str, Any]) -> None:
        with s3.files.open_output_stream(f"{s3.bucket}/{place}/{name}") as stream:
            stream.write("".join(json.dumps(row) + "\n" for row in rows).encode())

    put("one.json", *make(0, 3))
    where = {"path": f"s3a://{s3.bucket}/{place}", "checkpoint.location": f"s3a://{s3.bucket}/{new_name('checkpoint')}"}
    with Source(spark, kafka, tmp_path, schema=COLUMNS, **where) as one:
        one.start()
        assert ids(one.wait(3)) == [0, 1, 2]
        one.batch(0)
        one.stop()
        put("two.json", *make(3, 5))
        one.start()
        assert ids(one.wait(5)) == [0, 1, 2, 3, 4]

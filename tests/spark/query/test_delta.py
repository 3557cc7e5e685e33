"""A Spark sink to a Delta table: each batch once, though Spark is killed at work."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

import delta
from hosting import Hosted
from jar_lists import needed
from penstock.core.tasks import SparkDied, SparkReady
from penstock.spark.session import HostSettings
from query_runs import COLUMNS, Sink, ids, make
from support import Kafka
from task_runs import eventually
from workers import SPARKS_JAVA

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def spark() -> Iterator[Hosted]:
    needed(delta.JARS)
    settings = {
        # Delta sums its log up after so many commits; ten, otherwise.
        "spark.databricks.delta.properties.defaults.checkpointInterval": "3",
        SPARKS_JAVA: "-XX:TieredStopAtLevel=1",
    }
    hosted = Hosted(HostSettings(spark={**delta.spark_settings(), **settings}))
    hosted.start()
    try:
        hosted.events.until(SparkReady)
        yield hosted
    finally:
        hosted.close(20.0)


class DeltaSink(Sink):
    def rows(self, format: str = "parquet") -> list[dict[str, Any]]:
        files = delta.files(self.folder)
        return ds.dataset(files, format=format).to_table().to_pylist() if files else []


@pytest.fixture
def sink(spark: Hosted, kafka: Kafka, tmp_path: Path) -> DeltaSink:
    topic = kafka.create_topic()
    return DeltaSink(spark, kafka, topic, tmp_path / "table", format="delta", schema=COLUMNS, batch_max_records="20")


def test_rows_are_there_once_when_spark_is_killed_at_work(sink: DeltaSink) -> None:
    with sink as one:
        one.produce(*make(0, 60))
        one.start()
        one.wait(60)
        one.produce(*make(60, 120))
        eventually(lambda: any("end" in metadata for _, metadata in one.committed().values()))
        time.sleep(0.7)
        os.kill(one.hosted._driver._child.pid, signal.SIGKILL)
        one.ended()
        one.hosted.events.until(SparkDied)
        one.hosted.events.until(SparkReady)
        one.start()
        assert ids(one.wait(120)) == list(range(120))
    # That Delta can sum its log up on this Spark is part of the promise.
    assert (one.folder / "_delta_log" / "_last_checkpoint").exists()


def test_a_batch_that_delta_has_is_not_written_again(sink: DeltaSink) -> None:
    """The group stands as it does when a run is killed after Delta's commit and before its own."""
    with sink as one:
        one.produce(*make(0, 10))
        one.start()
        one.wait(10)
        one.stop()
        ((offset, metadata),) = one.committed().values()
        assert offset == 10
        one.commit({0: (0, {**metadata, "end": 10})})
        one.produce(*make(10, 15))
        one.start()
        assert ids(one.wait(15)) == list(range(15))

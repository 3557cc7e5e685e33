"""A Spark sink to a Delta table. What comes of kills in the midst of it, ``make kill-test-sinks`` shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from penstock.spark.settings import HostSettings
from support.jars import require
from support.kafka.client import Kafka
from support.spark import delta
from support.spark.host import Hosted, started
from support.spark.queries import COLUMNS, Sink, ids, make
from support.worker_process import SPARKS_JAVA

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def spark() -> Iterator[Hosted]:
    require(delta.JARS)
    settings = {
        # Delta sums its log up after so many commits; ten, otherwise.
        "spark.databricks.delta.properties.defaults.checkpointInterval": "3",
        SPARKS_JAVA: "-XX:TieredStopAtLevel=1",
    }
    with started(HostSettings(spark={**delta.spark_settings(), **settings})) as hosted:
        yield hosted


class DeltaSink(Sink):
    def rows(self, format: str = "parquet") -> list[dict[str, Any]]:
        files = delta.files(self.folder)
        return ds.dataset(files, format=format).to_table().to_pylist() if files else []


def test_a_batch_that_delta_has_is_not_written_again(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """The group stands as it does when a run is killed after Delta's commit and before its own."""
    settings = {"format": "delta", "schema": COLUMNS, "batch_max_records": "10"}
    with DeltaSink(spark, kafka, kafka.create_topic(), tmp_path / "table", **settings) as one:
        one.produce(*make(0, 30))
        one.start()
        one.wait(30)
        one.stop()
        ((offset, metadata),) = one.committed().values()
        assert offset == 30
        one.commit({0: (20, {**metadata, "end": 30})})
        one.produce(*make(30, 45))
        one.start()
        assert ids(one.wait(45)) == list(range(45))
    # That Delta can sum its log up on this Spark is part of the promise.
    assert (one.folder / "_delta_log" / "_last_checkpoint").exists()

"""A Spark sink to a Delta table. What comes of kills in the midst of it, ``make kill-test-sinks`` shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark.query.sink.test_lost_offsets import GONE, forget
from support.jars import require
from support.kafka.client import Kafka
from support.spark import delta
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, ids, make

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def spark() -> Iterator[Hosted]:
    require(delta.JARS)
    # Delta sums its log up after so many commits; ten, otherwise.
    with delta.started_with(**{"spark.databricks.delta.properties.defaults.checkpointInterval": "3"}) as hosted:
        yield hosted


def test_a_batch_that_delta_has_is_not_written_again(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """The group stands as it does when a run is killed after Delta's commit and before its own."""
    settings = {"format": "delta", "schema": COLUMNS, "batch_max_records": "10"}
    with delta.DeltaSink(spark, kafka, kafka.create_topic(), tmp_path / "table", **settings) as one:
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

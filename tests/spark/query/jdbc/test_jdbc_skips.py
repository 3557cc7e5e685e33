"""Records that a JdbcSink leaves out on request, at least once and exactly once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from penstock.core.model.skips import Skip
from penstock.core.model.tasks import SkipOver
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_a_record_that_fails_is_skipped_and_those_around_it_are_in_the_table(
    spark: Hosted, kafka: Kafka, tmp_path: Path, delivery: str
) -> None:
    file = tmp_path / "things.db"
    with JdbcSink(spark, kafka, f"jdbc:sqlite:{file}", penstock_delivery=delivery) as one:
        one.add([ID, NAME], {"id": 1, "name": "one"})
        kafka.produce(one.topic, ["{broken"])
        one.add([ID, NAME], {"id": 3, "name": "three"})
        one.start()
        assert "Converting byte[] to Kafka Connect data failed" in one.failure()
        one.skips = (Skip(one.topic, 0, 1, 1, kafka.topic_id(one.topic)),)
        one.start()
        assert one.until(SkipOver)[-1] == SkipOver(one.id, 2, one.skips[0])
        one.written(3)
    with sqlite3.connect(file, timeout=900) as database:
        assert database.execute("SELECT * FROM things ORDER BY id").fetchall() == [(1, "one"), (3, "three")]

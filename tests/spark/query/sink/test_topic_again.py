"""Spark sinks whose topic is deleted and created again while they run."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Sink, ids, make

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_topic_that_is_deleted_and_created_again_is_read_from_its_beginning(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=1)
    with Sink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS) as one:
        one.produce(*make(0, 50))
        one.start()
        one.wait(50)
        one.written(50)
        kafka.renew_topic(topic)
        one.produce(*make(50, 70))
        assert ids(one.wait(70)) == list(range(70))
        one.written(20)
        one.stop()
        one.produce(*make(70, 80))
        one.start()
        assert ids(one.wait(80)) == list(range(80))

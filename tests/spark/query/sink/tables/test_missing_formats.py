"""Formats whose jars are missing fail their connector with one message, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core.model.tasks import TaskEnded, TaskFailed
from penstock.spark.versions import refusal, release
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, Sink, make

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_format_that_is_not_there_fails_its_connector_alone(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, format: str
) -> None:
    with Sink(hosted, kafka, kafka.create_topic(), tmp_path / "other", schema=COLUMNS) as other:
        other.produce(*make(0, 3))
        other.start()
        with Sink(hosted, kafka, kafka.create_topic(), tmp_path / "table", format=format) as sink:
            events = sink.start(until=TaskEnded)
            sink.running = False
            trace = next(event.trace for event in events if isinstance(event, TaskFailed))
            assert str(refusal(format, None, release())) in trace
        assert len(other.wait(3)) == 3

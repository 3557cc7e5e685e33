"""Traces of the batches of a Spark sink, as a collector of OpenTelemetry gets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.spark.settings import HostSettings
from support.kafka.client import Kafka, Record
from support.otlp import Collector
from support.spark.host import started
from support.spark.queries import COLUMNS, Sink, ids, make
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_a_batch_continues_the_traces_of_its_records(
    kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's driver has the address of the collector from the worker's environment, so it is one of this test."""
    topic = kafka.create_topic()
    parents = [f"00-{trace:032x}-{trace:016x}-01" for trace in (1, 1, 2, 3)]
    rows = zip(make(0, 4), parents, strict=True)
    kafka.produce(topic, [Record(json.dumps(row), headers=(("traceparent", parent.encode()),)) for row, parent in rows])
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        with started(HostSettings()) as hosted, Sink(hosted, kafka, topic, tmp_path / "table", schema=COLUMNS) as one:
            one.worker = {"penstock.telemetry.traces": "true"}
            one.start()
            assert ids(one.wait(4)) == [0, 1, 2, 3]
            eventually(lambda: len(collector.spans(f"sink {one.name}")) == 3)
        batches = collector.spans(f"sink {one.name}")
        assert {int.from_bytes(span.trace_id, "big") for span in batches} == {1, 2, 3}
        assert {span.parent_span_id for span in batches} == {number.to_bytes(8, "big") for number in (1, 2, 3)}
        (write,) = collector.spans("write")
        (main,) = [span for span in batches if span.span_id == write.parent_span_id]
        others = {span.span_id for span in batches} - {main.span_id}
        assert {link.span_id for span in batches if span.span_id in others for link in span.links} == {main.span_id}

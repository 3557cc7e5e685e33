"""Times and positions of queries, from what Spark's own reports look like."""

from __future__ import annotations

from typing import Any

from penstock.api.source import SourceProgress
from penstock.pipeline.metrics import Metrics
from penstock.spark.query.progress_report import BatchTimes, positions, shares


def report(number: int, **durations: int) -> dict[str, Any]:
    return {"batchId": number, "durationMs": durations}


def stages(metrics: Metrics) -> dict[str, float]:
    return {
        name.removeprefix("penstock-stage-").removesuffix("-seconds-total"): value
        for name, value in metrics.snapshot(0).items()
        if name.startswith("penstock-stage-") and name.endswith("-total")
    }


def test_each_batch_is_counted_once() -> None:
    metrics = Metrics(lambda _: None, ())
    times = BatchTimes(metrics)
    first = report(0, latestOffset=200, getBatch=50, queryPlanning=250, addBatch=9000, walCommit=40, commitOffsets=60)
    idle = report(1, latestOffset=5000, triggerExecution=5000)
    times.count_reports([first, idle])
    times.count_reports([first, idle])
    assert stages(metrics) == {"poll": 0.5, "commit": 0.1}
    times.count_reports([first, report(1, latestOffset=500, addBatch=1)])
    assert stages(metrics) == {"poll": 1.0, "commit": 0.1}


def test_batches_that_spark_has_forgotten_took_as_long_as_the_others() -> None:
    metrics = Metrics(lambda _: None, ())
    times = BatchTimes(metrics)
    times.count_reports([report(8, addBatch=1, latestOffset=100), report(9, addBatch=1, latestOffset=300)])
    assert stages(metrics) == {"poll": 2.0}


def test_the_time_of_a_batch_is_split_as_sparks_processes_spent_theirs() -> None:
    assert shares({"convert": 2.0, "transform": 4.0}, 8.0, 4.0) == {"convert": 1.0, "transform": 2.0, "put": 1.0}
    assert shares({}, 0.0, 4.0) == {"put": 4.0}


def test_positions_are_the_numbers_of_the_offsets() -> None:
    kafka = {
        "description": "KafkaV2[Subscribe[orders]]",
        "endOffset": {"orders": {"0": 7, "1": 9}},
        "latestOffset": {"orders": {"0": 17, "1": 9}},
    }
    files = {"description": "FileStreamSource[file:/in]", "endOffset": {"logOffset": 3}, "latestOffset": None}
    assert positions({"sources": [kafka, files, {"description": "", "endOffset": 4, "latestOffset": 6}]}) == [
        SourceProgress({"source": "KafkaV2", "offset": "orders.0"}, 7, 17, "records"),
        SourceProgress({"source": "KafkaV2", "offset": "orders.1"}, 9, 9, "records"),
        SourceProgress({"source": "FileStreamSource", "offset": "logOffset"}, 3, None, "offsets"),
        SourceProgress({"source": "source 2"}, 4, 6, "offsets"),
    ]

"""Reports of partitions, as metrics of their connector's task."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskControl
from penstock.pipeline.telemetry.topic_schemas import REPORTED
from penstock.pipeline.topics import TopicReporter
from penstock.spark.query.sink.writer import PipelineError
from penstock.spark.query.source.executors import Counts
from penstock.spark.query.source.sending import PartitionReport
from support.spark.host import make_spec
from support.tasks.runs import MemoryHost

VALUES = {
    "source-record-poll-total": 10.0,
    "source-record-poll-rate": 3.0,
    "source-record-write-total": 8.0,
    "total-records-skipped": 2.0,
    "last-error-timestamp": 77.0,
    "penstock-last-error": "bad",
    "penstock-last-error-timestamp": 77,
    "penstock-stage-convert-seconds-total": 1.0,
    "batch-size-max": 5.0,
    "penstock-places": [],
    REPORTED: [{"topic": "t", "fields": []}],
}


def counted(*reports: PartitionReport, seconds: float = 4.0) -> tuple[dict[str, Any], MemoryHost]:
    host = MemoryHost()
    found: dict[str, Any] = {}
    metrics = Metrics(found.update, ())
    counts = Counts(metrics, TopicReporter(make_spec(), TaskControl(), host))
    for each in reports:
        counts.add(each)
    counts.batch(seconds)
    metrics.report(0.0)
    return found, host


def test_figures_of_partitions_are_added_up() -> None:
    earlier = {**VALUES, "last-error-timestamp": 60.0}
    found, host = counted(PartitionReport(5.0, VALUES, ("t",)), PartitionReport(3.0, earlier, ("t", "u")))
    assert [found[name] for name in ("source-record-poll-total", "source-record-write-total")] == [20.0, 16.0]
    assert (found["total-records-skipped"], found["last-error-timestamp"]) == (4.0, 77.0)
    assert (found["penstock-last-error"], found["penstock-last-error-timestamp"]) == ("bad", 77)
    assert "source-record-poll-rate" not in found
    assert "penstock-places" not in found
    assert found[REPORTED] == [{"topic": "t", "fields": []}]
    assert host.topics == ["t", "u"]


def test_the_time_of_a_batch_is_split_as_its_processes_spent_theirs() -> None:
    found, _ = counted(PartitionReport(5.0, VALUES), PartitionReport(3.0, VALUES))
    stages = {name: found[f"penstock-stage-{name}-seconds-total"] for name in ("convert", "send")}
    assert stages == {"convert": 1.0, "send": 3.0}
    assert (found["poll-batch-avg-time-ms"], found["batch-size-max"]) == (4000.0, 20.0)


def test_a_partition_that_failed_fails_the_task_with_its_trace() -> None:
    with pytest.raises(PipelineError) as raised:
        counted(PartitionReport(1.0, VALUES, failure="First line\n\tat there"))
    assert raised.value.text == "First line\n\tat there"

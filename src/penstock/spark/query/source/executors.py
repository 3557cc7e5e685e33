"""Batches whose rows are sent by Spark's processes, each partition by the one that has it.

The connector's task learns what became of each partition: its metrics are the task's, and a failure ends the task. The
batch is over when Spark says that all partitions are: only then may its offset be stored.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.pipeline.metrics import ERRORS, STAGES, Metrics
from penstock.pipeline.telemetry.topic_schemas import REPORTED
from penstock.pipeline.topics import TopicReporter
from penstock.spark.query.dataframes import narrowed
from penstock.spark.query.progress_report import shares
from penstock.spark.query.safe import SafeSpec
from penstock.spark.query.sink.writer import PipelineError
from penstock.spark.query.source.sending import (
    FAILURE,
    AllReports,
    PartitionReport,
    PartitionReports,
    Records,
    SendPartition,
)
from penstock.spark.query.source.transfer import BatchEnd

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOTAL = "-total"
_STAGES = {f"penstock-stage-{stage}-seconds-total": stage for stage in STAGES}


@dataclass(frozen=True, slots=True)
class _Sent:
    end: BatchEnd
    seconds: float
    failure: str | None
    """The trace of a partition that has failed."""


class InExecutors:
    sent_by = "executors"

    def __init__(self, session: SparkSession, spec: SafeSpec, counts: Counts) -> None:
        """``spec``: as ``sending.spec_of_partitions`` makes it."""
        self._spec, self._counts = spec, counts
        none: PartitionReports = deque()
        self._reports = session.sparkContext.accumulator(none, AllReports())
        self._ends: queue.SimpleQueue[_Sent] = queue.SimpleQueue()

    def run(self, rows: DataFrame, records: Records, number: int) -> None:
        began = time.monotonic()
        send = SendPartition(self._spec, records, self._reports)
        answers = narrowed(rows).mapInArrow(send, f"{FAILURE} STRING").collect()
        failure = next((row[0] for row in answers if row[0] is not None), None)
        self._ends.put(_Sent(BatchEnd(number), time.monotonic() - began, failure))

    def take(self, seconds: float) -> BatchEnd | None:
        """A partition's report comes when it has ended, so all of a batch before its end. None of them can be missed:
        the end knows of a failure whose report was lost.
        """
        try:
            sent = self._ends.get(timeout=seconds)
        except queue.Empty:
            sent = None
        reports: PartitionReports = self._reports.value
        while reports:
            self._counts.add(reports.popleft())
        if sent is None:
            return None
        if sent.failure is not None:
            raise PipelineError(sent.failure)
        self._counts.batch(sent.seconds)
        return sent.end

    def close(self) -> None:
        pass


class Counts:
    """Adds the reports of partitions to the metrics of their connector's task."""

    def __init__(self, metrics: Metrics, topics: TopicReporter) -> None:
        self._metrics, self._topics = metrics, topics
        self._stages: dict[str, float] = {}
        """Seconds that partitions of the present batch have spent in each stage."""
        self._busy = 0.0
        """Seconds that partitions of the present batch took, together."""
        self._records = 0.0
        self._latest: dict[str, float] = {}
        """Times, by their names: partitions don't end in the order of their records."""
        self._schemas: list[Any] = []

    def add(self, report: PartitionReport) -> None:
        """Add a report. Raises PipelineError if its partition has failed."""
        metrics = self._metrics
        self._busy += report.seconds
        self._records += report.values.get("source-record-poll-total", 0.0)
        for name, value in report.values.items():
            if name in _STAGES:
                self._stages[_STAGES[name]] = self._stages.get(_STAGES[name], 0.0) + value
            elif name == REPORTED:
                self._note(value)
            elif name.startswith("penstock-last-error"):
                metrics.say(name, value)
            elif name.endswith("-timestamp"):
                if value > self._latest.get(name, 0.0):
                    self._latest[name] = value
                    metrics.put(name, value)
            elif name.endswith(TOTAL) or name in ERRORS:
                metrics.add(name, value)
        self._topics.used(set(report.topics))
        if report.failure is not None:
            raise PipelineError(report.failure)

    def batch(self, seconds: float) -> None:
        """Finish a batch that took ``seconds``; the reports of all its partitions have been added."""
        for stage, spent in shares(self._stages, self._busy, seconds, rest="send").items():
            self._metrics.add(f"penstock-stage-{stage}-seconds-total", spent)
        self._metrics.observe("poll-batch", seconds * 1000, "-time-ms")
        self._metrics.observe("batch-size", self._records)
        self._stages, self._busy, self._records = {}, 0.0, 0.0

    def _note(self, schemas: list[Any]) -> None:
        """Report schemas of a partition that the task has not reported yet."""
        for each in schemas:
            if each not in self._schemas:
                self._schemas.append(each)
                self._metrics.say_once(REPORTED, each)

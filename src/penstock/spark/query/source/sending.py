"""A partition of a batch, sent to its topics by the process of Spark that has its rows.

It is a run of a source task of its own, by the same code as a hosted task's: transforms, converters, tolerance, dead
letters, topic creation. Only its offsets are left to the connector's task, which stores that of the batch when all of
its partitions have ended. A partition that Spark tries again is sent again.
"""

from __future__ import annotations

import gc
import itertools
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark import Accumulator, AccumulatorParam

from penstock.api.batch import Batch
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.source import SourceTask
from penstock.core.model.skips import Skip
from penstock.core.topic_creation.rules import PREFIX, RULES
from penstock.hosts.errors import HostLost
from penstock.kafka.client_settings import idempotence
from penstock.pipeline.chain import Resolve
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming
from penstock.pipeline.source.task import SourceContext, run_source_task
from penstock.pipeline.source.topic_creation import creates_topics
from penstock.pipeline.task import CommittedOffsets, SourceOffsets, TaskControl, TaskSpec
from penstock.pipeline.telemetry.topic_schemas import REPORTED
from penstock.pipeline.trace import trace
from penstock.spark.parent import end_when_given_up
from penstock.spark.query.safe import SafeSpec, plugins_for
from penstock.spark.query.sink.rows.plan import lost_host
from penstock.spark.query.source.schemas import refuse_malformed

Records = Callable[[pa.RecordBatch], Batch]
"""A picklable function that makes records of at least one row."""
FAILURE = "failure"
"""The column of a partition's answer, one row: the trace of what ended it, or null if all its records have arrived."""


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """Report of a process to the connector's task on a partition that has ended."""

    seconds: float
    values: Mapping[str, Any] = field(default_factory=dict)
    """Its metrics."""
    topics: tuple[str, ...] = ()
    """Topics in which a record has arrived."""
    failure: str | None = None
    """The trace of what ended it, if its records can't be sent; Spark does not try again."""


PartitionReports = deque[PartitionReport]


class AllReports(AccumulatorParam[PartitionReports]):
    def zero(self, value: PartitionReports) -> PartitionReports:
        return deque()

    def addInPlace(self, value1: PartitionReports, value2: PartitionReports) -> PartitionReports:
        value1.extend(value2)
        return value1


def spec_of_partitions(spec: TaskSpec) -> TaskSpec:
    """Return the spec for runs that send a partition: the task's without offsets, and with an idempotent producer.

    Rules for new topics that have no effect, which the connector's task has warned of, are left out.
    """
    connector = {**spec.connector_config, **idempotence(spec.worker_config, spec.connector_config)}
    if not creates_topics(spec.worker_config):
        connector = {k: v for k, v in connector.items() if k != RULES and not k.startswith(PREFIX)}
    return replace(
        spec,
        connector_config=connector,
        known_topics=(),
        offsets=(),
        offsets_topic=None,
        global_offsets_topic=None,
    )


@dataclass(frozen=True, slots=True)
class SendPartition:
    """The function of ``mapInArrow``; it answers by a row of FAILURE, and adds to ``reports``.

    Reports come as soon as a partition has ended, but of one that it can't add up Spark only logs that.
    """

    spec: SafeSpec
    """The spec of ``spec_of_partitions``."""
    records: Records
    reports: Accumulator[PartitionReports]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        end_when_given_up()
        with self.spec.during_the_run() as spec:
            for name, value in spec.variables.items():
                os.environ.setdefault(name, value)
            try:
                with plugins_for(self.spec, spec) as (here, resolve):
                    report = send(here, self.records, batches, resolve)
            except HostLost as lost:
                raise lost_host(lost) from lost
        self.reports.add(deque([report]))
        yield pa.record_batch({FAILURE: pa.array([report.failure], pa.string())})


def send(spec: TaskSpec, records: Records, batches: Iterable[pa.RecordBatch], resolve: Resolve) -> PartitionReport:
    """Send the rows of one partition; returns when all have arrived, however long that takes, or when they can't be
    sent.

    Raises what ``batches`` raises.
    """
    began = time.monotonic()
    rows = _some(batches)
    if rows is None:
        return PartitionReport(time.monotonic() - began)
    control, host = TaskControl(), _Host()
    task = _Partition(records, rows, control)
    timing = CommitTiming(math.inf, CommitTiming.of(spec).timeout, to_the_end=True)
    failure = None
    try:
        run_source_task(spec, lambda: task, control, host, resolve, timing)
    except Exception as error:
        if error is task.failure:
            raise
        failure = trace(error)
    finally:
        # The process is used again, and a producer refers to its callbacks, which refer to it.
        gc.collect()
    if task.metrics is not None:
        task.metrics.report(time.monotonic())
    return PartitionReport(time.monotonic() - began, host.values, tuple(sorted(host.topics)), failure)


def _some(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch] | None:
    """Return the Arrow batches that have rows, or None if there are none."""
    rows = filter(len, batches)
    first = next(rows, None)
    return None if first is None else itertools.chain((first,), rows)


class _Partition(SourceTask, RuntimeHooks):
    """Polls the rows of a partition, and stops after the last."""

    checks = True

    java_name = "penstock.connectors.SparkSourceTask"

    def __init__(self, records: Records, batches: Iterator[pa.RecordBatch], control: TaskControl) -> None:
        self._records, self._batches, self._control = records, batches, control
        self.failure: Exception | None = None
        """Error of Spark, from which the rows come."""
        self.metrics: Metrics | None = None
        """Metrics of the run, once it has started."""

    def start(self, config: Mapping[str, str]) -> None:
        assert isinstance(self.context, SourceContext)
        self.metrics = self.context.metrics

    def checked(self, batch: Batch) -> Batch:
        return refuse_malformed(batch)

    def poll(self) -> Batch | None:
        try:
            rows = next(self._batches, None)
        except Exception as error:
            self.failure = error
            self._control.abort()  # nothing waits for what has been sent: Spark begins again
            raise
        if rows is not None:
            return self._records(rows)
        self._control.stop()
        return None

    def stop(self) -> None:
        pass


class _Host:
    """Keeps what the run of a partition reports."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.topics: set[str] = set()

    def running(self, degraded_reason: str | None = None) -> None:
        pass

    def paused(self) -> None:
        pass

    def committed_offsets(self) -> CommittedOffsets:
        return ()

    def topic_seen(self, topic: str) -> None:
        self.topics.add(topic)

    def skip_over(self, skip: Skip) -> None:
        pass

    def group_member(self, id: str, waits: bool) -> None:
        pass

    def store_offsets(self, offsets: SourceOffsets) -> None:
        """Do nothing: the connector's task stores its offsets."""

    def metrics(self, values: dict[str, Any]) -> None:
        schemas = [*self.values.get(REPORTED, ()), *values.get(REPORTED, ())]
        self.values = {**values, **({REPORTED: schemas} if schemas else {})}

"""What a put that is to be repeated leaves in the log and among the figures. Without a broker: nothing is fetched."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import NotReadyError, RetriableError
from penstock.api.sink import SinkTask
from penstock.core.model.tasks import TaskId
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.sink.context import SinkContext
from penstock.pipeline.sink.loop import SinkLoop
from penstock.pipeline.sink.member import MemberReport
from penstock.pipeline.sink.offsets import SinkTaskOffsets
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.sink.parts import GroupConsumer, SinkSteps
from penstock.pipeline.sink.puts.pending import PendingBatch
from penstock.pipeline.sink.standstill import PartitionWatch
from penstock.pipeline.sink.subscription import Subscription
from penstock.pipeline.task import TaskControl
from support.tasks.runs import MemoryHost


class Busy(SinkTask):
    """Raises these errors, one at each put; then it takes the records."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def put_batch(self, batch: Batch) -> None:
        if self.errors:
            raise self.errors.pop(0)


@pytest.fixture
def client() -> Iterator[Consumer]:
    client = Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"})
    yield client
    client.close()


def delivered(client: Consumer, task: SinkTask) -> dict[str, Any]:
    """The figures after the task has taken its records."""
    metrics = Metrics(lambda _: None, ())
    timing = CommitTiming(60.0, 5.0)
    settings = ErrorSettings.of({})
    runtime = TaskRuntime(TaskId("c", 0), TaskControl(), MemoryHost(), metrics, ErrorHandler(settings, metrics, bool))
    member = MemberReport(client, {}, runtime.host.group_member)
    subscription, watch = Subscription({"topics": "t"}, {}, 1.0), PartitionWatch(client, 1.0)
    consumer = GroupConsumer(client, subscription, 10, "earliest", False, watch, member)
    steps = SinkSteps([], OriginalRecords(), None)
    loop = SinkLoop(runtime, task, SinkContext({}, None), consumer, steps, SinkTaskOffsets(metrics, timing))
    raw = Batch.of("t", [b"a"], origin=SinkOrigin(["t"], [0], [7], ["CreateTime"]))
    delivery = loop.delivery
    delivery.pending = PendingBatch.of(raw, raw, None)
    while delivery.pending is not None:
        delivery.put(delivery.pending)
    assert delivery.positions == {("t", 0): 8}
    return metrics.snapshot(time.monotonic())


def test_an_error_that_may_pass_is_logged_once_and_told(client: Consumer, caplog: pytest.LogCaptureFixture) -> None:
    figures = delivered(client, Busy(RetriableError("it is away"), RetriableError("it is away")))
    assert [row.levelno for row in caplog.records if row.exc_info] == [logging.ERROR]
    assert figures["penstock-last-error"].endswith("RetriableException: it is away")


def test_waiting_for_a_slow_target_is_quiet(client: Consumer, caplog: pytest.LogCaptureFixture) -> None:
    figures = delivered(client, Busy(NotReadyError("it reads"), NotReadyError("it reads")))
    assert [row for row in caplog.records if row.levelno > logging.INFO] == []
    assert "penstock-last-error" not in figures

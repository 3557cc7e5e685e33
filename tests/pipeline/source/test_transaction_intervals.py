"""Waits of an exactly-once task whose poll returned no records. Without a broker."""

from __future__ import annotations

import time
from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.source import SourceTask
from penstock.core.model.tasks import TaskId
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.source.offset_log import OffsetCopies
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.transaction_boundaries import TransactionBoundaries
from penstock.pipeline.source.transactions import ExactlyOnce, TransactionalOffsets
from penstock.pipeline.task import TaskControl
from support.tasks.runs import MemoryHost
from support.tasks.specs import SOURCE


class Producer:
    """Stands for a producer and the sender around it."""

    def __init__(self) -> None:
        self.producer = self

    def begin_transaction(self) -> None: ...

    def send(self, *args: Any) -> None: ...

    def poll(self) -> None: ...

    def check(self) -> None: ...


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_an_interval_is_waited_for_only_while_records_are_in_a_transaction(seconds: float) -> None:
    metrics = Metrics(lambda values: None, ())
    sender: Any = Producer()
    errors = ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)
    runtime = TaskRuntime(TaskId("c", 0), TaskControl(), MemoryHost(), metrics, errors)
    stored = TransactionalOffsets(SourceTaskOffsets(SOURCE), "offsets", OffsetCopies(lambda: sender, None))
    commit = ExactlyOnce(runtime, SourceTask(), sender, stored, TransactionBoundaries("interval", seconds))
    assert commit.tick(time.monotonic()) > 60  # the task's own idle() counts
    batch = Batch.of("t", [b"a"], origin=SourceOrigin([{"p": 0}], [{"o": 1}]))
    commit.send(batch, batch)
    if seconds:
        assert 0 < commit.tick(time.monotonic()) <= seconds

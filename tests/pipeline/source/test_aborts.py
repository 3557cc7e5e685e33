"""A transaction that the connector wants aborted while the brokers are away. Without a broker."""

from __future__ import annotations

from typing import Any

import confluent_kafka as ck
import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError
from penstock.api.source import SourceTask
from penstock.core.model.tasks import TaskId
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.source.offset_log import OffsetCopies
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.transaction_boundaries import TransactionBoundaries
from penstock.pipeline.source.transactions import ExactlyOnce, TransactionalOffsets
from penstock.pipeline.task import TaskControl, TaskFencedError
from support.tasks.runs import MemoryHost
from support.tasks.specs import SOURCE


class Stuck:
    """A producer, and the sender around it, whose transactions can't be aborted for this reason."""

    def __init__(self, code: int) -> None:
        self.producer, self._error = self, ck.KafkaException(ck.KafkaError(code))
        self._begun = False

    def begin_transaction(self) -> None:
        if self._begun:
            raise ck.KafkaException(ck.KafkaError(ck.KafkaError._STATE))
        self._begun = True

    def abort_transaction(self, seconds: float) -> None:
        raise self._error

    def send(self, *args: Any) -> None: ...

    def flush(self, seconds: float) -> bool:
        return False

    def check(self) -> None: ...


@pytest.mark.parametrize(
    ("code", "kind"),
    [(ck.KafkaError._TIMED_OUT, TaskFencedError), (ck.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ConnectError)],
)
def test_a_task_that_cannot_abort_since_no_broker_answers_is_lost(code: int, kind: type[ConnectError]) -> None:
    metrics = Metrics(lambda values: None, ())
    sender: Any = Stuck(code)
    errors = ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)
    runtime = TaskRuntime(TaskId("c", 0), TaskControl(), MemoryHost(), metrics, errors)
    stored = TransactionalOffsets(SourceTaskOffsets(SOURCE), "offsets", OffsetCopies(lambda: sender, None))
    boundaries = TransactionBoundaries("connector", 60.0)
    commit = ExactlyOnce(runtime, SourceTask(), sender, stored, boundaries)
    batch = Batch.of("t", [b"a"], origin=SourceOrigin([{"p": 0}], [{"o": 1}]))
    commit.send(batch, batch)
    boundaries.abort_transaction()
    with pytest.raises(ConnectError) as raised:
        commit.sent()
    assert type(raised.value) is kind
    assert "Failed to flush offsets and/or records for task" in str(raised.value)

"""Log lines and metrics of a put that is retried. Without a broker: nothing is fetched."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, NotReadyError, RetriableError
from penstock.api.sink import SinkTask
from penstock.pipeline.sink import events
from support.tasks.sink_loop import FIRST, deliver, sink_loop


class Busy(SinkTask):
    """Raises these errors, one at each put, and then accepts the records."""

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
    """Return the metrics after the task has accepted its records."""
    loop = sink_loop(client, task)
    deliver(loop, (FIRST, 7))
    while loop.machine.state.batch is not None:
        task.context.timeout(0)
        loop.handle(events.Fetched(None, drained=True))
    assert loop.machine.state.positions == {FIRST: 8}
    return loop.runtime.metrics.snapshot(time.monotonic())


def test_an_error_that_may_pass_is_logged_once_and_told(client: Consumer, caplog: pytest.LogCaptureFixture) -> None:
    figures = delivered(client, Busy(RetriableError("it is away"), RetriableError("it is away")))
    assert [row.levelno for row in caplog.records if row.exc_info] == [logging.ERROR]
    assert figures["penstock-last-error"].endswith("RetriableException: it is away")


def test_an_error_of_a_put_without_records_is_logged_once_and_told(
    client: Consumer, caplog: pytest.LogCaptureFixture
) -> None:
    """A task that cannot write its buffered records may raise such an error."""
    loop = sink_loop(client, Busy(RetriableError("it is away"), RetriableError("it is away")))
    for _ in range(3):
        loop.machine.state.next_put = 0.0
        loop.handle(events.Fetched(None, drained=True))
    assert [row.levelno for row in caplog.records if row.exc_info] == [logging.ERROR]
    figures = loop.runtime.metrics.snapshot(time.monotonic())
    assert figures["penstock-last-error"].endswith("RetriableException: it is away")


class Counting(SinkTask):
    def put_batch(self, batch: Batch) -> Any:
        return 3600


class Asynchronous(SinkTask):
    async def put_batch(self, batch: Batch) -> None:  # type: ignore[override]
        raise AssertionError(batch)


def test_what_a_put_returns_is_not_how_long_it_took(client: Consumer) -> None:
    figures = delivered(client, Counting())
    assert figures["put-batch-max-time-ms"] < 3600_000
    assert figures["penstock-stage-put-seconds-total"] < 3600


def test_a_put_whose_code_has_not_run_has_written_nothing(client: Consumer) -> None:
    with pytest.raises(ConnectError) as raised:
        delivered(client, Asynchronous())
    assert "put_batch returned a coroutine and has done nothing" in str(raised.value.__cause__)


def test_waiting_for_a_slow_target_is_quiet(client: Consumer, caplog: pytest.LogCaptureFixture) -> None:
    figures = delivered(client, Busy(NotReadyError("it reads"), NotReadyError("it reads")))
    ours = [row for row in caplog.records if row.name.startswith("penstock")]  # other tests have left threads
    assert [row for row in ours if row.levelno > logging.INFO] == []
    assert "penstock-last-error" not in figures

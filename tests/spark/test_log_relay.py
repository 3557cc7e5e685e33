"""Lines that a task logs, on their way to the worker's log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.core.model.tasks import TaskId
from penstock.observe import TextLines
from penstock.pipeline.telemetry.traces import current_ids
from penstock.spark.messages.task import FROM_TASK, LogReport
from penstock.spark.run.reports import TaskReports
from penstock.spark.run.task_link import LogRelay


class Channel:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)


def test_the_trace_of_a_batch_goes_with_its_lines(caplog: pytest.LogCaptureFixture) -> None:
    channel: Any = Channel()
    ids = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7", "trace_flags": "01"}
    token = current_ids.set(ids)
    LogRelay(channel).handle(logging.LogRecord("penstock.x", logging.INFO, "x.py", 1, "read %d", (3,), None))
    current_ids.reset(token)
    LogRelay(channel).handle(logging.LogRecord("penstock.x", logging.INFO, "x.py", 1, "idle", (), None))
    reports = TaskReports(TaskId("orders", 0), 1, lambda event: None)
    with caplog.at_level(logging.INFO, "penstock.x"):
        for message in channel.sent:
            reports.heard(message)
    records: list[Any] = caplog.records
    assert [(each.getMessage(), each.connector, each.trace) for each in records] == [
        ("read 3", "orders", ids),
        ("idle", "orders", {}),
    ]


def test_a_line_has_the_time_at_which_the_task_logged_it(caplog: pytest.LogCaptureFixture) -> None:
    """Times are exact to the millisecond."""
    channel: Any = Channel()
    record = logging.LogRecord("penstock.x", logging.WARNING, "x.py", 1, "late", (), None)
    record.created, record.msecs = 1_700_000_000.25, 250.0
    LogRelay(channel).handle(record)
    TaskReports(TaskId("orders", 0), 1, lambda event: None).heard(channel.sent[0])
    (line,) = caplog.records
    assert ",250]" in TextLines().format(line)
    assert line.created == 1_700_000_000.25


def test_a_record_that_a_plugin_has_made_arrives() -> None:
    channel: Any = Channel()
    nowhere: Any = None
    LogRelay(channel).handle(logging.LogRecord("plugin", 7, nowhere, nowhere, "a \udcff", (), None))
    (sent,) = channel.sent
    arrived = FROM_TASK.decode(FROM_TASK.encode(sent))
    assert isinstance(arrived, LogReport)
    (line,) = arrived.lines
    assert (line.text, line.level, line.line) == ("a \udcff", 7, 0)


def test_a_record_with_values_of_other_types_arrives() -> None:
    """An invalid message would end the channel, and the task with it."""
    channel: Any = Channel()
    LogRelay(channel).handle(logging.makeLogRecord({"msg": "made", "levelno": 20.0, "lineno": "7", "created": "1.5"}))
    arrived = FROM_TASK.decode(FROM_TASK.encode(channel.sent[0]))
    assert isinstance(arrived, LogReport)
    (line,) = arrived.lines
    assert (line.name, line.level, line.line, line.created) == ("None", 20, 7, 1.5)

"""Reports of a task's run to the worker's loop, and their lines in the worker's log."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model.tasks import TaskFailed, TaskId
from penstock.spark.messages.task import FailedReport
from penstock.spark.run.reports import TaskReports


def test_a_failure_is_logged_with_its_trace_as_a_line_of_the_task(caplog: pytest.LogCaptureFixture) -> None:
    delivered: list[Any] = []
    reports = TaskReports(TaskId("orders", 2), 7, delivered.append)
    reports.heard(FailedReport("java.lang.IllegalStateException: no\n\tat a line\n"))
    assert delivered == [TaskFailed(TaskId("orders", 2), 7, "java.lang.IllegalStateException: no\n\tat a line\n")]
    (line,) = caplog.records
    assert line.levelname == "ERROR"
    assert line.getMessage() == "Task orders-2 has failed\njava.lang.IllegalStateException: no\n\tat a line"
    assert (line.connector, line.task) == ("orders", 2)  # type: ignore[attr-defined]

"""Failures and losses within a time, for the attention list."""

from __future__ import annotations

import time

from penstock.core.attention.flapping import End
from penstock.core.model.events import StatusRead
from penstock.core.model.records import ConnectorStatus, TaskStatus
from penstock.core.model.tasks import TaskId
from penstock.worker.monitoring.history import History

DAY = 24 * 3_600_000


def test_failures_and_losses_are_told_from_stops_and_waits() -> None:
    history, now = History(DAY), int(time.time() * 1000)
    lost = "Its process ended. The task is started again in 1 s."
    statuses = [
        TaskStatus(TaskId("orders", 0), "FAILED", "one", 1, "old", written_ms=now - 3000),
        TaskStatus(TaskId("orders", 0), "RUNNING", "one", 1, written_ms=now - 2500),
        TaskStatus(TaskId("orders", 0), "FAILED", "one", 1, "no disk", written_ms=now - 2000),
        TaskStatus(TaskId("orders", 0), "UNASSIGNED", "one", 1, lost, written_ms=now - 1000),
        TaskStatus(TaskId("orders", 1), "UNASSIGNED", "one", 1, written_ms=now - 1000),
        TaskStatus(TaskId("orders", 1), "UNASSIGNED", "one", 1, "No slot is free", written_ms=now - 500),
        ConnectorStatus("payroll", "FAILED", "one", 1, "refused", written_ms=now),
    ]
    for status in statuses:
        history.observe(StatusRead((status,)))
    assert history.ends(now - 2500) == {
        ("orders", 0): [End(now - 2000, "no disk"), End(now - 1000, lost)],
        ("payroll", None): [End(now, "refused")],
    }
    assert history.failures() == {"orders": 3, "payroll": 1}
    assert History(DAY, on=False).failures() is None

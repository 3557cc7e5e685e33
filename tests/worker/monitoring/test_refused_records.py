"""Rows of the attention list about records that tasks could not process."""

from __future__ import annotations

from penstock.core.attention.rows import Row
from penstock.core.model.tasks import TaskId, TaskMetrics
from penstock.worker.monitoring.refused_records import LETTERS, SKIPPED, RefusedRecords

START = 1_700_000_000.0


class Refused:
    def __init__(self) -> None:
        self.now, self.known = START, {"orders", "payroll"}
        self.records = RefusedRecords(self.known.__contains__, lambda: self.now)

    def report(self, task: int, letters: float, skipped: float = 0.0, run: int = 1, name: str = "orders") -> None:
        self.records.observe(TaskMetrics(TaskId(name, task), run, {LETTERS: letters, SKIPPED: skipped}))

    def rows(self) -> list[Row]:
        return list(self.records.rows())


def test_new_dead_letters_of_all_tasks_and_runs_are_counted() -> None:
    refused = Refused()
    refused.report(0, 0)
    assert refused.rows() == []
    refused.report(0, 3, 3)
    refused.now += 120
    refused.report(0, 5, 5)
    refused.report(0, 1, 1, run=2)
    refused.report(1, 2, 2)
    (row,) = refused.rows()
    assert (row.kind, row.connector, row.tasks, row.since_ms) == ("dead-letters", "orders", (0, 1), START * 1000)
    assert (
        row.why == "8 records were sent to the dead letter queue within the last hour, the last at 2023-11-14T22:15:20Z"
    )
    assert row.step.command == "penstock dlq list orders"


def test_those_of_an_hour_ago_are_no_longer_shown() -> None:
    refused = Refused()
    refused.report(0, 3)
    refused.now += 3601
    assert refused.rows() == []
    refused.report(0, 3)
    assert refused.rows() == []
    refused.report(0, 4)
    (row,) = refused.rows()
    assert row.why.startswith("1 record was sent")


def test_records_that_are_left_out_without_a_queue() -> None:
    refused = Refused()
    refused.report(0, 0, 2000, name="payroll")
    (row,) = refused.rows()
    assert row.why.startswith("2,000 records were left out within the last hour")
    assert "they are in no dead letter queue" in row.why


def test_a_deleted_connector_is_forgotten() -> None:
    refused = Refused()
    refused.report(0, 3)
    refused.known.clear()
    assert refused.rows() == []
    refused.known.add("orders")
    assert refused.rows() == []

"""Rows of the attention list about growing backlogs and silent sources."""

from __future__ import annotations

from penstock.core.attention.rows import Row, ordered
from penstock.core.model.tasks import TaskEnded, TaskId, TaskMetrics, TaskPaused, TaskRunning
from penstock.worker.monitoring.trends import BEHIND, POLLED, Trends

START = 1_700_000_000.0
MINUTE, HOUR = 60.0, 3600.0


class Worker:
    def __init__(self) -> None:
        self.now, self.started = START, {"orders", "payroll"}
        self.trends = Trends(self.started.__contains__, lambda: self.now, START)
        self.polled = self.sent = 0.0

    def behind(self, records: float, task: int = 0, taken: bool = True) -> None:
        self.sent += taken
        values = {BEHIND: records, "sink-record-send-total": self.sent}
        self.trends.observe(TaskMetrics(TaskId("orders", task), 1, values))

    def poll(self, records: int, run: int = 1) -> None:
        self.polled += records
        self.trends.observe(TaskMetrics(TaskId("orders", 0), run, {POLLED: self.polled}))

    def known(self, pause: float = 5 * MINUTE, hours: float = 25.0) -> None:
        """Poll records in such intervals, until it is known what is usual."""
        self.poll(0)
        end = self.now + hours * HOUR
        while self.now < end:
            self.now += pause
            self.poll(10)

    def rows(self) -> list[Row]:
        return list(self.trends.rows())


def grow(worker: Worker, minutes: int, first: int, step: int) -> None:
    for minute in range(minutes):
        for second in (0, 20, 40):  # it grows until the next commit
            worker.behind(first + minute * step + second * 100)
            worker.now += 20


def test_a_backlog_that_grows_for_a_quarter_of_an_hour_has_a_row() -> None:
    worker = Worker()
    grow(worker, 14, 5_000, 200)
    assert worker.rows() == []
    grow(worker, 3, 7_800, 200)
    (row,) = worker.rows()
    assert (row.kind, row.connector, row.tasks) == ("behind", "orders", (0,))
    assert row.why == (
        "8,200 records wait, 3,000 more than 16 minutes ago: they arrive faster than the tasks take them"
    )
    since = row.since_ms
    grow(worker, 5, 8_400, 200)
    (row,) = worker.rows()
    assert row.since_ms == since


def test_a_backlog_that_varies_or_shrinks_has_none() -> None:
    worker = Worker()
    grow(worker, 20, 90_000, 5)  # within a tenth
    assert worker.rows() == []
    grow(worker, 20, 100_000, -4_000)
    assert worker.rows() == []
    for minute in range(40):
        worker.behind(50_000 if minute % 5 else 0)  # it is caught up again and again
        worker.now += MINUTE
    assert worker.rows() == []


def test_a_single_step_is_no_growth() -> None:
    """A task may take over partitions of another one, and work off their backlog."""
    worker = Worker()
    for minute in range(40):
        worker.behind(5 if minute < 8 else 100_000 - 2_000 * minute)
        worker.now += MINUTE
        assert worker.rows() == []


def test_a_backlog_that_grows_within_a_batch_only_has_no_row() -> None:
    """A query takes records at the end of its batches; hours may lie between them."""
    worker = Worker()
    for minute in range(180):
        worker.behind(600 * (minute % 60), taken=minute % 60 == 0)
        worker.now += MINUTE
        assert worker.rows() == []
    for minute in range(24):
        worker.behind(2_000 * (minute // 4) + 600 * (minute % 4), taken=minute % 4 == 0)
        worker.now += MINUTE
    assert [row.kind for row in worker.rows()] == ["behind"]


def test_a_task_that_comes_or_goes_changes_the_backlog_without_growth() -> None:
    worker = Worker()
    for minute in range(32):
        if minute == 16:
            worker.trends.observe(TaskEnded(TaskId("orders", 1), 1))
        worker.behind(1_000)
        if minute < 16:
            worker.behind(1_000 + 100 * minute, task=1)
        worker.now += MINUTE
    assert worker.rows() == []


def test_a_connector_that_is_paused_or_reports_nothing_has_no_backlog() -> None:
    worker = Worker()
    grow(worker, 17, 5_000, 200)
    worker.started.clear()
    assert worker.rows() == []
    worker.started.add("orders")
    assert len(worker.rows()) == 1
    worker.now += 10 * MINUTE
    assert worker.rows() == []


def test_a_source_that_is_silent_for_much_longer_than_usual_has_a_row() -> None:
    worker = Worker()
    worker.known()
    last = worker.now
    worker.now = last + 19 * MINUTE
    worker.poll(0)
    assert worker.rows() == []
    worker.now = last + 21 * MINUTE
    worker.poll(0)
    (row,) = worker.rows()
    assert (row.kind, row.connector, row.since_ms) == ("silent", "orders", int(last * 1000))
    assert "its longest usual pause is 5 minutes" in row.why
    worker.poll(1)
    assert worker.rows() == []


def test_nothing_is_unusual_until_a_source_is_known() -> None:
    worker = Worker()
    worker.known(hours=23)
    worker.now += 5 * HOUR
    assert worker.rows() == []
    rare = Worker()
    rare.known(pause=2 * HOUR, hours=36)
    rare.now += 60 * HOUR
    assert rare.rows() == []


def test_an_office_source_is_not_silent_at_weekends_once_there_have_been_two() -> None:
    worker, rows = Worker(), list[tuple[int, str]]()
    worker.poll(0)
    for day in range(28):
        for hour in range(24):
            worker.now = START + (day * 24 + hour) * HOUR
            if day % 7 < 5 and 8 <= hour < 18:
                worker.poll(10)
            rows += [(day, row.kind) for row in worker.rows()]
    assert {day for day, _ in rows} <= {6, 7, 13, 14}


def test_one_outage_does_not_become_usual_but_nights_do() -> None:
    worker = Worker()
    worker.known()
    for night in range(3):
        worker.now += 9 * HOUR
        assert [row.kind for row in worker.rows()] == ["silent"] * (night < 2)
        worker.poll(5)
        worker.known(hours=3)


def test_a_pause_or_a_restart_is_no_silence() -> None:
    worker = Worker()
    worker.known()
    worker.started.discard("orders")
    worker.now += 9 * HOUR
    worker.poll(0)
    worker.started.add("orders")
    assert worker.rows() == []
    worker.now += 21 * MINUTE
    assert [row.kind for row in worker.rows()] == ["silent"]
    worker.polled = 0
    worker.poll(0, run=2)
    assert worker.rows() == []
    worker.trends.observe(TaskEnded(TaskId("orders", 0), 2))
    worker.now += HOUR
    assert worker.rows() == [], "the task may run on another worker"


def test_a_source_whose_task_comes_back_is_not_silent() -> None:
    worker = Worker()
    worker.known()
    worker.trends.observe(TaskEnded(TaskId("orders", 0), 1))
    worker.now += 9 * HOUR
    worker.polled = 0
    worker.poll(0, run=2)
    assert worker.rows() == []
    worker.trends.observe(TaskPaused(TaskId("orders", 0), 2))
    worker.now += 9 * HOUR
    worker.trends.observe(TaskRunning(TaskId("orders", 0), 2))
    worker.poll(0, run=2)
    assert worker.rows() == []


def test_a_source_is_not_silent_while_its_tasks_on_another_worker_have_records() -> None:
    worker = Worker()
    worker.known()
    assert worker.trends.polling() == {"orders"}
    worker.now += HOUR
    assert worker.trends.polling() == frozenset()
    (silent,) = worker.rows()
    assert silent.tasks == (0,)
    assert ordered([silent], {"orders"}.__contains__) == []


def test_symptoms_that_another_row_explains_are_left_out() -> None:
    worker = Worker()
    worker.known()
    worker.now += HOUR
    (silent,) = worker.rows()
    failed = Row("failed", "disk full", silent.step, "orders", (0,))
    assert ordered([silent, failed]) == [failed]
    grow(behind := Worker(), 17, 5_000, 200)
    (growing,) = behind.rows()
    standing = Row("standstill", "nothing is committed", growing.step, "orders")
    assert ordered([growing, standing]) == [standing]
    partition = Row("partition-standstill", "t-0 stands still", growing.step, "orders")
    assert ordered([growing, partition]) == [partition, growing]

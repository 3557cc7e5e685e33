"""Details of tasks that a worker reports in addition to Java's status."""

from __future__ import annotations

import pytest

from penstock.core.model.events import ConfigRead
from penstock.core.model.records import ConfigRecord, ConnectorConfig
from penstock.core.model.tasks import TaskFailed, TaskId, TaskLost, TaskMetrics, TaskRunning, TaskStalled
from penstock.worker.monitoring.task_health import TaskHealth

NOTHING = {
    "records": None,
    "records_per_second": None,
    "records_waiting": None,
    "records_behind": None,
    "seconds_behind": None,
    "newest_record_age_seconds": None,
    "stages": {},
    "slowest_stage": None,
    "places": [],
    "sent_by": None,
    "batch_ms_avg": None,
    "batch_ms_max": None,
    "retrying": False,
    "stalled": False,
    "last_error": None,
    "restarts": 0,
}
ID = TaskId("c", 1)


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def health() -> TaskHealth:
    return TaskHealth(lambda id: False, Clock())


def test_unknown_figures_are_null(health: TaskHealth) -> None:
    health.observe(TaskRunning(ID, 3))
    health.observe("something else")
    assert health.of("c") == {1: NOTHING}
    assert health.of("d") == {}
    behind = dict.fromkeys(("records_behind", "seconds_behind"))
    assert health.in_short() == {"c": {1: {**behind, "retrying": False, "stalled": False}}}


def test_stalled_tasks_are_shown_while_they_stall() -> None:
    stalled = {ID}
    health = TaskHealth(stalled.__contains__, Clock())
    for id in (ID, TaskId("c", 0), TaskId("d", 1)):
        health.observe(TaskStalled(id, 1, "poll has not returned"))
    assert {number: each["stalled"] for number, each in health.of("c").items()} == {0: False, 1: True}
    assert health.in_short()["c"][1]["stalled"]
    assert not health.in_short()["d"][1]["stalled"]
    stalled.clear()
    assert not health.of("c")[1]["stalled"]


def test_figures_of_sinks_and_sources(health: TaskHealth) -> None:
    values = {
        "sink-record-send-total": 10.0,
        "sink-record-send-rate": 2.00049,
        "penstock-records-behind": 5,
        "penstock-seconds-behind": 1.5,
        "penstock-retrying": 1.0,
        "put-batch-max-time-ms": 7.0,
        "put-batch-avg-time-ms": 3.0,
        "sink-record-active-count": 4.0,
    }
    health.observe(TaskMetrics(ID, 1, values))
    health.observe(TaskMetrics(TaskId("c", 0), 1, {"source-record-write-total": 8.0}))
    assert health.of("c") == {
        0: {**NOTHING, "records": 8},
        1: {
            **NOTHING,
            "records": 10,
            "records_per_second": 2.0,
            "records_waiting": 4,
            "records_behind": 5,
            "seconds_behind": 1.5,
            "batch_ms_avg": 3.0,
            "batch_ms_max": 7.0,
            "retrying": True,
        },
    }


def test_the_last_error_and_restarts(health: TaskHealth) -> None:
    survived = {"penstock-last-error": "Retriable: not now", "penstock-last-error-timestamp": 1_600_000_000_000}
    health.observe(TaskRunning(ID, 1))
    health.observe(TaskMetrics(ID, 1, survived))
    first = {"time": "2020-09-13T12:26:40.000+00:00", "message": "Retriable: not now"}
    assert health.of("c")[1] == {**NOTHING, "last_error": first}
    health.observe(TaskFailed(ID, 1, "Exception: broken\nCaused by: x\n"))
    health.observe(TaskRunning(ID, 4))
    health.observe(TaskRunning(ID, 4))
    last = {"time": "2023-11-14T22:13:20.000+00:00", "message": "Exception: broken"}
    assert health.of("c")[1] == {**NOTHING, "last_error": last, "restarts": 1}
    health.observe(TaskLost(ID, 4, "Nothing was heard of the worker"))
    health.observe(TaskRunning(ID, 5))
    assert health.of("c")[1]["last_error"] == {**last, "message": "Nothing was heard of the worker"}
    assert health.of("c")[1]["restarts"] == 2


def test_a_deleted_connector_is_forgotten_though_its_tasks_end_later() -> None:
    connectors = {"c", "d"}
    health = TaskHealth(lambda id: False, Clock(), connectors.__contains__)
    for id in (ID, TaskId("d", 0)):
        health.observe(TaskFailed(id, 1, "Exception: broken\n"))
    health.observe(ConfigRead((ConfigRecord(7, ConnectorConfig("c", None)),)))
    connectors.remove("c")
    health.observe(TaskLost(ID, 1, "Its process has ended"))
    assert list(health.in_short()) == ["d"]
    connectors.add("c")
    health.observe(TaskRunning(ID, 2))
    assert health.of("c") == {1: NOTHING}

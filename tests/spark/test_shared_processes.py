"""Tasks that share a process on Spark, and what happens to them when it ends."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

import psutil
import pytest

from penstock.core.model.tasks import TaskEnded, TaskFailed, TaskLost, TaskPaused, TaskRunning
from penstock.pipeline.task import TaskSpec
from penstock.spark.run import hosted_run
from penstock.spark.run.gate import NotConfirmedError
from support.process_tree import alive
from support.spark.host import Gate, Spec, id_of, process_of, without_waiting

pytestmark = pytest.mark.integration

ONE, TWO = {"penstock.tasks.per.process": "1"}, {"penstock.tasks.per.process": "2"}


def shared(make: Spec, loop: str = "tick", **config: str) -> TaskSpec:
    return replace(make(loop, **config), worker_config=TWO)


def test_two_tasks_share_a_process_and_are_stopped_paused_and_failed_alone(hosted: Any, spec: Spec) -> None:
    one, two, failing = shared(spec), shared(spec, "count"), shared(spec, fail="the disk is full")
    for each in (one, two):  # the second waits for the first, which brings it
        hosted.run(each)
    for each in (one, two):
        assert not any(isinstance(event, TaskLost) for event in hosted.events.until(TaskRunning, id_of(each)))
    process = psutil.Process(process_of(hosted, one))
    assert process.pid == process_of(hosted, two)
    hosted.pause(id_of(one))
    hosted.events.until(TaskPaused, id_of(one))
    hosted.stop(id_of(two))
    assert not any(isinstance(event, TaskLost) for event in hosted.events.until(TaskEnded, id_of(two)))
    hosted.run(failing)
    _, failed, _ = without_waiting(hosted.events.until(TaskEnded, id_of(failing)))
    assert isinstance(failed, TaskFailed)
    assert failed.trace.startswith("ValueError: the disk is full\n")
    assert alive(process)
    hosted.resume(id_of(one))
    hosted.events.until(TaskRunning, id_of(one))
    hosted.stop(id_of(one))
    assert not any(isinstance(event, TaskLost) for event in hosted.events.until(TaskEnded, id_of(one)))
    assert not alive(process)


def test_further_tasks_of_many_share_a_process_without_a_limit(
    hosted: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted._processes, "_many", 1)
    first, second, third, alone = spec(), spec(), spec(), replace(spec(), worker_config=ONE)
    for each in (first, second, third, alone):
        hosted.run(each)
        hosted.events.until(TaskRunning, id_of(each))
    processes = [process_of(hosted, each) for each in (first, second, third, alone)]
    assert processes[1] == processes[2]
    assert len(set(processes)) == 3
    for each in (first, second, third, alone):
        hosted.stop(id_of(each))
        hosted.events.until(TaskEnded, id_of(each))


def test_a_task_logs_for_its_own_connector(hosted: Any, spec: Spec, caplog: pytest.LogCaptureFixture) -> None:
    one, two = shared(spec, "count"), shared(spec, "count")
    with caplog.at_level("INFO", "loops"):
        for each in (one, two):
            hosted.run(each)
            hosted.events.until(TaskRunning, id_of(each))
            hosted.stop(id_of(each))
        for each in (one, two):
            hosted.events.until(TaskEnded, id_of(each))
    lines: list[Any] = [record for record in caplog.records if record.getMessage() == "Counting"]
    assert [line.connector for line in lines] == [one.connector, two.connector]


def test_a_process_that_is_killed_or_crashes_loses_its_tasks(hosted: Any, spec: Spec) -> None:
    one, two = shared(spec), shared(spec)
    for each in (one, two):
        hosted.run(each)
        hosted.events.until(TaskRunning, id_of(each))
    os.kill(process_of(hosted, one), signal.SIGKILL)
    for each in (one, two):
        lost, _ = hosted.events.until(TaskEnded, id_of(each))
        assert isinstance(lost, TaskLost)
        assert lost.reason.endswith(": it was killed by SIGKILL")
    # A crash is no loss by its own fault for any of them, and each starts again in a process of its own.
    crashing = shared(spec, "crash", how="abort")
    hosted.run(again := replace(one, run=2))
    hosted.events.until(TaskRunning, id_of(again))
    hosted.run(crashing)
    for each in (again, crashing):
        lost = next(event for event in hosted.events.until(TaskEnded, id_of(each)) if isinstance(event, TaskLost))
        assert not lost.died
        assert "it crashed with SIGABRT. Other tasks were in it" in lost.reason
    hosted.run(replace(one, run=3))
    hosted.run(replace(two, run=2))
    hosted.events.until(TaskRunning, id_of(one))
    hosted.events.until(TaskRunning, id_of(two))
    assert process_of(hosted, one) != process_of(hosted, two)
    hosted.run(replace(crashing, run=2))
    lost = next(event for event in hosted.events.until(TaskEnded, id_of(crashing)) if isinstance(event, TaskLost))
    assert lost.died
    for each in (one, two):
        hosted.stop(id_of(each))
        hosted.events.until(TaskEnded, id_of(each))


def test_a_run_that_is_not_confirmed_leaves_the_others_alone(hosted: Any, spec: Spec) -> None:
    one, two, gate = shared(spec), shared(spec, "initialized"), Gate()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    process = process_of(hosted, one)
    gate.admission.set_result(two)
    gate.offsets.set_exception(NotConfirmedError("it runs elsewhere"))
    hosted.run(two, gate)
    events = hosted.events.until(TaskEnded, id_of(two))
    assert TaskLost(id_of(two), 1, "it runs elsewhere") in events
    assert process_of(hosted, one) == process
    hosted.stop(id_of(one))
    assert not any(isinstance(event, TaskLost) for event in hosted.events.until(TaskEnded, id_of(one)))


def test_a_task_that_does_not_stop_takes_its_process_along(
    hosted: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted_run, "PATIENCE", 0.5)
    one, deaf = shared(spec), shared(spec, "deaf")
    for each in (one, deaf):
        hosted.run(each)
        hosted.events.until(TaskRunning, id_of(each))
    process = psutil.Process(process_of(hosted, one))
    hosted.stop(id_of(deaf), timeout=0.5)
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert isinstance(lost, TaskLost)
    assert not lost.died
    assert f"{deaf.connector}-0" in lost.reason
    assert "which did not end" in lost.reason
    hosted.events.until(TaskEnded, id_of(deaf))
    assert not alive(process)

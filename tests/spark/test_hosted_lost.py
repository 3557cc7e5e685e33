"""Hosted tasks that are lost: their process, Spark's driver or its Java is killed, ends, hangs or is frozen."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psutil
import pytest

from penstock.core.model.tasks import (
    SparkDied,
    SparkReady,
    TaskEnded,
    TaskFailed,
    TaskLost,
    TaskPaused,
    TaskRunning,
    TaskWaiting,
)
from penstock.spark import supervisor
from penstock.spark.run import reports, sharing
from support.process_tree import alive
from support.spark.host import Spec, files_of_spark, id_of, process_of
from support.waiting import SECONDS, until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", autouse=True)
def at_once() -> Iterator[None]:
    """Spark is started again at once, however often it has died; a busy machine may be late with what it says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervisor, "BACKOFF", (0.0,))
        patch.setattr(reports, "SETTLING", 60.0)
        yield


def test_a_killed_process_is_a_lost_task(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    os.kill(pid := process_of(hosted, one), signal.SIGKILL)
    lost, ended = hosted.events.until(TaskEnded, id_of(one))
    assert isinstance(lost, TaskLost)
    assert f"process {pid} on" in lost.reason
    assert "ended without a report" in lost.reason
    assert lost.reason.endswith(": it was killed by SIGKILL")
    assert not lost.died
    assert isinstance(ended, TaskEnded)
    assert not (hosted._exits.folder / str(pid)).exists()


@pytest.mark.parametrize(
    ("how", "reason"), [("exit", ": it exited with code 3"), ("abort", ": it crashed with SIGABRT")]
)
def test_a_process_that_ends_by_itself_has_died(hosted: Any, spec: Spec, how: str, reason: str) -> None:
    one = spec("crash", how=how)
    hosted.run(one)
    (lost,) = (event for event in hosted.events.until(TaskEnded, id_of(one)) if isinstance(event, TaskLost))
    assert lost.reason.endswith(reason)
    assert lost.died


def test_a_process_whose_parent_died_was_killed(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    os.kill(psutil.Process(process_of(hosted, one)).ppid(), signal.SIGKILL)
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert not lost.died


def test_a_task_that_fills_its_memory_takes_no_other_along(hosted: Any, spec: Spec) -> None:
    other, one = spec(), spec("hog")
    hosted.run(other)
    hosted.events.until(TaskRunning, id_of(other))
    process = psutil.Process(process_of(hosted, other))
    hosted.run(one)
    lost = hosted.events.until(TaskEnded, id_of(one))[-2]
    # Nothing but the kernel's counter tells its kill for lack of memory from one by hand.
    assert lost.reason.endswith(": it was killed by SIGKILL")
    # The same process still runs it, and no event has reported anything else.
    assert alive(process)
    hosted.pause(id_of(other))
    assert hosted.events.until(TaskPaused, id_of(other)) == [TaskPaused(id_of(other), 1)]
    hosted.stop(id_of(other))
    assert not any(isinstance(event, TaskFailed) for event in hosted.events.until(TaskEnded, id_of(other)))


def test_a_stop_while_a_task_is_being_forked_harms_no_other(hosted: Any, spec: Spec) -> None:
    one, two, three = spec(), spec(), spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    daemon = psutil.Process(process_of(hosted, one)).ppid()
    os.kill(daemon, signal.SIGSTOP)
    try:
        hosted.run(two)
        hosted.events.until(TaskWaiting, id_of(two))
        hosted.stop(id_of(two))
        hosted.events.until(TaskEnded, id_of(two))
        until(lambda: f"{id_of(two)}/1" not in hosted.driver.groups, "the end of the Spark job")
    finally:
        os.kill(daemon, signal.SIGCONT)
    hosted.run(three)
    hosted.events.until(TaskRunning, id_of(three))
    assert psutil.Process(process_of(hosted, three)).ppid() == daemon
    for other in (one, three):
        hosted.stop(id_of(other))
        assert not any(isinstance(event, TaskFailed) for event in hosted.events.until(TaskEnded, id_of(other)))


def test_a_process_that_hangs_loses_its_lease(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    process = psutil.Process(process_of(hosted, one))
    process.suspend()
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert "No heartbeat of the task" in lost.reason
    assert not lost.died
    assert not alive(process)


def test_sparks_death_loses_its_tasks_and_spark_comes_back(hosted: Any, spec: Spec) -> None:
    one, two = spec(), spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    files = files_of_spark(hosted.driver.java_id)
    assert list(files.glob("spark-*"))
    os.kill(hosted.driver.process_id, signal.SIGKILL)
    died = hosted.events.until(SparkDied)[-1]
    hosted.run(two)
    assert "was killed by signal 9" in died.reason
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert lost.reason.startswith("The task ended with Spark (process ")
    assert died.reason in lost.reason
    assert not lost.died
    waiting = hosted.events.until(TaskRunning, id_of(two))[0]
    assert died.reason in waiting.reason
    ready = hosted.events.until(SparkReady)
    while ready[-1].queries:
        ready = hosted.events.until(SparkReady)
    assert ready == [SparkReady(512)]
    until(lambda: not files.exists(), "that the next driver removes what the killed one has left", SECONDS)
    hosted.stop(id_of(two))
    hosted.events.until(TaskEnded, id_of(two))


def test_javas_death_is_sparks_death(hosted: Any, spec: Spec) -> None:
    one = spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    os.kill(java := hosted.driver.java_id, signal.SIGKILL)
    assert f"Spark's Java (process {java}) ended" in hosted.events.until(SparkDied)[-1].reason
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert "ended with Spark" in lost.reason
    hosted.events.until(SparkReady)


@pytest.mark.parametrize("which", ["driver", "java"])
def test_a_spark_that_is_frozen_is_killed_when_a_task_is_to_start(
    hosted: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    one, two = spec(), spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    task = psutil.Process(process_of(hosted, one))
    processes = [psutil.Process(pid) for pid in (hosted.driver.process_id, hosted.driver.java_id)]
    frozen = processes[which == "java"]
    frozen.suspend()
    monkeypatch.setattr(supervisor, "UNANSWERED", 2)  # not before: while it works it may be slow
    # A task that runs needs nothing of Spark.
    time.sleep(4 * supervisor.PING)
    assert alive(frozen)
    assert alive(task)
    assert hosted.events.so_far(id_of(one)) == []
    hosted.run(two)
    assert "it is frozen or hangs" in hosted.events.until(SparkDied)[-1].reason
    monkeypatch.undo()  # its successor may be slow on a busy machine
    lost, _ = hosted.events.until(TaskEnded, id_of(one))
    assert isinstance(lost, TaskLost)
    assert not lost.died
    hosted.events.until(TaskRunning, id_of(two))
    assert not any(map(alive, [*processes, task]))
    hosted.stop(id_of(two))
    hosted.events.until(TaskEnded, id_of(two))


def test_a_task_whose_process_does_not_come_is_lost_and_spark_is_killed_when_none_comes(
    hosted: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = spec(), spec()
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    daemon = psutil.Process(process_of(hosted, one)).parent()
    assert daemon is not None
    daemon.suspend()
    try:
        monkeypatch.setattr(sharing, "OVERDUE", 2)  # not before: while it works it may be slow
        monkeypatch.setattr(sharing, "TICK", 0.5)
        for run in (1, 2):
            hosted.run(replace(two, run=run))
            lost = hosted.events.until(TaskEnded, id_of(two))[-2]
            assert lost == TaskLost(
                id_of(two), run, "Its process has not connected to the worker: it is frozen or hangs", False
            )
            assert run == 2 or hosted.events.so_far(id_of(one)) == [], "at first it may be that process alone"
    finally:
        daemon.resume()
    monkeypatch.undo()  # the next Spark may be slow on a busy machine
    assert "The process that they are forked from does not answer" in hosted.events.until(SparkDied)[-1].reason
    assert isinstance(hosted.events.until(TaskEnded, id_of(one))[-2], TaskLost)
    hosted.run(replace(two, run=3))
    hosted.events.until(TaskRunning, id_of(two))
    hosted.stop(id_of(two))
    hosted.events.until(TaskEnded, id_of(two))


def test_a_spark_that_is_frozen_is_killed_when_a_task_does_not_end(
    hosted: Any, spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = spec("deaf")
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    psutil.Process(hosted.driver.java_id).suspend()
    monkeypatch.setattr(supervisor, "UNANSWERED", 2)  # not before: while it works it may be slow
    hosted.stop(id_of(one), timeout=0.5)
    assert "it is frozen or hangs" in hosted.events.until(SparkDied)[-1].reason
    monkeypatch.undo()  # its successor may be slow on a busy machine
    hosted.events.until(TaskEnded, id_of(one))
    hosted.events.until(SparkReady)

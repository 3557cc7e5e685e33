"""Jobs in the background."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from penstock.connectors.mirror.scheduler import Scheduler
from support.tasks.runs import eventually


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler("test", 5)
    yield made
    made.close()


def test_jobs_are_done_in_order_and_waited_for(scheduler: Scheduler) -> None:
    done: list[str] = []
    scheduler.repeat(lambda: done.append("a"), 3600, "a", at_once=True)
    scheduler.execute(lambda: done.append("b"), "b")
    assert done == ["a", "b"]


def test_a_job_that_fails_does_not_end_the_others(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []
    scheduler.execute(lambda: [][0], "failing")
    scheduler.execute(lambda: done.append("b"), "b")
    assert done == ["b"]
    assert "test caught exception in scheduled task: failing" in caplog.text


def test_jobs_repeat_at_their_intervals(scheduler: Scheduler) -> None:
    soon: list[int] = []
    later: list[int] = []
    scheduler.repeat(lambda: soon.append(1), 0.02, "soon", at_once=True)
    scheduler.repeat(lambda: later.append(1), 3600, "later", at_once=False)
    scheduler.repeat(lambda: later.append(1), None, "never", at_once=True)
    eventually(lambda: len(soon) > 3)
    assert later == []


def test_a_job_that_takes_too_long_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    scheduler, free = Scheduler("test", 0.05), threading.Event()
    scheduler.execute(lambda: free.wait(10), "slow")  # type: ignore[arg-type,return-value]
    assert "test timed out running task: slow" in caplog.text
    free.set()
    scheduler.close()


def test_nothing_is_done_after_the_end(scheduler: Scheduler) -> None:
    done: list[int] = []
    scheduler.repeat(lambda: done.append(1), 0.01, "job", at_once=False)
    scheduler.close()
    count = len(done)
    scheduler.repeat(lambda: done.append(1), 0.01, "late", at_once=True)
    assert "mirror-test" not in [thread.name for thread in threading.enumerate()], "nothing is left to run a job"
    assert len(done) == count

"""Tasks that log more than their worker can write: they keep their lease, and no line is lost without being counted."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.core.model.tasks import TaskEnded, TaskFailed, TaskLost, TaskMetrics, TaskRunning
from penstock.spark.run.reports import LINES_DROPPED
from support.spark.host import Spec, id_of
from support.waiting import until

pytestmark = pytest.mark.integration


class Lines(logging.Handler):
    """The worker's log, which takes some time for each line."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        time.sleep(self.seconds)
        self.texts.append(record.getMessage())

    @property
    def dropped(self) -> int:
        found = (re.match(r"(\d+) lines dropped: task ", text) for text in self.texts)
        return sum(int(each[1]) for each in found if each)

    @property
    def numbered(self) -> int:
        return sum(text.startswith("line ") for text in self.texts)


@pytest.fixture
def slow_log() -> Iterator[Lines]:
    """A log that writes fewer lines than a task logs."""
    yield from _log(0.0005)


@pytest.fixture
def quick_log() -> Iterator[Lines]:
    yield from _log(0.0)


def _log(seconds: float) -> Iterator[Lines]:
    lines = Lines(seconds)
    for name in ("chatter", "penstock.spark.run.reports"):
        logging.getLogger(name).addHandler(lines)
    chatter = logging.getLogger("chatter")
    chatter.setLevel(logging.INFO)
    chatter.propagate = False
    yield lines
    chatter.propagate = True
    for name in ("chatter", "penstock.spark.run.reports"):
        logging.getLogger(name).removeHandler(lines)


def test_a_task_that_logs_without_end_keeps_its_lease(hosted: Any, spec: Spec, slow_log: Lines) -> None:
    one = spec("chatter", threads="4")
    hosted.run(one)
    hosted.events.until(TaskRunning, id_of(one))
    time.sleep(2 * hosted.settings.lease)
    until(lambda: slow_log.dropped > 0, "the lines")
    hosted.stop(id_of(one))
    events = hosted.events.until(TaskEnded, id_of(one))
    assert not [event for event in events if isinstance(event, TaskLost | TaskFailed)]
    until(lambda: "the last line" in slow_log.texts, "the lines")


def test_lines_that_are_dropped_are_counted(hosted: Any, spec: Spec, slow_log: Lines) -> None:
    one = spec("chatter", lines="100000")
    hosted.run(one)
    hosted.events.until(TaskEnded, id_of(one))
    until(lambda: "the last line" in slow_log.texts, "the lines")
    assert slow_log.dropped > 0
    assert slow_log.numbered + slow_log.dropped == 100_000


def test_the_failure_of_a_task_is_logged_after_its_last_line(hosted: Any, spec: Spec, quick_log: Lines) -> None:
    one = spec("chatter", lines="2000", fail="enough")
    hosted.run(one)
    hosted.events.until(TaskEnded, id_of(one))
    until(lambda: quick_log.texts and "has failed" in quick_log.texts[-1], "the lines")
    assert quick_log.texts[-2] == "the last line"
    assert quick_log.numbered == 2000


def test_the_failure_of_a_task_is_logged_after_its_last_line_in_a_slow_log(
    hosted: Any, spec: Spec, slow_log: Lines
) -> None:
    one = spec("chatter", lines="8000", fail="enough")
    hosted.run(one)
    hosted.events.until(TaskEnded, id_of(one))
    until(lambda: slow_log.texts and "has failed" in slow_log.texts[-1], "the lines")
    assert slow_log.texts[-2] == "the last line"
    assert slow_log.numbered + slow_log.dropped == 8000


def test_the_lines_before_a_sudden_end_arrive(hosted: Any, spec: Spec, quick_log: Lines) -> None:
    one = spec("chatter", lines="500", exit="yes")
    hosted.run(one)
    hosted.events.until(TaskEnded, id_of(one))
    until(lambda: "line 499" in quick_log.texts, "the lines")
    assert quick_log.numbered == 500


def test_the_number_of_dropped_lines_is_a_metric(hosted: Any, spec: Spec) -> None:
    one = spec("count")
    hosted.run(one)
    *_, metrics = hosted.events.until(TaskMetrics, id_of(one))
    assert metrics.values[LINES_DROPPED] == 0
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))

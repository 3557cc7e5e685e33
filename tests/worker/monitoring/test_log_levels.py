"""A level that is set at a worker counts in the processes of its tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from penstock.observe import LogLevels
from penstock.worker.local import WorkerLevels
from support.log_levels import levels_kept

JAVA, OURS = "org.apache.kafka.connect.runtime.WorkerSinkTask", "penstock.pipeline.sink"


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    with levels_kept():
        yield


def test_the_level_of_a_java_logger_reaches_the_tasks_by_the_names_of_python() -> None:
    sent: list[tuple[str, int]] = []
    levels = WorkerLevels(LogLevels(), lambda name, level: sent.append((name, level)))
    assert JAVA in levels.set(JAVA, "debug")
    assert sent == [(JAVA, logging.DEBUG), (OURS, logging.DEBUG)]


def test_a_level_replaces_those_of_loggers_below_in_tasks_too() -> None:
    sent: list[tuple[str, int]] = []
    levels = WorkerLevels(LogLevels(), lambda name, level: sent.append((name, level)))
    levels.set(OURS, "DEBUG")
    sent.clear()
    levels.set("org.apache.kafka.connect", "ERROR")
    assert (OURS, logging.ERROR) in sent
    assert {level for _, level in sent} == {logging.ERROR}


def test_a_level_that_there_is_not_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[tuple[str, int]] = []
    levels = WorkerLevels(LogLevels(), lambda name, level: sent.append((name, level)))
    assert levels.set("org.a", "VERBOSE") == []
    assert sent == []
    assert caplog.messages == ["Ignoring request to set invalid level 'VERBOSE' for namespace org.a"]

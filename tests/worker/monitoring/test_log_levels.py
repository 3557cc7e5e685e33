"""A level that is set at a worker counts in the processes of its tasks."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.observe import LogLevels
from penstock.worker.local import WorkerLevels
from support.log_levels import levels_kept
from support.waiting import until
from support.worker_process import WorkerProcess

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


def different(level: str) -> str:
    return "WARN" if level == "INFO" else "INFO"


@pytest.mark.integration
@pytest.mark.slow
def test_levels_change_as_kafkas_system_test_of_dynamic_logging_expects(bootstrap: str, tmp_path: Path) -> None:
    """``connect_distributed_test.py::test_dynamic_logging``, of one worker."""
    with WorkerProcess(bootstrap, tmp_path) as worker:

        def loggers() -> dict[str, dict[str, Any]]:
            found: dict[str, dict[str, Any]] = worker.http.get("/admin/loggers").raise_for_status().json()
            return found

        def set_level(name: str, level: str, scope: str = "worker", changes: bool = True) -> int:
            began = int(time.time() * 1000)
            answer = worker.http.put(f"/admin/loggers/{name}", params={"scope": scope}, json={"level": level})
            if scope == "cluster":
                assert answer.status_code == 204
                if changes:
                    until(lambda: all_set(name, level, began), f"{name} has level {level}")
            else:
                assert answer.json()
                assert all(each.startswith(name) for each in answer.json())
            return began

        def all_set(name: str, level: str, since: int) -> bool:
            found = [each for key, each in loggers().items() if key.startswith(name)]
            return bool(found) and all(
                each["level"] == level and each["last_modified"] is not None and each["last_modified"] >= since
                for each in found
            )

        initial = loggers()
        assert len(initial) > 2
        assert {each["last_modified"] for each in initial.values()} == {None}
        names = [name for name in initial if name != "root"]
        first = names[0]
        assert all_set(first, different(initial[first]["level"]), set_level(first, different(initial[first]["level"])))
        set_level("root", "DEBUG", "cluster")
        set_level("root", "INFO", "cluster")
        set_level(first, "DEBUG", "cluster")
        before = loggers()
        set_level(first, "DEBUG", "cluster", changes=False)
        other = [name for name in before if name != "root" and not name.startswith(first)][-1]
        set_level(other, different(before[other]["level"]), "cluster")
        after = loggers()
        assert all(after[name] == each for name, each in before.items() if name.startswith(first))
        set_level("root", "DEBUG", "cluster")
        root = set_level("root", "INFO", "cluster")
        last = set_level(other, "WARN")
        for name, each in loggers().items():
            if not name.startswith(other):
                assert each["level"] == "INFO", name
                assert root <= each["last_modified"] < last, name
        worker.stop()
        worker.start()
        worker.ready()
        assert loggers() == initial

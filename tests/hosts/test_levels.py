"""Levels of loggers on their way to JVMs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.hosts.jvm.levels import JVMS
from penstock.hosts.jvm.messages.worker import SetJavaLogLevels
from penstock.pipeline.task import TaskControl
from penstock.spark.messages.task import LogLevelCommand
from penstock.spark.run.task_link import Steering
from support.tasks.runs import eventually

LOGGER = "of.a.jvm"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger(LOGGER)
    yield logger
    logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize("name", [LOGGER, f"{LOGGER}.without.one", f"{LOGGER}s"])
def test_an_inherited_level_is_sent(monkeypatch: pytest.MonkeyPatch, logger: logging.Logger, name: str) -> None:
    told: list[Any] = []
    session = SimpleNamespace(begin=lambda request, lane: told.append(request.levels))
    monkeypatch.setattr(JVMS, "processes", [session])
    monkeypatch.setattr(logging.getLogger(), "level", logging.WARNING)
    logger.setLevel(logging.DEBUG if name != f"{LOGGER}s" else logging.NOTSET)
    JVMS.level_changed(name)
    eventually(lambda: told)
    assert told == [{name: "WARN" if name == f"{LOGGER}s" else "DEBUG"}]
    assert name == LOGGER or name not in logging.root.manager.loggerDict


def test_a_jvm_that_takes_no_messages_holds_up_no_heartbeat(
    monkeypatch: pytest.MonkeyPatch, logger: logging.Logger
) -> None:
    told: list[Any] = []
    takes = threading.Event()

    def begin(request: SetJavaLogLevels, lane: str) -> None:
        takes.wait()
        told.append((request, lane))

    monkeypatch.setattr(JVMS, "processes", [SimpleNamespace(begin=begin)])
    obey = Steering(TaskControl()).obey
    for level in ("DEBUG", logging.ERROR):
        obey(LogLevelCommand(LOGGER, level))
    assert (logger.level, told) == (logging.ERROR, [])
    takes.set()
    eventually(lambda: len(told) == 2)
    assert told[-1] == (SetJavaLogLevels({LOGGER: "ERROR"}), "levels")

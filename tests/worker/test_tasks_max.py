"""A task does not start that is one of more than ``tasks.max``: they may be older than this setting."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.core.model.actions import StartTask
from penstock.core.model.tasks import TaskId
from penstock.plugins import Plugins
from penstock.worker.specs import Specs
from penstock.worker.tasks_max import TooManyTasks

CONNECTOR = {"name": "n", "connector.class": "FileStreamSource", "topic": "t"}


class Reached(Exception):
    """The check has let the task pass."""


class Offsets:
    def topics(self, connector: str, config: Any) -> Any:
        raise Reached


def start(tasks: int, more: dict[str, str]) -> None:
    config, unused, offsets = CONNECTOR | more, None, Offsets()
    given: Any = unused, Plugins.discover(()), dict, lambda catalog, props: None, offsets
    Specs(*given).outline(StartTask(TaskId("n", 1), 1, config, config, False, (), tasks))


@pytest.mark.parametrize(
    ("tasks", "more"),
    [(1, {}), (2, {"tasks.max": "2"}), (3, {"tasks.max": " 2 ", "tasks.max.enforce": " FALSE "})],
)
def test_one_of_as_many_as_there_may_be(tasks: int, more: dict[str, str]) -> None:
    with pytest.raises(Reached):
        start(tasks, more)


@pytest.mark.parametrize(("tasks", "more"), [(2, {}), (3, {"tasks.max": "2", "tasks.max.enforce": "true"})])
def test_one_of_more(tasks: int, more: dict[str, str]) -> None:
    with pytest.raises(TooManyTasks, match=f"has generated {tasks} tasks, which is greater than {tasks - 1}, the max"):
        start(tasks, more)


def test_a_number_that_is_none() -> None:
    with pytest.raises(ConfigError):
        start(1, {"tasks.max": "x"})

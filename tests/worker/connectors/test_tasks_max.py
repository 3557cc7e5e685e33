"""Limit of the number of tasks that a connector may make."""

from __future__ import annotations

import logging

import pytest

from penstock.api.errors import ConfigError
from penstock.worker.connectors.run import TooManyTasks, check_tasks_max, tasks_max


@pytest.mark.parametrize(("given", "most"), [({}, 1), ({"tasks.max": " 2 "}, 2)])
def test_the_maximum_number_of_tasks_is_accepted(given: dict[str, str], most: int) -> None:
    assert tasks_max(given) == most
    check_tasks_max("n", most, most, given)


@pytest.mark.parametrize("given", [{}, {"tasks.max.enforce": "true"}])
def test_more(given: dict[str, str]) -> None:
    with pytest.raises(TooManyTasks, match="n has generated 3 tasks, which is greater than 2, the maximum number"):
        check_tasks_max("n", 3, 2, given)


def test_more_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        check_tasks_max("n", 3, 2, {"tasks.max.enforce": " FALSE "})
    assert "has generated 3 tasks, which is greater than 2" in caplog.text


def test_a_number_that_is_none() -> None:
    with pytest.raises(ConfigError):
        tasks_max({"tasks.max": "x"})

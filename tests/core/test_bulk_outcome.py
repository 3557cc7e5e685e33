"""Outcomes of actions, from the states before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.core.attention.states import Part, Watched
from penstock.core.bulk.outcome import outcome
from penstock.core.bulk.selection import Candidate

RUNS = {"c": "RUNNING", "0": "RUNNING"}


def candidate(target: str, states: Mapping[str, str], tasks: int = 1, at: int = 1, **config: str) -> Candidate:
    """``states``: that of the connector as ``c``, and those of tasks by their numbers."""
    parts = tuple(
        Part(None if who == "c" else int(who), state, "w", "E: x\nCaused by: y" if state == "FAILED" else None, at)
        for who, state in states.items()
    )
    return Candidate(Watched("c", target, tasks, parts), config)


@pytest.mark.parametrize(
    ("action", "now", "result", "text"),
    [
        ("pause", candidate("STARTED", RUNS), "under way", "Its target state is STARTED still"),
        ("pause", candidate("PAUSED", RUNS), "under way", "The connector is RUNNING, task 0 is RUNNING"),
        ("pause", candidate("PAUSED", {"c": "PAUSED", "0": "RUNNING"}), "under way", "Task 0 is RUNNING"),
        ("pause", candidate("PAUSED", {"c": "PAUSED", "0": "PAUSED"}), "done", "Paused"),
        ("pause", candidate("PAUSED", {"c": "PAUSED", "0": "FAILED"}), "done", "Paused; Task 0 is FAILED"),
        ("stop", candidate("STOPPED", {"c": "STOPPED", "0": "RUNNING"}, 0), "under way", "Task 0 is RUNNING"),
        ("stop", candidate("STOPPED", {"c": "STOPPED", "0": "FAILED"}, 0), "under way", "Task 0 is FAILED"),
        ("stop", candidate("STOPPED", {"c": "STOPPED"}, 0), "done", "Stopped"),
        ("resume", candidate("STARTED", {"c": "RUNNING", "0": "PAUSED"}), "under way", "Task 0 is PAUSED"),
        ("resume", candidate("STARTED", {"c": "RUNNING"}, 0), "done", "Resumed; it has no tasks"),
        ("restart", candidate("STARTED", {"c": "RUNNING"}, 0), "under way", "The connector has not been restarted yet"),
        ("resume", candidate("STARTED", {}, 0), "under way", "It has no status"),
        ("restart", candidate("STARTED", {"c": "RUNNING"}, 0, at=2), "done", "Restarted; it has no tasks"),
        ("set", candidate("STARTED", {"c": "RUNNING"}, 0, at=2, k="v"), "done", "Changed; it has no tasks"),
        ("resume", candidate("STARTED", RUNS, 2), "under way", "Not all of its tasks have a status yet"),
        ("resume", candidate("STARTED", {"c": "RUNNING", "0": "FAILED"}), "failed", "Task 0 is FAILED"),
        ("resume", candidate("STARTED", RUNS), "done", "Resumed"),
        ("restart", candidate("STARTED", RUNS), "under way", "The connector has not been restarted yet"),
        ("restart", candidate("STARTED", RUNS, at=2), "done", "Restarted"),
        ("restart", candidate("STARTED", {"c": "RUNNING", "0": "FAILED"}, at=2), "failed", "Task 0 is FAILED"),
        ("set", candidate("STARTED", RUNS), "under way", "Its configuration does not have the new value of k yet"),
        ("set", candidate("STARTED", RUNS, k="v"), "under way", "The connector has not been restarted yet"),
        ("set", candidate("STARTED", RUNS, at=2, k="v"), "done", "Changed"),
        ("set", candidate("STARTED", {"c": "FAILED"}, 0, at=2, k="v"), "failed", "The connector is FAILED"),
        ("set", candidate("PAUSED", RUNS, k="v"), "under way", "The connector has not been restarted yet"),
        ("set", candidate("PAUSED", {"c": "PAUSED", "0": "PAUSED"}, at=2, k="v"), "done", "Changed; it is PAUSED"),
        ("set", candidate("STOPPED", {"c": "STOPPED"}, 0, at=2, k="v"), "done", "Changed; it is STOPPED"),
        ("delete", candidate("STARTED", RUNS), "under way", "It is there still"),
        ("delete", None, "done", "Deleted"),
        ("pause", None, "failed", "It was deleted meanwhile"),
    ],
)  # fmt: skip
def test_an_action_is_done_only_when_its_state_is_reached(
    action: str, now: Candidate | None, result: str, text: str
) -> None:
    found = outcome(action, candidate("STARTED", RUNS), now, {"k": "v"})  # type: ignore[arg-type]
    assert (found.result, found.text) == (result, text)
    assert found.cause == ("y" if result == "failed" and now is not None else "")


def test_states_that_may_be_those_of_before_are_not_certain() -> None:
    before = candidate("STARTED", RUNS)
    assert not outcome("set", before, candidate("STARTED", RUNS, at=2, k="v"), {"k": "v"}).certain
    assert not outcome("pause", before, candidate("PAUSED", {"c": "PAUSED", "0": "FAILED"})).certain
    assert not outcome("resume", before, candidate("STARTED", {"c": "RUNNING", "0": "FAILED"})).certain
    assert outcome("pause", before, candidate("PAUSED", {"c": "PAUSED", "0": "PAUSED"})).certain
    assert not outcome(
        "resume", candidate("PAUSED", {"c": "PAUSED"}, 0), candidate("STARTED", {"c": "RUNNING"}, 0)
    ).certain


def test_a_restart_of_what_has_failed_waits_for_that_alone() -> None:
    before = candidate("STARTED", {"c": "RUNNING", "0": "FAILED"})
    again = Candidate(Watched("c", "STARTED", 1, (before.watched.parts[0], Part(0, "RUNNING", "w", None, 2))), {})
    assert outcome("restart", before, before, only_failed=True).result == "under way"
    assert outcome("restart", before, again, only_failed=True).result == "done"
    assert outcome("restart", before, again).result == "under way"


@pytest.mark.parametrize("failed", ["c", "1"])
def test_a_restart_of_what_has_failed_ends_while_other_parts_go_on_as_before(failed: str) -> None:
    before = candidate("STARTED", {"c": "RUNNING", "0": "RUNNING", "1": "RUNNING", "2": "PAUSED", failed: "FAILED"}, 3)
    parts = [
        Part(part.task, "RUNNING", "w", None, 2) if part.state == "FAILED" else part for part in before.watched.parts
    ]
    now = Candidate(Watched("c", "STARTED", 3, tuple(parts)), {})
    found = outcome("restart", before, now, only_failed=True)
    assert (found.result, found.text) == ("done", "Restarted")


def test_a_change_of_settings_waits_for_tasks_with_the_new_configuration() -> None:
    before = candidate("STARTED", {"c": "RUNNING", "0": "RUNNING", "1": "FAILED"}, 2)

    def now(since: tuple[int, int, int], applied: bool = True) -> tuple[str, str]:
        parts = tuple(Part(task, "RUNNING", "w", None, at) for task, at in zip((None, 0, 1), since, strict=True))
        changed = Candidate(Watched("c", "STARTED", 2, parts), {"k": "v"}, applied=applied)
        found = outcome("set", before, changed, {"k": "v"})
        return found.result, found.text

    assert now((1, 1, 1), applied=False) == ("under way", "The connector has not been restarted yet")
    assert now((2, 1, 1), applied=False) == ("under way", "Its tasks have not been configured again yet")
    assert now((2, 1, 2)) == ("under way", "Task 0 has not been restarted yet")
    assert now((2, 2, 2)) == ("done", "Changed")


@pytest.mark.parametrize(
    ("action", "target", "other"),
    [("pause", "STARTED", "STARTED"), ("stop", "STARTED", "PAUSED"), ("resume", "PAUSED", "STOPPED")],
)
def test_an_action_that_another_request_overtakes_has_failed(action: Any, target: str, other: str) -> None:
    before = Candidate(Watched("c", target, 1, candidate(target, RUNS).watched.parts, 1), {})
    now = Candidate(Watched("c", other, 1, before.watched.parts, 2), {})
    found = outcome(action, before, now)
    assert (found.result, found.certain) == ("failed", False)
    assert found.text == f"Another request has changed its target state to {other}"

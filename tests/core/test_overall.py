"""The overall state of connectors, and the effects of actions in every combination."""

from __future__ import annotations

from itertools import product

import pytest

from penstock.core.attention.states import Part, Watched
from penstock.core.model.urgency import URGENCY
from penstock.core.status.overall import ACTIONS, SHOWN, effect, overall


def watched(target: str, *states: str, tasks: int | None = None) -> Watched:
    """Return a connector with its own state and those of its tasks."""
    parts = tuple(Part(None if i == 0 else i - 1, state, "w") for i, state in enumerate(states))
    return Watched("c", target, max(0, len(states) - 1) if tasks is None else tasks, parts)


@pytest.mark.parametrize(
    ("states", "tasks", "expected"),
    [
        (("RUNNING", "RUNNING"), 1, "RUNNING"),
        (("RUNNING", "RUNNING", "FAILED"), 2, "FAILED"),
        (("RUNNING", "UNASSIGNED", "PAUSED"), 2, "UNASSIGNED"),
        (("PAUSED", "RUNNING"), 1, "PAUSED"),
        (("RUNNING", "SLEEPING", "RESTARTING"), 2, "UNKNOWN"),
        (("FAILED", "SLEEPING"), 1, "FAILED"),
        ((), 0, "UNKNOWN"),
        (("STOPPED", "FAILED"), 0, "STOPPED"),
    ],
)
def test_the_most_urgent_state_is_the_overall_one(states: tuple[str, ...], tasks: int, expected: str) -> None:
    assert overall(watched("STARTED", *states, tasks=tasks)) == expected


CHANGES = {
    "pause": {"STARTED"},
    "resume": {"PAUSED", "STOPPED"},
    "stop": {"STARTED", "PAUSED"},
    "restart": {"STARTED", "PAUSED"},
    "delete": {"STARTED", "PAUSED", "STOPPED"},
    "set": {"STARTED", "PAUSED", "STOPPED"},
}


def test_every_action_has_an_effect_or_none_in_every_combination() -> None:
    for action, target, state in product(ACTIONS, SHOWN, URGENCY):
        found = effect(action, watched(target, state))
        assert found.changes == (target in CHANGES[action]), (action, target, state)
        assert found.text[0].isupper()
        assert not found.text.endswith(".")


@pytest.mark.parametrize(
    ("action", "target", "states", "text"),
    [
        ("pause", "STARTED", ("RUNNING", "FAILED"), "Pauses it; what has failed stays FAILED"),
        ("pause", "PAUSED", ("PAUSED", "PAUSED"), "It is to be paused already"),
        ("pause", "PAUSED", ("RESTARTING", "PAUSED"), "It is to be paused already; it is RESTARTING still"),
        ("pause", "STOPPED", ("STOPPED",), "It is stopped, and processes nothing"),
        ("stop", "STARTED", ("SLEEPING",), "Stops it; it has no tasks then; its present state is not known"),
        ("resume", "PAUSED", ("FAILED",), "Resumes it; what has failed stays FAILED until it is restarted"),
    ],
)  # fmt: skip
def test_the_sentence_follows_the_state(action: str, target: str, states: tuple[str, ...], text: str) -> None:
    assert effect(action, watched(target, *states)).text == text  # type: ignore[arg-type]


def test_a_restart_of_what_has_failed_changes_nothing_where_nothing_has() -> None:
    assert not effect("restart", watched("STARTED", "RUNNING", "RUNNING"), only_failed=True).changes
    assert effect("restart", watched("STARTED", "RUNNING", "FAILED"), only_failed=True).changes
    assert not effect("restart", watched("STOPPED", "FAILED"), only_failed=True).changes

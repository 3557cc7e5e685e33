"""The overall state of a connector and its tasks, and what each action does in each combination: the one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.core.attention.states import Part, Watched
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.core.model.urgency import UNKNOWN, most_urgent

Action = Literal["pause", "resume", "stop", "restart", "delete", "set"]
ACTIONS: tuple[Action, ...] = ("pause", "resume", "stop", "restart", "delete", "set")
SHOWN: Mapping[str, str] = {STARTED: "RUNNING", PAUSED: PAUSED, STOPPED: STOPPED}
"""States that a connector has reached, by target state."""


def overall(watched: Watched) -> str:
    """Return the most urgent state of a connector and its tasks; UNKNOWN if nothing has reported a status of it."""
    states = [part.state for part in watched.present()]
    if not any(part.task is None for part in watched.parts):
        states.append(UNKNOWN)
    return most_urgent(states)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an action on a connector in its present state."""

    changes: bool
    text: str


_EFFECTS: Mapping[Action, Mapping[str, tuple[bool, str]]] = {
    "pause": {
        STARTED: (True, "Pauses it"),
        PAUSED: (False, "It is to be paused already"),
        STOPPED: (False, "It is stopped, and processes nothing"),
    },
    "resume": {
        STARTED: (False, "It is neither paused nor stopped"),
        PAUSED: (True, "Resumes it"),
        STOPPED: (True, "Starts it, with its tasks"),
    },
    "stop": {
        STARTED: (True, "Stops it; it has no tasks then"),
        PAUSED: (True, "Stops it; it was paused, so a resume of this action leaves it stopped"),
        STOPPED: (False, "It is to be stopped already"),
    },
    "restart": {
        STARTED: (True, "Restarts it, with its tasks"),
        PAUSED: (True, "Restarts it, with its tasks; it stays paused"),
        STOPPED: (False, "It is stopped: there is nothing to restart"),
    },
    "delete": {
        STARTED: (True, "Deletes it while it runs; its offsets are kept"),
        PAUSED: (True, "Deletes it; its offsets are kept"),
        STOPPED: (True, "Deletes it; its offsets are kept"),
    },
    "set": {
        STARTED: (True, "Changes its configuration; it restarts with it"),
        PAUSED: (True, "Changes its configuration; it stays paused"),
        STOPPED: (True, "Changes its configuration; it stays stopped"),
    },
}
"""Effects by action and target state: whether the action changes something, and a sentence."""
_REMARKS: Mapping[tuple[Action, str], str] = {
    ("pause", "FAILED"): "what has failed stays FAILED",
    ("resume", "FAILED"): "what has failed stays FAILED until it is restarted",
    **{(action, UNKNOWN): "its present state is not known" for action in ACTIONS},
}
"""Remarks by action and overall state."""


def effect(action: Action, watched: Watched, only_failed: bool = False) -> Effect:
    """Return what an action does to a connector. ``only_failed``: a restart of what has failed."""
    state = overall(watched)
    target = watched.target if watched.target in SHOWN else STARTED
    if action == "restart" and only_failed and target != STOPPED:
        if state != "FAILED":
            return Effect(False, "Nothing of it has failed")
        return Effect(True, "Restarts what has failed")
    changes, text = _EFFECTS[action][target]
    if not changes and target != STARTED and state not in (SHOWN[target], UNKNOWN):
        text += f"; it is {state} still"
    remark = _REMARKS.get((action, state))
    return Effect(changes, text if remark is None else f"{text}; {remark}")


def in_state(parts: Iterable[Part], *states: str) -> list[Part]:
    return [part for part in parts if part.state in states]

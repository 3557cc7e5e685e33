"""The outcome of an action on a connector, read back from the config and status topics: a pure decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.core.attention.states import Part, Watched, root_cause
from penstock.core.bulk.selection import Candidate
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.core.status.overall import SHOWN, Action, in_state

Result = Literal["done", "failed", "under way"]
SETTLED_S = 3.0
"""Seconds for which an outcome that is not certain must stay the same: right after a request the status may be that of
before.
"""

_TARGETS: Mapping[Action, str] = {"pause": PAUSED, "resume": STARTED, "stop": STOPPED}


@dataclass(frozen=True, slots=True)
class Outcome:
    result: Result
    text: str
    certain: bool = True
    """Whether it counts at once. False: only after ``SETTLED_S``."""
    cause: str = ""
    """Root cause of a failure, as the status has it."""


def outcome(
    action: Action,
    before: Candidate,
    now: Candidate | None,
    settings: Mapping[str, str | None] | None = None,
    only_failed: bool = False,
) -> Outcome:
    """Return what has become of an action that was accepted; ``before`` is the connector just before the request."""
    if action == "delete":
        return Outcome("done", "Deleted") if now is None else Outcome("under way", "It is there still")
    if now is None:
        return Outcome("failed", "It was deleted meanwhile")
    watched = now.watched
    if watched.target != _TARGETS.get(action, watched.target):
        return _other_target(before.watched, watched)
    parts = watched.present()
    match action:
        case "pause":
            return _reached(watched, parts, PAUSED, "Paused", ("PAUSED",))
        case "resume":
            return _running(watched, parts, "Resumed", certain=not _had_failed(before))
        case "stop":
            left = [part for part in watched.parts if part.task is not None]
            return _reached(watched, [*parts, *left] if left else parts, STOPPED, "Stopped", ("STOPPED",))
        case "restart":
            return _restarted(before.watched, watched, parts, only_failed)
        case "set":
            return _set(before, now, parts, settings or {})


def _other_target(before: Watched, watched: Watched) -> Outcome:
    if watched.target_since_ms != before.target_since_ms:
        return Outcome("failed", f"Another request has changed its target state to {watched.target}", certain=False)
    return Outcome("under way", f"Its target state is {watched.target} still", certain=False)


def _reached(watched: Watched, parts: list[Part], target: str, done: str, states: tuple[str, ...]) -> Outcome:
    """Return the outcome of a pause or a stop. What had failed may stay so: it processes nothing."""
    moving = [part for part in parts if part.state not in (*states, "FAILED")]
    if target == STOPPED:
        moving += [part for part in in_state(parts, "FAILED") if part.task is not None]
    if moving or not parts:
        return Outcome("under way", _named(moving) or "It has no status")
    failed = in_state(parts, "FAILED")
    return Outcome("done", f"{done}; {_named(failed)}" if failed else done, certain=not failed)


def _running(watched: Watched, parts: list[Part], done: str, certain: bool = True) -> Outcome:
    found = _run(parts, done, certain)
    if found.result != "done":
        return found
    if not any(part.task is None for part in parts):
        return Outcome("under way", "It has no status")
    if not watched.tasks:
        return Outcome("done", f"{done}; it has no tasks", certain=False)
    if len([part for part in parts if part.task is not None]) < watched.tasks:
        return Outcome("under way", "Not all of its tasks have a status yet")
    return found


def _restarted(before: Watched, watched: Watched, parts: list[Part], only_failed: bool) -> Outcome:
    """Return the outcome of a restart: each part that it meant has a new status."""
    old = {part.task: part for part in before.present()}
    meant = [part for part in parts if not only_failed or _state_of(old.get(part.task)) == "FAILED"]
    if waiting := [part for part in meant if _is_same(part, old.get(part.task))]:
        return Outcome("under way", f"{_who(waiting[0])} has not been restarted yet")
    if only_failed and watched.target == STARTED:
        return _run(meant, "Restarted", certain=False)
    if watched.target == STARTED:
        return _running(watched, parts, "Restarted", certain=False)
    return _reached(watched, meant or parts, watched.target, "Restarted", (SHOWN[watched.target],))


def _run(parts: list[Part], done: str, certain: bool) -> Outcome:
    """Return the outcome of parts that are to run, whatever the others do."""
    if others := [part for part in parts if part.state not in ("RUNNING", "FAILED")]:
        return Outcome("under way", _named(others))
    if failed := in_state(parts, "FAILED"):
        return Outcome("failed", _named(failed), certain=False, cause=_cause(failed))
    return Outcome("done", done, certain)


def _set(before: Candidate, now: Candidate, parts: list[Part], settings: Mapping[str, str | None]) -> Outcome:
    """Return the outcome of a change of settings: the connector, and its tasks if they run, have started again."""
    wrong = [key for key, value in settings.items() if now.config.get(key) != value]
    if wrong:
        return Outcome("under way", f"Its configuration does not have the new value of {wrong[0]} yet", certain=False)
    watched, old = now.watched, {part.task: part for part in before.watched.present()}
    own = [part for part in parts if part.task is None]
    if not own or _is_same(own[0], old.get(None)):
        return Outcome("under way", "The connector has not been restarted yet")
    if watched.target != STARTED:
        state = SHOWN.get(watched.target, watched.target)
        return _reached(watched, parts, watched.target, f"Changed; it is {state}", (state,))
    found = _run(own, "Changed", certain=False)
    if found.result != "done":
        return found
    if not now.applied:
        return Outcome("under way", "Its tasks have not been configured again yet")
    waiting = [part for part in parts if _is_same(part, old.get(part.task))]
    if waiting and now.config != before.config:  # tasks whose configurations stay the same are not restarted
        return Outcome("under way", f"{_who(waiting[0])} has not been restarted yet")
    return _running(watched, parts, "Changed", certain=False)


def _had_failed(before: Candidate) -> bool:
    return bool(in_state(before.watched.present(), "FAILED"))


def _is_same(part: Part, old: Part | None) -> bool:
    return old is not None and (part.state, part.since_ms, part.worker) == (old.state, old.since_ms, old.worker)


def _state_of(part: Part | None) -> str:
    return "" if part is None else part.state


def _who(part: Part) -> str:
    return "The connector" if part.task is None else f"Task {part.task}"


def _named(parts: Iterable[Part]) -> str:
    """Return which parts are in which states, such as ``the connector is RUNNING, task 1 is FAILED``."""
    named = dict.fromkeys(f"{_who(part)} is {part.state}" for part in parts)
    text = ", ".join(each[:1].lower() + each[1:] for each in named)
    return text[:1].upper() + text[1:]


def _cause(parts: Iterable[Part]) -> str:
    return next((root_cause(part.trace) for part in parts if part.trace), "")

"""Carrying out a plan's steps, one after the other; waiting until what changed is healthy; taking back what is not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.declarative.plan import PlannedChange, PlanStep
from penstock.declarative.resources import INITIAL
from penstock.http.client import Client
from penstock.http.client_errors import ClientError, ResourceNotFoundError

LOOK_S = 0.5
SETTLED_S = 3.0
"""Seconds for which a connector must be healthy: right after a change its status may be the old one."""
_SHOWN = {"STARTED": "RUNNING", "PAUSED": "PAUSED", "STOPPED": "STOPPED"}
DONE = {
    PlannedChange.CREATE: "Created connector {}.",
    PlannedChange.UPDATE: "Updated connector {}.",
    PlannedChange.DELETE: "Deleted connector {}.",
}


class UnhealthyError(ClientError):
    """A changed connector did not become healthy in time."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """``wait`` is for how many seconds a changed connector may take to become healthy; 0 does not wait."""

    worker: Client
    wait: float = 0.0
    roll_back: bool = False
    say: Callable[[str], None] = print

    def carry_out(self, step: PlanStep) -> None:
        """Raises ClientError; UnhealthyError if the change did not become healthy, and was taken back if so asked."""
        before = self._state(step.name) if self.roll_back and step.change is not PlannedChange.CREATE else None
        self._change(step)
        if self.wait <= 0 or step.change in (PlannedChange.DELETE, PlannedChange.NONE):
            return
        problem = self._until_healthy(step)
        if problem is None:
            self.say(f"Connector {step.name} is healthy.")
            return
        if self.roll_back:
            self._take_back(step, before)
            problem += ". The change was taken back"
        raise UnhealthyError(f"Connector {step.name} was not healthy within {self.wait:g} s: {problem}")

    def _change(self, step: PlanStep) -> None:
        worker, name = self.worker, step.name
        match step.change:
            case PlannedChange.CREATE:
                assert step.resource is not None
                wanted = step.resource.wanted
                pairs = wanted.initial_offsets
                offsets = None if pairs is None else [{"partition": part, "offset": offset} for part, offset in pairs]
                state = step.state or wanted.initial_state
                worker.create(name, step.wanted or {}, INITIAL[state] if state else None, offsets)
            case PlannedChange.UPDATE:
                worker.put_config(name, step.wanted or {})
            case PlannedChange.DELETE:
                worker.delete(name)
        if step.change in DONE:
            self.say(DONE[step.change].format(name))
        if step.state is not None and step.change is not PlannedChange.CREATE:
            self._set_state(name, step.state)
            self.say(f"Connector {name} is to be {_SHOWN[step.state]}.")

    def _set_state(self, name: str, state: str) -> None:
        {"STARTED": self.worker.resume, "PAUSED": self.worker.pause, "STOPPED": self.worker.stop}[state](name)

    def _state(self, name: str) -> str:
        try:
            shown = self.worker.status(name)["connector"]["state"]
        except ResourceNotFoundError:  # it has none yet
            return "STARTED"
        return shown if shown in ("PAUSED", "STOPPED") else "STARTED"

    def _until_healthy(self, step: PlanStep) -> str | None:
        """Wait; what is wrong if it does not become healthy."""
        healthy = now = time.monotonic()
        give_up = now + self.wait
        while True:
            problem, now = self._problem(step), time.monotonic()
            if problem is not None:
                healthy = now
            if now - healthy >= SETTLED_S or now >= give_up:
                return problem
            time.sleep(LOOK_S)

    def _problem(self, step: PlanStep) -> str | None:
        try:
            shown = self.worker.status(step.name)
        except ResourceNotFoundError:
            return "it has no status yet"
        target = step.state or (step.resource.wanted.initial_state if step.resource else None) or "STARTED"
        if step.state is None and step.change is not PlannedChange.CREATE:
            target = {"PAUSED": "PAUSED", "STOPPED": "STOPPED"}.get(shown["connector"]["state"], "STARTED")
        wanted = _SHOWN[target]
        if (state := shown["connector"]["state"]) != wanted:
            return f"it is {state}{cause(shown['connector'])}"
        if not shown["tasks"] and wanted == "RUNNING":  # one that begins PAUSED has none yet
            return "it has no tasks"
        for task in shown["tasks"]:
            if task["state"] != wanted:
                return f"its task {task['id']} is {task['state']}{cause(task)}"
        return None

    def _take_back(self, step: PlanStep, before: str | None) -> None:
        if step.change is PlannedChange.CREATE:
            self.worker.delete(step.name)
            return
        if step.change is PlannedChange.UPDATE:
            self.worker.put_config(step.name, step.present or {})
        if step.state is not None and before is not None:
            self._set_state(step.name, before)


def cause(instance: Mapping[str, str]) -> str:
    """Return the root cause of a failure in parentheses; empty if there is no trace."""
    lines = (instance.get("trace") or "").strip().splitlines()
    cause = next((line for line in reversed(lines) if line.startswith("Caused by:")), lines[0] if lines else "")
    return f" ({cause.strip()})" if cause else ""

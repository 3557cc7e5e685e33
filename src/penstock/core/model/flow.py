"""Flows: operations of several steps, written top to bottom, in a machine without threads; and ``Output``, where the
herder's subjects start their flows and put the actions to carry out.

A flow is a generator. It yields an ``Ask`` and is sent the outcome (or has the error raised in it), or it yields an
``Until`` and continues when its condition holds; at the deadline of an ``Until`` a ``TimeoutError`` is raised in it.
``Flows`` keeps those that wait. Everything happens inside the herder's ``handle``: no threads, no clock, and the same
events lead to the same actions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.core.model.actions import Action, Ask, Log
from penstock.core.model.events import Completed


@dataclass(frozen=True, slots=True)
class Until:
    """Continue as soon as ``holds()``; TimeoutError with ``what`` as its text after ``timeout_ms``."""

    holds: Callable[[], bool]
    timeout_ms: int
    what: str


FOREVER = 2**53
"""A timeout in milliseconds that is never reached."""

Flow = Generator[Ask | Until, Any, Any]
Done = Callable[[Any, BaseException | None], None]


@dataclass(slots=True)
class _Waiting:
    flow: Flow
    done: Done
    until: Until
    deadline: int


class Lane:
    """Gate that lets flows through one at a time, in the order of their arrival."""

    def __init__(self) -> None:
        self.busy = False

    def through(self, flow: Flow) -> Flow:
        yield Until(lambda: not self.busy, FOREVER, "")
        self.busy = True
        try:
            return (yield from flow)
        finally:
            self.busy = False


class Flows:
    """Flows that are under way. ``emit`` takes the actions that they yield."""

    def __init__(self, emit: Callable[[Action], None]) -> None:
        self._emit = emit
        self._asked: dict[int, tuple[Flow, Done]] = {}
        self._waiting: list[_Waiting] = []
        self._token = 0
        self.now = 0

    def start(self, flow: Flow, done: Done) -> None:
        """Run a flow to its first wait; ``done(result, error)`` is called once when it ends, perhaps at once."""
        self._step(flow, done, None, None)

    def completed(self, event: Completed) -> None:
        """Continue the flow that asked; unknown tokens are ignored."""
        flow, done = self._asked.pop(event.token, (None, None))
        if flow is not None and done is not None:
            self._step(flow, done, event.value, event.error)

    def advance(self) -> None:
        """Continue every flow whose condition holds now or whose deadline has passed, until nothing changes."""
        moved = True
        while moved:
            moved = False
            for waiting in list(self._waiting):
                if waiting not in self._waiting:
                    continue
                if waiting.until.holds():
                    self._waiting.remove(waiting)
                    self._step(waiting.flow, waiting.done, None, None)
                    moved = True
                elif self.now >= waiting.deadline:
                    self._waiting.remove(waiting)
                    self._step(waiting.flow, waiting.done, None, TimeoutError(waiting.until.what))
                    moved = True

    def next_deadline(self) -> int | None:
        return min((w.deadline for w in self._waiting), default=None)

    def _step(self, flow: Flow, done: Done, value: Any, error: BaseException | None) -> None:
        while True:
            try:
                wish = flow.send(value) if error is None else flow.throw(error)
            except StopIteration as end:
                done(end.value, None)
                return
            except Exception as failure:
                done(None, failure)
                return
            value = error = None
            if isinstance(wish, Ask):
                self._token += 1
                self._asked[self._token] = (flow, done)
                self._emit(replace(wish, token=self._token))
                return
            if not wish.holds():
                self._waiting.append(_Waiting(flow, done, wish, self.now + wish.timeout_ms))
                return


@dataclass(slots=True)
class Output:
    """Actions and flows of one herder, shared by its subjects; ``now`` is the time of the event that is handled."""

    now: int = 0
    flows: Flows = field(init=False)
    _actions: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.flows = Flows(self.emit)

    def set_time(self, now: int) -> None:
        self.now = self.flows.now = now

    def take(self) -> list[Action]:
        """Return the actions emitted since the last call, in order."""
        taken, self._actions = self._actions, []
        return taken

    def emit(self, action: Action) -> None:
        self._actions.append(action)

    def log(self, level: str, text: str) -> None:
        self.emit(Log(level, text))

    def start(self, flow: Flow, done: Done | None = None, what: str = "") -> None:
        """Start a flow. Without ``done``, its failure is logged as that of ``what``."""

        def log_failure(_: object, error: BaseException | None) -> None:
            if error is not None:
                self.log("ERROR", f"{what} failed: {error}")

        self.flows.start(flow, done or log_failure)

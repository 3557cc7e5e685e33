"""Where the herder's subjects put the actions they want carried out, start their flows and read the time."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.core.model import actions
from penstock.core.model.actions import Action
from penstock.core.model.flow import Done, Flow, Flows


@dataclass(slots=True)
class Output:
    """One for each herder, shared by all of its subjects; ``now`` is the time of the event being handled."""

    now: int = 0
    flows: Flows = field(init=False)
    _actions: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.flows = Flows(self.emit)

    def set_time(self, now: int) -> None:
        self.now = self.flows.now = now

    def take(self) -> list[Action]:
        """The actions emitted since the last call, in order."""
        taken, self._actions = self._actions, []
        return taken

    def emit(self, action: Action) -> None:
        self._actions.append(action)

    def log(self, level: str, text: str) -> None:
        self.emit(actions.Log(level, text))

    def start(self, flow: Flow, done: Done | None = None, what: str = "") -> None:
        """Begin a flow. Without ``done`` its failure is logged as that of ``what``."""

        def log_failure(_: object, error: BaseException | None) -> None:
            if error is not None:
                self.log("ERROR", f"{what} failed: {error}")

        self.flows.start(flow, done or log_failure)

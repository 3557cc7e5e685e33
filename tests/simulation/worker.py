"""Worker of the simulated cluster: a real herder, the events on their way to it, and the tasks that it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.core.group.membership import Assignment, ClusterConfigSnapshot, Joined
from penstock.core.herder import Herder
from penstock.core.model import events as e
from penstock.core.model.settings import PluginFacts
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import TaskId

CONNECTOR_EVENTS: dict[str, Callable[[str, int, str], e.ConnectorEvent]] = {
    "STARTED": e.ConnectorRunning,
    "PAUSED": e.ConnectorPaused,
    "STOPPED": e.ConnectorStopped,
}


class Facts(PluginFacts):
    """Facts by which classes whose names begin with Sink are sinks, and all others sources."""

    def kind(self, config: Any) -> str:
        return "unknown" if config is None else "sink" if config["connector.class"].startswith("Sink") else "source"

    def version(self, config: Any) -> str | None:
        return None


@dataclass(eq=False)
class Worker:
    id: str
    herder: Herder
    under_way: list[tuple[str, Any]] = field(default_factory=list)
    """Pairs of a channel and an event for the herder, or an effect."""
    read: int = 0
    """Position up to which the config log has been delivered to it."""
    snapshot: ClusterConfigSnapshot = field(default_factory=lambda: ClusterConfigSnapshot(0))
    joined: bool = False
    wants_to_join: bool = False
    waits_for_request: bool = False
    """Whether it has left the group, and joins only when it requests it."""
    runs: Assignment | None = None
    """Work that it claims when it joins."""
    to_release: int = 0
    """Number of revocations that it has not confirmed; until then it joins no rebalance, and is told of none."""
    arrived: Joined | None = None
    slow: set[TaskId] = field(default_factory=set)
    """Tasks that do not end when they are stopped, but only when a test ends them."""
    failed: set[int] = field(default_factory=set)
    """Runs of connectors that have failed."""
    paused: set[TaskId] = field(default_factory=set)
    tasks: dict[TaskId, Task] = field(default_factory=dict)
    """Runs of tasks that have not ended."""

    def with_later(self, channel: str, read: e.ConfigRead, pick: Callable[[list[str]], int] | None) -> e.ConfigRead:
        """Return the event together with later records, if they are picked: a worker that is behind reads several."""
        while pick is not None:
            later = next((each for each in self.under_way if each[0] == channel), None)
            if later is None or not isinstance(later[1], e.ConfigRead) or not pick(["alone", "together"]):
                break
            self.under_way.remove(later)
            read = e.ConfigRead((*read.entries, *later[1].entries))
        return read

    def connector_is(self, name: str, run: int, target: str, broken: bool) -> e.ConnectorEvent | None:
        """Return the event with which the connector reports its state; one that has failed can only be stopped."""
        if run in self.failed and target != "STOPPED":
            return None
        self.failed.discard(run)
        if broken and target == "STARTED":
            self.failed.add(run)
            return e.ConnectorFailed(name, run, "broken", "1")
        return CONNECTOR_EVENTS[target](name, run, "1")


@dataclass
class Task:
    """Process that runs a task."""

    id: TaskId
    run: int
    known_topics: set[str]
    stopping: bool = False
    confirmed: bool = False
    """Whether it has begun its work."""
    skips: tuple[Skip, ...] = ()

"""Restarting a connector and its tasks (KIP-745).

A request becomes a record of the config topic, so that every worker learns of it in its place among all changes. Each
worker plans for itself from the state it sees then (an instance that has failed meanwhile is restarted too) and
restarts what it runs; the leader's plan, made when it was asked, shapes the answer. A plan is computed once and never
changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock.core.model.records import ConnectorStatus, RestartRequest, TaskStatus
from penstock.core.model.tasks import TaskId

RESTARTING: Final = "RESTARTING"


def impact(request: RestartRequest) -> int:
    """How much a request may restart, to choose among several of one connector.

    The widest wins, as Java orders them.
    """
    return 2 * (not request.only_failed) + request.include_tasks


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """What one request means for the instances of a connector in their present state."""

    request: RestartRequest
    restart_connector: bool
    tasks: tuple[TaskId, ...]

    @classmethod
    def of(cls, request: RestartRequest, connector: ConnectorStatus, tasks: Sequence[TaskStatus]) -> RestartPlan:
        def meant(status: ConnectorStatus | TaskStatus) -> bool:
            return not request.only_failed or status.state == "FAILED"

        chosen = tuple(t.id for t in tasks if request.include_tasks and meant(t))
        return cls(request, meant(connector), chosen)


@dataclass(slots=True)
class PendingRestarts:
    """Requests that have been read and not been carried out: one for each connector, the widest."""

    requests: dict[str, RestartRequest]

    def add(self, request: RestartRequest) -> None:
        known = self.requests.get(request.connector)
        if known is None or impact(request) > impact(known):
            self.requests[request.connector] = request

    def take(self) -> RestartRequest | None:
        """The next one, in the order of the connectors' first requests; None if there are none."""
        for name in self.requests:
            return self.requests.pop(name)
        return None

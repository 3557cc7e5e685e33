"""Restarts of a connector and its tasks by a record (KIP-745), or of one connector or one task directly.

A request becomes a record of the config topic, so that every worker reads it in its place among all changes. Each
worker makes a plan from the state that it sees then (an instance that has failed meanwhile is restarted too) and
restarts what it runs; the leader's plan, made at the request, determines the answer. A plan is computed once and never
changes.

As the KIP asks, from the first stop to the last start a worker processes nothing but reads, events of connectors and
tasks, and records of the topics; heartbeats are sent by the group's thread and continue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from penstock.core.group.leadership import ElsewhereError, Leadership
from penstock.core.model import messages as m
from penstock.core.model.flow import FOREVER, Flow, Lane, Output, Until
from penstock.core.model.records import ConnectorStatus, PolicyRestart, RestartRequest, TaskStatus
from penstock.core.model.settings import HerderSettings
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskId
from penstock.core.requests.reads import Reads, config_of
from penstock.core.status.writer import StatusWriter
from penstock.core.work import Phase, Work

RESTARTING: Final = "RESTARTING"
UNKNOWN = "Unknown connector: {}"


def impact(request: RestartRequest) -> int:
    """Return how much a request may restart; of several requests for one connector the highest wins, as in Java."""
    return 2 * (not request.only_failed) + request.include_tasks


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """Connector and tasks that one request restarts, by their present state."""

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
class Restarts:
    """Restarts of the connectors and tasks that run on this worker, one after the other."""

    output: Output
    state: ClusterState
    work: Work
    writer: StatusWriter
    lane: Lane = field(default_factory=Lane)
    """While a restart is being carried out, changes and assignments wait (KIP-745)."""
    _pending: dict[str, RestartRequest] = field(default_factory=dict)
    """Requests that have not been carried out: for each connector the one with the highest impact."""
    _chosen: dict[str, set[int | None]] = field(default_factory=dict)
    """Tasks, and with None connectors, that ``penstock.restart.policy`` is still to restart."""

    def add(self, request: RestartRequest) -> None:
        known = self._pending.get(request.connector)
        if known is None or impact(request) > impact(known):
            self._pending[request.connector] = request

    def add_chosen(self, request: PolicyRestart) -> None:
        self._chosen.setdefault(request.connector, set()).update(each.task for each in request.now)

    def is_due(self, connector: str) -> bool:
        return self.lane.busy or connector in self._pending

    def carry_out_next(self) -> bool:
        """Begin the next request, in the order of the connectors' first requests; return False if there is none."""
        for name in self._pending:
            self._carry_out(self._pending.pop(name))
            return True
        for name in self._chosen:
            self._restart_failed(name, self._chosen.pop(name))
            return True
        return False

    def plan_for(self, request: RestartRequest) -> RestartPlan | None:
        """Return the plan for a request; None if the connector has no status."""
        connector = self.writer.statuses.connectors.get(request.connector)
        if connector is None:
            return None
        return RestartPlan.of(request, connector, self.writer.statuses.tasks_of(request.connector))

    def restart(self, instances: Sequence[str | TaskId], show: bool) -> Flow:
        """Stop these connectors and tasks, wait until they have ended, start those that are still this worker's.

        ``show``: write that they are RESTARTING.
        """
        self.work.hold(instances)
        self.work.reconcile()
        yield Until(lambda: self.work.idle(instances), FOREVER, "")
        self.work.forget(instances)
        for what in filter(self.work.assigned, instances if show else ()):
            if isinstance(what, TaskId):
                self.writer.put_task(what, RESTARTING)
            else:
                self.writer.put_connector(what, RESTARTING)
        self.work.release(instances)
        self.work.reconcile()

    def _carry_out(self, request: RestartRequest) -> None:
        """Plan from the present state and restart the part of the plan that is assigned to this worker."""
        plan = self.plan_for(request)
        if plan is None or request.connector not in self.state.connectors:
            self.output.log("INFO", f"Nothing to restart of connector {request.connector}: it has no status")
            return
        tasks = [id for id in plan.tasks if self.work.assigned(id)]
        restart_connector = plan.restart_connector and self.work.assigned(request.connector)
        instances: list[str | TaskId] = [*([request.connector] if restart_connector else []), *tasks]
        self._begin(request.connector, instances)

    def _restart_failed(self, name: str, chosen: set[int | None]) -> None:
        """Restart the chosen instances that run here and are still failed."""
        instances = [name if task is None else TaskId(name, task) for task in sorted(chosen, key=_connector_first)]
        failed = [each for each in instances if self.work.assigned(each) and self._has_failed(each)]
        self._begin(name, failed)

    def _has_failed(self, what: str | TaskId) -> bool:
        run = self.work.find(what)
        return run is not None and run.phase is Phase.FAILED

    def _begin(self, connector: str, instances: Sequence[str | TaskId]) -> None:
        if instances:
            flow = self.lane.through(self.restart(instances, show=True))
            self.output.start(flow, what=f"Restart of connector {connector}")


def _connector_first(task: int | None) -> int:
    return -1 if task is None else task


@dataclass(slots=True)
class RestartRequests:
    settings: HerderSettings
    state: ClusterState
    work: Work
    leadership: Leadership
    restarts: Restarts
    reads: Reads

    def connector(self, request: m.RestartConnector) -> Flow:
        """204 for the connector alone, in any state.

        Otherwise 202 with the status, in which the targeted instances are RESTARTING.
        """
        yield from self.leadership.no_rebalance_due()
        if not (request.include_tasks or request.only_failed):
            config_of(self.state, request.name, self._unknown)
            return (yield from self._restart_one(request.name))
        config_of(self.state, request.name, UNKNOWN)
        yield from self.leadership.as_leader()
        config_of(self.state, request.name, UNKNOWN)
        wanted = RestartRequest(request.name, request.include_tasks, request.only_failed, request.principal)
        plan = self.restarts.plan_for(wanted)
        shown = None if plan is None else self._planned_status(plan)
        yield from self.leadership.append(wanted)
        if not self.settings.distributed:  # the only worker answers when the restart is over
            what = f"The restart of connector {request.name} is not over yet."
            yield Until(lambda: not self.restarts.is_due(request.name), self.settings.request_timeout_ms, what)
        if shown is None:
            raise m.Refused(404, f"Status for connector {request.name} not found")
        return m.Reply(202, shown)

    def task(self, request: m.RestartTask) -> Flow:
        yield from self.leadership.no_rebalance_due()
        config_of(self.state, request.name, self._unknown)
        id = TaskId(request.name, request.task)
        distributed = self.settings.distributed
        if not (self.state.knows_task(id) if distributed else self.state.task_config(id) is not None):
            raise m.Refused(404, f"Unknown task: {id}" if distributed else f"Task {id} not found")
        return (yield from self._restart_one(id))

    @property
    def _unknown(self) -> str:
        return UNKNOWN if self.settings.distributed else "Connector {} not found"

    def _restart_one(self, what: str | TaskId) -> Flow:
        """Stop an instance, wait for its end and start it again, by the worker that runs it."""

        def bounce() -> Flow:
            if not self.work.assigned(what):
                raise ElsewhereError(self._owner(what))
            yield from self.restarts.restart([what], show=False)

        yield from self.restarts.lane.through(bounce())
        if not isinstance(what, TaskId):

            def decided() -> bool:
                run = self.work.connectors.get(what)
                return run is None or run.phase is not Phase.STARTING

            yield Until(decided, self.settings.request_timeout_ms, f"The start of connector {what} is not over yet.")
            run = self.work.connectors.get(what)
            if run is not None and run.phase is Phase.FAILED:
                raise m.Refused(500, f"Failed to start connector: {what}")
        return m.Reply(204)

    def _owner(self, what: str | TaskId) -> str | None:
        """Return the URL of the worker that runs it, if this worker leads; else that of the leader."""
        membership = self.leadership.membership
        if not membership.is_leader:
            return membership.leader_url
        owners = membership.owners
        if owners is None:
            return None
        return owners.tasks.get(what) if isinstance(what, TaskId) else owners.connectors.get(what)

    def _planned_status(self, plan: RestartPlan) -> dict[str, object]:
        """Return the connector's status, with RESTARTING for the instances that the plan restarts."""
        shown = self.reads.status(plan.request.connector)
        if plan.restart_connector:
            shown["connector"] = {**shown["connector"], "state": RESTARTING}
        chosen = {id.task for id in plan.tasks}
        shown["tasks"] = [{**t, "state": RESTARTING} if t["id"] in chosen else t for t in shown["tasks"]]
        return shown

"""Carrying out restarts: of a connector with its tasks by a record (KIP-745), of one connector or one task directly.

``carry_out`` is what the KIP asks of each worker: from the first stop to the last start nothing else is processed but
reads, and what is heard of connectors, tasks and the topics; heartbeats are the group thread's and go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.core.group.leadership import ElsewhereError, append, as_leader
from penstock.core.model import messages as m
from penstock.core.model.flow import FOREVER, Flow, Until
from penstock.core.model.records import RestartRequest
from penstock.core.model.tasks import TaskId
from penstock.core.requests import checks, reads
from penstock.core.restart import RESTARTING, RestartPlan
from penstock.core.status.events import put_connector, put_task
from penstock.core.work import Phase

if TYPE_CHECKING:
    from penstock.core.herder import Herder


def restart_connector(herder: Herder, request: m.RestartConnector) -> Flow:
    """204 for the connector alone, whatever its state.

    Else 202 with the status in which the targeted instances say RESTARTING.
    """
    yield from checks.settled(herder)
    checks.known(herder, request.name, "Unknown connector: {}")
    if not (request.include_tasks or request.only_failed):
        return (yield from _restart_one(herder, request.name))
    yield from as_leader(herder)
    checks.known(herder, request.name, "Unknown connector: {}")
    wanted = RestartRequest(request.name, request.include_tasks, request.only_failed)
    plan = plan_for(herder, wanted)
    shown = None if plan is None else planned_status(herder, plan)
    yield from append(herder, wanted)
    if not herder.settings.distributed:  # it alone has something to restart, and answers when it has done so
        what = f"The restart of connector {request.name} is not over yet."
        yield Until(lambda: not herder.restart_is_due(request.name), herder.settings.request_timeout_ms, what)
    if shown is None:
        raise m.Refused(404, f"Status for connector {request.name} not found")
    return m.Reply(202, shown)


def restart_task(herder: Herder, request: m.RestartTask) -> Flow:
    yield from checks.settled(herder)
    checks.known(herder, request.name, "Unknown connector: {}")
    id = TaskId(request.name, request.task)
    distributed = herder.settings.distributed
    if not (herder.state.knows_task(id) if distributed else herder.state.task_config(id) is not None):
        raise m.Refused(404, f"Unknown task: {id}" if distributed else f"Task {id} not found")
    return (yield from _restart_one(herder, id))


def _restart_one(herder: Herder, what: str | TaskId) -> Flow:
    """Stop it, await that, let it start again; by the worker that has it."""

    def bounce() -> Flow:
        if not herder.work.assigned(what):
            raise ElsewhereError(_owner(herder, what) if herder.is_leader else herder.leader_url)
        yield from _stop(herder, [what])
        _start(herder, [what])

    yield from herder.restarting.through(bounce())
    if not isinstance(what, TaskId):

        def decided() -> bool:
            run = herder.work.connectors.get(what)
            return run is None or run.phase is not Phase.STARTING

        yield Until(decided, herder.settings.request_timeout_ms, f"The start of connector {what} is not over yet.")
        run = herder.work.connectors.get(what)
        if run is not None and run.phase is Phase.FAILED:
            raise m.Refused(500, f"Failed to start connector: {what}")
    return m.Reply(204)


def _owner(herder: Herder, what: str | TaskId) -> str | None:
    owners = herder.place.owners
    if owners is None:
        return None
    return owners.tasks.get(what) if isinstance(what, TaskId) else owners.connectors.get(what)


def _stop(herder: Herder, instances: Sequence[str | TaskId]) -> Flow:
    herder.work.hold(instances)
    herder.work.reconcile()
    yield Until(lambda: herder.work.idle(instances), FOREVER, "")
    herder.work.forget(instances)


def _start(herder: Herder, instances: Sequence[str | TaskId]) -> None:
    """Those that are still this worker's: contact with the group may have been lost meanwhile."""
    herder.work.release(instances)
    herder.work.reconcile()


def plan_for(herder: Herder, request: RestartRequest) -> RestartPlan | None:
    """None if nothing is known of the connector's state."""
    connector = herder.statuses.connectors.get(request.connector)
    if connector is None:
        return None
    return RestartPlan.of(request, connector, herder.statuses.tasks_of(request.connector))


def planned_status(herder: Herder, plan: RestartPlan) -> dict[str, object]:
    """The connector's status as it is answered: with RESTARTING for what the plan restarts."""
    shown = reads.status(herder, plan.request.connector)
    if plan.restart_connector:
        shown["connector"] = {**shown["connector"], "state": RESTARTING}
    chosen = {id.task for id in plan.tasks}
    shown["tasks"] = [{**t, "state": RESTARTING} if t["id"] in chosen else t for t in shown["tasks"]]
    return shown


def carry_out(herder: Herder, request: RestartRequest) -> None:
    """Plan from the present state and restart what of it is assigned to this worker."""
    plan = plan_for(herder, request)
    if plan is None or request.connector not in herder.state.connectors:
        herder.log("INFO", f"Nothing to restart of connector {request.connector}: no status is known")
        return
    tasks = [id for id in plan.tasks if herder.work.assigned(id)]
    restart_connector = plan.restart_connector and herder.work.assigned(request.connector)
    instances: list[str | TaskId] = [*([request.connector] if restart_connector else []), *tasks]
    if not instances:
        return

    def bounce() -> Flow:
        yield from _stop(herder, instances)
        for what in filter(herder.work.assigned, instances):
            if isinstance(what, TaskId):
                put_task(herder, what, RESTARTING)
            else:
                put_connector(herder, what, RESTARTING)
        _start(herder, instances)

    herder.start(herder.restarting.through(bounce()), what=f"Restart of connector {request.connector}")
